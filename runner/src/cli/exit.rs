//! The exit statuses of modbox, and errors that carry one.

use std::process::ExitCode;

use modbox_run::{CommitState, Report, Status};
use modbox_vocabulary::error_chain;

/// Exit status of modbox. Scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// The module's status is ok, changed or skipped.
    Success = 0,
    /// The module reported `failed`, or returned no valid result.
    Failed = 1,
    /// The command line, a policy file or an option is wrong.
    Usage = 2,
    /// The module cannot be found, read, built or loaded.
    Unavailable = 3,
    /// The run needs a grant that the policy refuses, and did not start.
    Denied = 4,
    /// A limit was hit.
    Limit = 5,
    /// The module crashed: a trap or a signal. Also for a job whose monitor is gone.
    Crashed = 6,
    /// `modbox status` was asked for a job that has not finished.
    Running = 7,
    /// The changes of a transaction were not committed and nothing was changed, or a preview is incomplete.
    NotCommitted = 8,
    /// A part of a transaction is committed. `modbox recover` goes on.
    Unfinished = 9,
    /// An internal error of modbox.
    Internal = 70,
    /// A task needs a module, or a newer modbox.
    Need = modbox_fleet::need::NEED_STATUS as isize,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

impl From<&Report> for ExitStatus {
    fn from(report: &Report) -> Self {
        let commit = report.effect.as_ref().map(|effect| effect.commit.state);
        match (&report.error, report.status) {
            _ if commit == Some(CommitState::Unfinished) => Self::Unfinished,
            _ if commit.is_some_and(CommitState::is_failure) => Self::NotCommitted,
            (Some(error), _) if error.is_internal() => Self::Internal,
            (Some(_), _) => Self::Unavailable,
            (None, Status::Ok | Status::Changed | Status::Skipped) => Self::Success,
            (None, Status::Failed | Status::Cancelled) => Self::Failed,
            (None, Status::Denied) => Self::Denied,
            (None, Status::Limit) => Self::Limit,
            (None, Status::Crashed) => Self::Crashed,
        }
    }
}

/// An error with the exit status that it leads to.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: ExitStatus,
    pub(crate) error: anyhow::Error,
}

/// Returns an error with its causes on one line, in words.
pub(crate) fn error_words(error: &anyhow::Error) -> String {
    error_chain(error.as_ref())
}

/// Conversion of errors to failures with an exit status.
pub(crate) trait OrExit<T> {
    /// Converts an error of usage: in the command line, a policy file or an option.
    fn or_usage(self) -> Result<T, Failure>;
    /// Converts the error of a module that cannot be found, read, built or loaded.
    fn or_unavailable(self) -> Result<T, Failure>;
    /// Converts an internal error of modbox, or an error of this machine.
    fn or_internal(self) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_usage(self) -> Result<T, Failure> {
        self.map_err(|error| Failure { status: ExitStatus::Usage, error: error.into() })
    }

    fn or_unavailable(self) -> Result<T, Failure> {
        self.map_err(|error| Failure { status: ExitStatus::Unavailable, error: error.into() })
    }

    fn or_internal(self) -> Result<T, Failure> {
        self.map_err(|error| Failure { status: ExitStatus::Internal, error: error.into() })
    }
}
