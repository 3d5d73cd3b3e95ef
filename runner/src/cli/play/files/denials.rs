//! Errors of files of a play: what cannot be read, and what allows it.

use std::io::ErrorKind;
use std::path::Path;

use modbox_policy::{Access, path_option};
use modbox_tasks::files::FileError;

/// Returns the switch that lets a path be read.
pub(super) fn switch(path: &str) -> String {
    path_option(Access::Read, Path::new(path))
}

/// Makes the error of a path that may not be read.
pub(super) fn denied(path: &str, reason: &str) -> FileError {
    let remedy = format!("allow it with `{}`", switch(path));
    FileError::Denied { path: path.to_owned(), reason: reason.to_owned(), remedy }
}

/// Makes the error of a path that could not be read.
pub(super) fn failure(path: &str, error: &std::io::Error) -> FileError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => FileError::NotFound { path: path.to_owned() },
        // An opened folder refuses links and names that lead out of it.
        ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            denied(path, "a link or `..` in it leads out of the play's folders")
        }
        _ => FileError::Other { path: path.to_owned(), reason: error.to_string() },
    }
}
