//! `str.split`, `rsplit`, `partition` and `strip`.

use crate::failure::{Outcome, failure};
use crate::values::is_python_space;

/// `str.split(separator, limit)`. A negative limit is none.
///
/// # Errors
///
/// The separator is empty.
pub(crate) fn split(text: &str, separator: Option<&str>, limit: i64) -> Outcome<Vec<String>> {
    let parts = usize::try_from(limit).map_or(usize::MAX, |limit| limit.saturating_add(1));
    match separator {
        Some("") => Err(failure("empty separator")),
        Some(separator) => Ok(text.splitn(parts, separator).map(str::to_owned).collect()),
        None => Ok(split_blanks(text, parts)),
    }
}

fn split_blanks(text: &str, parts: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text.trim_start_matches(is_python_space);
    while !rest.is_empty() {
        if out.len() + 1 == parts {
            out.push(rest.to_owned());
            break;
        }
        let end = rest.find(is_python_space).unwrap_or(rest.len());
        out.push(rest[..end].to_owned());
        rest = rest[end..].trim_start_matches(is_python_space);
    }
    out
}

/// `str.rsplit(separator, limit)`
///
/// # Errors
///
/// The separator is empty.
pub(crate) fn rsplit(text: &str, separator: Option<&str>, limit: i64) -> Outcome<Vec<String>> {
    let parts = usize::try_from(limit).map_or(usize::MAX, |limit| limit.saturating_add(1));
    let mut out: Vec<String> = match separator {
        Some("") => return Err(failure("empty separator")),
        Some(separator) => text.rsplitn(parts, separator).map(str::to_owned).collect(),
        None => rsplit_blanks(text, parts),
    };
    out.reverse();
    Ok(out)
}

fn rsplit_blanks(text: &str, parts: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text.trim_end_matches(is_python_space);
    while !rest.is_empty() {
        if out.len() + 1 == parts {
            out.push(rest.to_owned());
            break;
        }
        let start =
            rest.rfind(is_python_space).map_or(0, |at| at + rest[at..].chars().next().map_or(1, char::len_utf8));
        out.push(rest[start..].to_owned());
        rest = rest[..start].trim_end_matches(is_python_space);
    }
    out
}

/// `str.partition`
///
/// # Errors
///
/// The separator is empty.
pub(crate) fn partition(text: &str, separator: &str, from_end: bool) -> Outcome<[String; 3]> {
    if separator.is_empty() {
        return Err(failure("empty separator"));
    }
    let found = if from_end { text.rsplit_once(separator) } else { text.split_once(separator) };
    Ok(match found {
        Some((before, after)) => [before.to_owned(), separator.to_owned(), after.to_owned()],
        None if from_end => [String::new(), String::new(), text.to_owned()],
        None => [text.to_owned(), String::new(), String::new()],
    })
}

/// The ends that [`strip`] works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Both,
    Left,
    Right,
}

/// `str.strip(chars)`, `lstrip` and `rstrip`
pub(crate) fn strip<'t>(text: &'t str, chars: Option<&str>, ends: Ends) -> &'t str {
    let drops = |c: char| chars.map_or_else(|| is_python_space(c), |chars| chars.contains(c));
    let text = if ends == Ends::Right { text } else { text.trim_start_matches(drops) };
    if ends == Ends::Left { text } else { text.trim_end_matches(drops) }
}

/// `str.replace(old, new, count)`. A negative count is none.
///
/// # Errors
///
/// The result is too long.
pub(crate) fn replace(text: &str, old: &str, new: &str, count: i64) -> Outcome<String> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let most = if old.is_empty() { text.chars().count() + 1 } else { text.len() / old.len() }.min(count);
    if new.len().saturating_mul(most) > super::pad::MAX_BYTES {
        return Err(failure("the text would be too long"));
    }
    Ok(text.replacen(old, new, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_as_python_does() {
        let cases: [(&str, Option<&str>, i64, &[&str]); 9] = [
            (" a  b ", None, -1, &["a", "b"]),
            (" a  b  c ", None, 1, &["a", "b  c "]),
            (" a b ", None, 0, &["a b "]),
            ("", None, -1, &[]),
            ("", Some(","), -1, &[""]),
            ("a,,b", Some(","), -1, &["a", "", "b"]),
            ("a,b,c", Some(","), 1, &["a", "b,c"]),
            ("  ", None, 0, &[]),
            ("a b", None, 5, &["a", "b"]),
        ];
        for (text, separator, limit, expect) in cases {
            assert_eq!(split(text, separator, limit).unwrap(), expect, "{text:?} {separator:?} {limit}");
        }
        assert_eq!(rsplit(" a  b  c ", None, 1).unwrap(), [" a  b", "c"]);
        assert_eq!(rsplit("a,b,c", Some(","), 1).unwrap(), ["a,b", "c"]);
        assert!(split("a", Some(""), -1).is_err());
        assert_eq!(partition("a=b=c", "=", true).unwrap(), ["a=b", "=", "c"]);
        assert_eq!(partition("a", "=", true).unwrap(), ["", "", "a"]);
        assert_eq!(strip("xxaxx", Some("x"), Ends::Right), "xxa");
    }
}
