//! Ranges in names of hosts: `web[01:20:2]`, `db-[a:f]`.

use crate::error::Problem;
use crate::limits::MAX_HOSTS;

/// Returns the names that a name with ranges means. A name without a range is returned as it is.
///
/// # Errors
///
/// A range is malformed, or the names are too many.
pub(crate) fn expand(name: &str) -> Result<Vec<String>, Problem> {
    let mut names = vec![name.to_owned()];
    while names.first().is_some_and(|name| name.contains('[')) {
        let mut expanded = Vec::new();
        for name in &names {
            expanded.extend(expand_first(name)?);
            if expanded.len() > MAX_HOSTS {
                return Err(Problem::TooManyHosts);
            }
        }
        names = expanded;
    }
    Ok(names)
}

/// Expands the first range of a name.
fn expand_first(name: &str) -> Result<Vec<String>, Problem> {
    let wrong = |reason| Problem::Range { host: name.to_owned(), reason };
    let (head, rest) = name.split_once('[').unwrap_or((name, ""));
    let (range, tail) = rest.split_once(']').ok_or_else(|| wrong("a bracket is not closed"))?;
    let bounds: Vec<&str> = range.split(':').collect();
    let (first, last, step) = match bounds[..] {
        [first, last] => (first, last, "1"),
        [first, last, step] => (first, last, step),
        _ => return Err(wrong("write `[first:last]` or `[first:last:step]`")),
    };
    let first = if first.is_empty() { "0" } else { first };
    let step: usize = step.parse().ok().filter(|step| *step > 0).ok_or_else(|| wrong("the step is not a number"))?;
    if last.is_empty() {
        return Err(wrong("the last value is missing"));
    }
    let full = |part: String| format!("{head}{part}{tail}");
    let mut names = Vec::new();
    if let (Some(first), Some(last)) = (letter(first), letter(last)) {
        if first > last {
            return Err(wrong("the first value is behind the last one"));
        }
        names.extend(LETTERS[first..=last].chars().step_by(step).map(|letter| full(letter.to_string())));
        return Ok(names);
    }
    let width = if first.len() > 1 && first.starts_with('0') { first.len() } else { 0 };
    if width > 0 && width != last.len() {
        return Err(wrong("with leading zeros, both values must have the same length"));
    }
    let number = |text: &str| text.parse::<usize>().map_err(|_| wrong("a value is neither a number nor a letter"));
    for value in (number(first)?..=number(last)?).step_by(step) {
        if names.len() >= MAX_HOSTS {
            return Err(Problem::TooManyHosts);
        }
        names.push(full(format!("{value:0width$}")));
    }
    Ok(names)
}

/// The letters of ranges, in the order of Python's `string.ascii_letters`.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

fn letter(text: &str) -> Option<usize> {
    LETTERS.find(text).filter(|_| text.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_expanded() {
        let check = |name: &str, expect: &str| assert_eq!(expand(name).unwrap().join(" "), expect, "{name}");
        check("web", "web");
        check("web[1:3]", "web1 web2 web3");
        check("web[08:10].example", "web08.example web09.example web10.example");
        check("web[0:6:3]", "web0 web3 web6");
        check("web[:1]", "web0 web1");
        check("db-[a:c]", "db-a db-b db-c");
        check("a[1:2]b[x:y]", "a1bx a1by a2bx a2by");
        check("a[3:1]", "");
    }

    #[test]
    fn malformed_and_huge_ranges_are_errors() {
        for name in ["a[1]", "a[1:", "a[1:]", "a[01:100]", "a[c:a]", "a[1:2:0]", "a[1:x]", "a[1:2:3:4]", "a[]"] {
            assert!(matches!(expand(name), Err(Problem::Range { .. })), "{name}");
        }
        for name in ["a[1:99999999999]", "a[1:9999]b[1:9999]"] {
            assert!(matches!(expand(name), Err(Problem::TooManyHosts)), "{name}");
        }
    }
}
