//! Failure to make or use a directory of a run.

use std::io;
use std::path::PathBuf;

/// Failure to make or use a directory of a run.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// An operation of the operating system failed.
    #[error("failed to {verb} `{}`", path.display())]
    Io {
        /// Verb of the operation.
        verb: &'static str,
        /// Path of the operation.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The folder for the directories of runs belongs to another user or is open to others.
    #[error("`{}` belongs to another user or is open to others; set TMPDIR to a folder of your own", .0.display())]
    NotPrivate(PathBuf),
}
