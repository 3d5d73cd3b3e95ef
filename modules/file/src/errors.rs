//! Errors of the file system in Python's words. WASI has no error numbers of Linux.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::text::text;

/// Linux's numbers and messages for file errors.
const WORDS: [(ErrorKind, i32, &str); 13] = [
    (ErrorKind::NotFound, 2, "No such file or directory"),
    (ErrorKind::PermissionDenied, 13, "Permission denied"),
    (ErrorKind::ResourceBusy, 16, "Device or resource busy"),
    (ErrorKind::AlreadyExists, 17, "File exists"),
    (ErrorKind::CrossesDevices, 18, "Invalid cross-device link"),
    (ErrorKind::NotADirectory, 20, "Not a directory"),
    (ErrorKind::IsADirectory, 21, "Is a directory"),
    (ErrorKind::InvalidInput, 22, "Invalid argument"),
    (ErrorKind::StorageFull, 28, "No space left on device"),
    (ErrorKind::ReadOnlyFilesystem, 30, "Read-only file system"),
    (ErrorKind::TooManyLinks, 31, "Too many links"),
    (ErrorKind::InvalidFilename, 36, "File name too long"),
    (ErrorKind::DirectoryNotEmpty, 39, "Directory not empty"),
];

/// Formats an error as Python does for a path.
pub(crate) fn python(error: &io::Error, path: &Path) -> String {
    format!("{}: {}", words(error), modbox_sdk::json::repr(&text(path)).replacen('\'', "b'", 1))
}

/// Formats an error as Python does for two paths.
pub(crate) fn python_of_two(error: &io::Error, from: &Path, to: &Path) -> String {
    let to = modbox_sdk::json::repr(&text(to));
    format!("{} -> b{to}", python(error, from))
}

fn words(error: &io::Error) -> String {
    match WORDS.iter().find(|(kind, ..)| *kind == error.kind()) {
        Some((_, number, words)) => format!("[Errno {number}] {words}"),
        None => modbox_sdk::fs::words(error),
    }
}
