//! Converts shell patterns (Python's `fnmatch`) to regular expressions.

/// Converts `*`, `?`, `[…]` and `[!…]` to a pattern for the whole name.
#[must_use]
pub fn glob_to_regex(glob: &str) -> String {
    let chars: Vec<char> = glob.chars().collect();
    let mut out = String::from("(?s:");
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => match class_end(&chars, at) {
                Some(end) => {
                    class(&chars[at..end], &mut out);
                    at = end + 1;
                }
                None => out.push_str(r"\["),
            },
            _ => literal(c, &mut out),
        }
    }
    out.push_str(r")\Z");
    out
}

/// Returns the end of the class that starts at an index. A bracket in first place is part of the class.
fn class_end(chars: &[char], start: usize) -> Option<usize> {
    let first = start + usize::from(chars.get(start) == Some(&'!'));
    let first = first + usize::from(chars.get(first) == Some(&']'));
    (first..chars.len()).find(|index| chars[*index] == ']')
}

fn class(inside: &[char], out: &mut String) {
    out.push('[');
    let inside = match inside.strip_prefix(&['!']) {
        Some(inside) => {
            out.push('^');
            inside
        }
        None => inside,
    };
    for &c in inside {
        if c == '-' { out.push('-') } else { literal(c, out) }
    }
    out.push(']');
}

fn literal(c: char, out: &mut String) {
    if !c.is_alphanumeric() && c != '_' {
        out.push('\\');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Pattern, Subject};

    #[test]
    fn fits_as_a_shell_has_it() {
        for (glob, name, fits) in [
            ("*.log", "a.log", true),
            ("*.log", "a.logs", false),
            ("a?", "ab", true),
            ("[!a]b", "cb", true),
            ("[a-c]", "b", true),
            ("[]]", "]", true),
            ("[", "[", true),
            ("a.b", "axb", false),
        ] {
            let pattern = Pattern::new(&glob_to_regex(glob), Subject::Text, Flags::default()).unwrap();
            let found = pattern.search(name.as_bytes()).unwrap();
            let found = found.is_some_and(|found| found.span(0).is_some_and(|(start, _)| start == 0));
            assert_eq!(found, fits, "{glob} on {name}");
        }
    }
}
