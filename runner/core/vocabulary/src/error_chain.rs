//! Formats an error with its causes, in words: without the numbers that Rust adds to errors of the system.
//!
//! `No such file or directory (os error 2)` says nothing more by its number, and the numbers of a guest's errors are others
//! than those of the host.

use std::borrow::Cow;
use std::error::Error;

/// Text before a number in messages of Rust's standard library.
const NUMBER: &str = " (os error ";

/// Returns an error with its causes, on one line.
#[must_use]
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error_text(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error_text(error));
        cause = error.source();
    }
    text
}

/// Returns the message of an error, without its causes.
#[must_use]
pub fn error_text(error: &dyn Error) -> String {
    in_words(&error.to_string()).into_owned()
}

/// Returns a message of modbox without the numbers of errors.
#[must_use]
pub fn in_words(message: &str) -> Cow<'_, str> {
    if !message.contains(NUMBER) {
        return Cow::Borrowed(message);
    }
    let mut parts = message.split(NUMBER);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number = part.split_once(')').filter(|(number, _)| {
            !number.is_empty() && number.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit())
        });
        match number {
            Some((_, rest)) => text.push_str(rest),
            None => {
                text.push_str(NUMBER);
                text.push_str(part);
            }
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn numbers_of_errors_are_left_out() {
        for (message, expect) in [
            ("", ""),
            ("no number", "no number"),
            ("No such file or directory (os error 2)", "No such file or directory"),
            ("a (os error 2): b (os error -13); c", "a: b; c"),
            ("a (os error x)", "a (os error x)"),
            ("a (os error )", "a (os error )"),
            ("a (os error 2", "a (os error 2"),
        ] {
            assert_eq!(in_words(message), expect, "{message}");
        }
        let error = io::Error::from(rustix::io::Errno::ACCESS);
        assert!(error.to_string().contains("(os error 13)"));
        assert_eq!(error_chain(&error), "Permission denied");
    }
}
