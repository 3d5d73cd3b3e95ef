//! What comes of a task's module: a job that starts, a refusal, or no run at all.

use modbox_run::Report;

use crate::cli::play::task_modules::task_job::TaskJob;

/// How a job starts.
pub(crate) enum TaskStart {
    /// The run may start.
    Job(Box<TaskJob>),
    /// It may not.
    Refused(Box<Report>),
}

/// Why no module ran.
#[derive(Debug)]
pub(crate) enum NotRun {
    /// The name leads to no module.
    Unknown(String),
    /// The play cannot hold what the run does.
    Refused(String),
    /// modbox failed.
    Internal(String),
}
