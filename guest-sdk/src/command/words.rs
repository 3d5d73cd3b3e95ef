//! Splits and quotes the words of a command, as Python's `shlex` does (POSIX rules, no comments).

use std::error::Error;
use std::fmt;

/// Why a text could not be split into words, with the messages of `shlex`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongWords {
    /// A quote is open at the end.
    Quote,
    /// A backslash is the last character.
    Backslash,
}

impl fmt::Display for WrongWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quote => "No closing quotation",
            Self::Backslash => "No escaped character",
        })
    }
}

impl Error for WrongWords {}

/// Splits a text at blanks, and removes quotes and backslashes.
///
/// # Errors
///
/// A quote is not closed, or a backslash is the last character.
pub fn split(text: &str) -> Result<Vec<String>, WrongWords> {
    let mut words = Vec::new();
    // `Some` as soon as a word has begun: a pair of quotes is an empty word.
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\'' | '"' => quoted(c, &mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(chars.next().ok_or(WrongWords::Backslash)?),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(quote: char, chars: &mut impl Iterator<Item = char>, word: &mut String) -> Result<(), WrongWords> {
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => match chars.next().ok_or(WrongWords::Backslash)? {
                escaped @ ('"' | '\\') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            plain => word.push(plain),
        }
    }
    Err(WrongWords::Quote)
}

/// Quotes a word for a POSIX shell.
#[must_use]
pub fn quote(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

/// Joins words for display, without the value after an option that is named like a password.
#[must_use]
pub(super) fn shown(words: &[String]) -> String {
    const MASK: &str = "********";
    let mut masked = false;
    let mut text = Vec::new();
    for word in words {
        let secret = std::mem::take(&mut masked);
        let shown = match word.split_once('=') {
            _ if secret => MASK.to_owned(),
            Some((name, _)) if is_password(word) => format!("{name}={MASK}"),
            _ => {
                masked = is_password(word);
                word.clone()
            }
        };
        text.push(quote(&shown));
    }
    text.join(" ")
}

/// Returns whether a word begins like `pass`, `--password` or `-passwd` (ansible-core 2.19, `PASSWD_ARG_RE`).
fn is_password(word: &str) -> bool {
    let dashes = word.chars().take_while(|c| *c == '-').count();
    dashes <= 2 && word[dashes..].starts_with("pass")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_a_shell_does() {
        for (text, expect) in [
            ("", &[][..]),
            ("  ls   -l\t/a\n", &["ls", "-l", "/a"]),
            ("a'b c'd \"e f\" ''", &["ab cd", "e f", ""]),
            (r#"a\ b "c\"d\e" 'f\g'"#, &["a b", r#"c"d\e"#, r"f\g"]),
            ("a # b", &["a", "#", "b"]),
        ] {
            assert_eq!(split(text).unwrap(), expect, "{text}");
        }
        assert_eq!(split("'a").unwrap_err().to_string(), "No closing quotation");
        assert_eq!(split("a\\").unwrap_err().to_string(), "No escaped character");
    }

    #[test]
    fn passwords_are_not_shown() {
        for (words, expect) in [
            (&["mysql", "--password", "x", "y"][..], "mysql --password '********' y"),
            (&["mysql", "--password=x", "y z"], "mysql '--password=********' 'y z'"),
            (&["x", "pass=1", "-passwd", "2", "---pass", "3"], "x 'pass=********' -passwd '********' ---pass 3"),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(shown(&words), expect);
        }
    }
}
