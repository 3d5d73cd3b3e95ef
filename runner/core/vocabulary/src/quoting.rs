//! Shell words in the syntax of Python's `shlex`.
//!
//! Ansible quotes with `shlex.quote` and parses `#!` lines with `shlex.split`. Both behave here as in CPython 3.11,
//! with POSIX rules and without comments. The same function quotes everything that modbox prints for a shell, such as
//! the option that would allow a denied operation.
//!
//! Quoting also works on bytes, because arguments may contain bytes that are not UTF-8.

use thiserror::Error;

/// The reason why words could not be split. The message is that of `shlex`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SplitError {
    /// A quote is open at the end.
    #[error("No closing quotation")]
    NoClosingQuotation,
    /// A backslash is the last character.
    #[error("No escaped character")]
    NoEscapedCharacter,
}

/// Quotes a word for a POSIX shell. Returns it unchanged when it is safe (`shlex.quote`).
#[must_use]
pub fn quote(word: &str) -> String {
    String::from_utf8(quote_bytes(word.as_bytes())).expect("quoting adds ASCII between whole characters")
}

/// Quotes bytes; see [`quote`].
#[must_use]
pub fn quote_bytes(word: &[u8]) -> Vec<u8> {
    let safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(byte);
    if !word.is_empty() && word.iter().all(safe) {
        return word.to_vec();
    }
    let mut quoted = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\"'\"'"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// Joins words to a command line for a POSIX shell (`shlex.join`).
#[must_use]
pub fn join<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Splits a text into words (`shlex.split`). Blanks separate words; quotes and backslashes are removed.
///
/// # Errors
///
/// An open quote or a backslash at the end.
pub fn split(text: &str) -> Result<Vec<String>, SplitError> {
    let mut words = Vec::new();
    let mut chars = text.chars();
    // `Some` as soon as a word begins, so that a pair of quotes is an empty word.
    let mut word: Option<String> = None;
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\'' => single_quoted(&mut chars, word.get_or_insert_default())?,
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(chars.next().ok_or(SplitError::NoEscapedCharacter)?),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Ok(words)
}

fn single_quoted(chars: &mut impl Iterator<Item = char>, word: &mut String) -> Result<(), SplitError> {
    for c in chars {
        match c {
            '\'' => return Ok(()),
            plain => word.push(plain),
        }
    }
    Err(SplitError::NoClosingQuotation)
}

fn double_quoted(chars: &mut impl Iterator<Item = char>, word: &mut String) -> Result<(), SplitError> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => match chars.next() {
                None => return Err(SplitError::NoEscapedCharacter),
                Some(escaped @ ('"' | '\\')) => word.push(escaped),
                // A shell would also unescape `$`, a backquote and a newline.
                Some(other) => word.extend(['\\', other]),
            },
            plain => word.push(plain),
        }
    }
    Err(SplitError::NoClosingQuotation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_characters_with_a_meaning_for_the_shell() {
        for (word, expect) in [
            ("", "''"),
            ("aZ09_@%+=:,./-", "aZ09_@%+=:,./-"),
            ("a b", "'a b'"),
            ("it's", r#"'it'"'"'s'"#),
            ("é", "'é'"),
            ("$x", "'$x'"),
            ("~", "'~'"),
        ] {
            assert_eq!(quote(word), expect);
        }
        assert_eq!(join(["/bin/my sh", "-c"]), "'/bin/my sh' -c");
    }

    #[test]
    fn splits_as_shlex_does() {
        for (text, expect) in [
            (" a\tb\r\n c", &["a", "b", "c"][..]),
            ("", &[]),
            ("'' a\"\"", &["", "a"]),
            (r#"a\ b 'c\d' "e\f\"\\$""#, &["a b", r"c\d", r#"e\f"\$"#]),
            ("a#b #c", &["a#b", "#c"]),
            ("a\u{a0}b", &["a\u{a0}b"]),
            ("\\\n", &["\n"]),
        ] {
            assert_eq!(split(text).unwrap(), expect, "for {text:?}");
        }
        for text in ["'a", "\"a", "\"a\\\""] {
            assert_eq!(split(text).unwrap_err().to_string(), "No closing quotation", "for {text:?}");
        }
        for text in ["a\\", "\"a\\"] {
            assert_eq!(split(text).unwrap_err().to_string(), "No escaped character", "for {text:?}");
        }
    }

    #[test]
    fn a_quoted_word_is_split_into_itself() {
        for word in ["", "plain", "it's", "'", "''", "\"", "\\", "a b", "$(x)`y`", "tab\there", "line\nend", "é*?"] {
            assert_eq!(split(&quote(word)).unwrap(), [word]);
        }
    }
}
