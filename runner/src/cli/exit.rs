//! The exit statuses, in one place.

use std::process::ExitCode;

use crate::app::{Report, Status};

/// How modbox ends. The numbers are a promise to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// The module is ok, changed something or skipped.
    Success = 0,
    /// The module reported `failed`, or gave no valid result.
    Failed = 1,
    /// The command line, a policy file or an option is wrong.
    Usage = 2,
    /// The module cannot be found, read, built or loaded.
    Unavailable = 3,
    /// The run needs what the policy refuses, and did not start.
    Denied = 4,
    /// A limit was hit.
    Limit = 5,
    /// The module crashed: a trap or a signal. Also a job that nothing looks after any more.
    Crashed = 6,
    /// A job that was asked about has not finished.
    Running = 7,
    /// modbox's own fault.
    Internal = 70,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

impl From<&Report> for ExitStatus {
    fn from(report: &Report) -> Self {
        match (&report.error, report.status) {
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

/// An error with the status it ends modbox with.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: ExitStatus,
    pub(crate) error: anyhow::Error,
}

/// Says which status an error ends modbox with.
pub(crate) trait OrExit<T> {
    /// Wrong usage: the command line, a policy file, an option.
    fn or_usage(self) -> Result<T, Failure>;
    /// A module that cannot be found, read, built or loaded.
    fn or_unavailable(self) -> Result<T, Failure>;
    /// Our own fault, or this machine's.
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
