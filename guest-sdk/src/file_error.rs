//! Errors of the file system in the words of the host. A component's C library has numbers and words of its own, such as
//! `I/O error (os error 29)`, and loses the cause of some errors.
//!
//! The words name no path: the caller does.

use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::platform;

/// Text before a number in messages of the standard library.
const NUMBER: &str = " (os error ";

/// Words of the C library of components, and those of the host.
const WORDS: [(&str, &str); 11] = [
    ("I/O error", "Input/output error"),
    ("Resource busy", "Device or resource busy"),
    ("Quota exceeded", "Disk quota exceeded"),
    ("Symbolic link loop", "Too many levels of symbolic links"),
    ("No file descriptors available", "Too many open files"),
    ("Filename too long", "File name too long"),
    ("Not supported", "Operation not supported"),
    ("Cross-device link", "Invalid cross-device link"),
    ("Bad file descriptor", "Bad file descriptor"),
    ("Out of memory", "Cannot allocate memory"),
    ("Access denied", "Permission denied"),
];

/// The number of "permission denied" and of "operation not permitted".
const REFUSED: (i32, i32) = if cfg!(target_family = "wasm") { (2, 63) } else { (13, 1) };

/// Describes an error as the host does, without a number, and names the user that lacks a permission.
#[must_use]
pub fn words(error: &io::Error) -> String {
    let plain = without_numbers(&error.to_string()).into_owned();
    let (denied, not_permitted) = REFUSED;
    match error.raw_os_error() {
        Some(number) if number == denied => format!("{plain}: {} may not do that; run as another user", user()),
        Some(number) if number == not_permitted && cfg!(target_family = "wasm") => {
            format!("{plain}: nothing grants that, or {} may not do it", user())
        }
        _ => plain,
    }
}

/// Returns the error with its cause, if writing a file failed without one: a full disk is an input/output error in
/// components. To find the cause, this function writes at the end of the file; the file keeps its size.
#[must_use]
pub fn write_cause(path: &Path, error: io::Error) -> io::Error {
    let cause = if is_vague(&error) { platform::write_error(path) } else { None };
    match cause.map(|cause| cause.kind()) {
        Some(ErrorKind::StorageFull) => io::Error::new(ErrorKind::StorageFull, "No space left on device"),
        Some(ErrorKind::QuotaExceeded) => io::Error::new(ErrorKind::QuotaExceeded, "Disk quota exceeded"),
        Some(ErrorKind::FileTooLarge) => io::Error::new(ErrorKind::FileTooLarge, "File too large"),
        _ => error,
    }
}

/// Returns whether an error is the C library's for every failed write of a stream.
fn is_vague(error: &io::Error) -> bool {
    const INPUT_OUTPUT: i32 = 29;
    cfg!(target_family = "wasm") && error.raw_os_error() == Some(INPUT_OUTPUT)
}

/// Removes numbers of system errors from a message, and puts the words of the host before them.
pub(crate) fn without_numbers(message: &str) -> Cow<'_, str> {
    if !message.contains(NUMBER) {
        return Cow::Borrowed(message);
    }
    let (mut plain, mut rest) = (String::with_capacity(message.len()), message);
    while let Some((before, after)) = rest.split_once(NUMBER) {
        match after.split_once(')') {
            Some((number, after)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
                plain.push_str(before);
                translate_end(&mut plain);
                rest = after;
            }
            _ => {
                plain.push_str(before);
                plain.push_str(NUMBER);
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn translate_end(text: &mut String) {
    let Some((theirs, ours)) = WORDS.into_iter().find(|(theirs, _)| text.ends_with(theirs)) else { return };
    text.truncate(text.len() - theirs.len());
    text.push_str(ours);
}

/// Names the user of this process.
fn user() -> String {
    platform::user().map_or_else(|| "this user".to_owned(), |user| format!("user `{user}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_no_numbers_and_the_words_of_the_host() {
        for (message, expect) in [
            ("", ""),
            ("I/O error (os error 29)", "Input/output error"),
            ("failed to write `/x`: I/O error (os error 29); sorry", "failed to write `/x`: Input/output error; sorry"),
            ("a (os error 2): Quota exceeded (os error 19)", "a: Disk quota exceeded"),
            ("Permission denied (os error 2)", "Permission denied"),
            // A message that only looks like one stays as it is.
            ("x (os error )", "x (os error )"),
            ("x (os error 2", "x (os error 2"),
            ("x (os error two) (os error 3)", "x (os error two)"),
            ("I/O error", "I/O error"),
        ] {
            assert_eq!(without_numbers(message), expect, "for {message}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_denied_user_is_named() {
        let said = words(&io::Error::from_raw_os_error(13));
        assert!(said.starts_with("Permission denied: user `") && said.ends_with("run as another user"), "{said}");
        assert_eq!(words(&io::Error::from_raw_os_error(2)), "No such file or directory");
        assert_eq!(words(&io::Error::other("own words")), "own words");
        let full = write_cause(Path::new("/"), io::Error::from_raw_os_error(28));
        assert_eq!((full.kind(), words(&full).as_str()), (ErrorKind::StorageFull, "No space left on device"));
    }
}
