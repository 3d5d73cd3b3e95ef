//! What ends a commit before its end: an error of a call, a change by another process, a refusal.
//!
//! This file does not decide what happens then.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::origin::Origin;
use super::plan::Refusal;

/// Reason why a commit could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// A call failed. The files are as they were.
    #[error("failed to {verb} `{path}`: {cause}; nothing was changed, so remedy this and run it again")]
    Call {
        /// What was tried.
        verb: &'static str,
        /// Its object.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The directory of transactions is not safe.
    #[error("failed to use `{path}`: {reason}; make it a directory of this user with mode 0700")]
    StateDir {
        /// The directory.
        path: PathBuf,
        /// What makes it unsafe, as the end of a sentence.
        reason: &'static str,
    },
    /// A record of a transaction cannot be understood.
    #[error("failed to read the transaction `{path}`: {reason}; compare the files it names by hand, then remove it")]
    Record {
        /// The transaction.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A transaction is not there, or another process works on it.
    #[error(
        "failed to open the transaction `{0}`: it is not kept, or another process is using it; `modbox transactions` lists those that are kept"
    )]
    Unavailable(PathBuf),
    /// A transaction is not of the origin that asks.
    #[error("failed to use the transaction `{path}`: it is one of `{origin}`; name that with `--origin`")]
    Foreign {
        /// The transaction.
        path: PathBuf,
        /// Whose it is.
        origin: Origin,
    },
}

/// Change by another process since the layer was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Path on the machine.
    pub path: PathBuf,
    /// What has happened.
    pub why: Why,
}

/// What another process has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// It has made an entry with this name.
    #[error("another process has made it")]
    Taken,
    /// It has removed the entry.
    #[error("another process has removed it")]
    Gone,
    /// It has changed the entry.
    #[error("another process has changed it")]
    Changed,
    /// It has changed an entry below.
    #[error("another process has changed an entry below it")]
    ChangedBelow,
    /// It has replaced the directory that holds the entry.
    #[error("another process has replaced its directory")]
    Directory,
    /// The times do not tell whether it was changed: the clock is too coarse.
    #[error("it was changed in the moment in which the run began, so its time does not tell by which process")]
    Moment,
    /// The clock was set back, so that times tell nothing.
    #[error("the clock was set back since the run began, so times of files tell nothing")]
    Clock,
}

/// What ended a step.
#[derive(Debug)]
pub(super) enum Failure {
    Call { verb: &'static str, path: PathBuf, cause: Errno },
    Conflict(Conflict),
    Refused(Refusal),
    Error(CommitError),
}

impl From<CommitError> for Failure {
    fn from(error: CommitError) -> Self {
        Self::Error(error)
    }
}

impl Failure {
    pub(super) fn conflict(path: &Path, why: Why) -> Self {
        Self::Conflict(Conflict { path: path.to_path_buf(), why })
    }
}

/// Names the call that failed, and its object.
pub(super) trait Context<T> {
    fn context(self, verb: &'static str, path: &Path) -> Result<T, Failure>;
}

impl<T> Context<T> for Result<T, Errno> {
    fn context(self, verb: &'static str, path: &Path) -> Result<T, Failure> {
        self.map_err(|cause| Failure::Call { verb, path: path.to_path_buf(), cause })
    }
}

/// Returns an error of a call as one that callers see.
pub(super) fn error(verb: &'static str, path: &Path, cause: Errno) -> CommitError {
    CommitError::Call { verb, path: path.to_path_buf(), cause: cause.into() }
}
