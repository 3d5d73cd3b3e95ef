//! Errors of files with changes: what failed, why, and what to do.

use std::io;
use std::path::PathBuf;

use crate::commit::failure::CommitError;

/// An error of a file with changes. No file that the changes are about was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// There is a file with this name already.
    #[error("failed to save the changes as `{}`: it exists already; use another name", .0.display())]
    Exists(PathBuf),
    /// The file cannot be written.
    #[error("failed to save the changes as `{}`: {cause}; use a directory that this user may write", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// A new state cannot be read.
    #[error("failed to save the new state of `{}`: {cause}; run the preview again", path.display())]
    State {
        /// The changed entry.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// There is more than a file may hold.
    #[error("failed to save the changes as `{}`: there are too many of them; grant less", .0.display())]
    TooMany(PathBuf),
    /// The file cannot be read.
    #[error("failed to read the saved changes `{}`: {cause}; nothing was changed", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The file is not what was saved.
    #[error("failed to use the saved changes `{}`: {reason}; nothing was changed, so save the preview again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// What the changes are about cannot be compared.
    #[error("failed to compare `{}` with what it was at the preview: {cause}; nothing was changed", path.display())]
    Compare {
        /// The granted directory.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The new state cannot be built.
    #[error("failed to build the new state of `{}` in a private directory: {cause}; nothing was changed", path.display())]
    Build {
        /// The changed entry, relative to its granted directory.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The commit failed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}
