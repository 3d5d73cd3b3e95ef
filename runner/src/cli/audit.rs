//! Connects runs with the audit log, which is opened before the module is looked up and written before the result is
//! printed.

use std::path::Path;
use std::sync::Arc;

use modbox_policy::Policy;

use crate::app::audit::{AuditError, AuditLog, AuditedRun, PendingRecord};
use crate::app::{Module, Report, RunRequest};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::output;

/// The audit log of a command, if the policy names any audit file.
#[derive(Debug)]
pub(crate) struct Audit(Option<Arc<AuditLog>>);

/// The reserved audit line of a run, if runs are audited.
#[derive(Debug)]
#[must_use = "the line is written by `finish`"]
pub(crate) struct PendingAudit(Option<PendingRecord>);

impl Audit {
    /// Opens the audit files that the policy names.
    pub(crate) fn open(policy: &Policy) -> Result<Self, Failure> {
        AuditLog::open(policy).map(Self).map_err(failure)
    }

    /// Fails if the policy of a module would let the module change an audit file.
    pub(crate) fn check(&self, policy: &Policy) -> Result<(), Failure> {
        self.0.as_ref().map_or(Ok(()), |log| log.check(policy).map_err(failure))
    }

    /// Returns `loaded`. If the module could not be loaded, writes the audit line of the failed run first.
    pub(crate) fn loaded<T>(&self, module: &Path, loaded: Result<T, Failure>) -> Result<T, Failure> {
        if let (Some(log), Err(failure)) = (&self.0, &loaded) {
            let text = error_words(&failure.error);
            if let Err(error) = log.append_not_loaded(module, &text, Some(failure.status as u8)) {
                output::print_error(&failure.error);
                return Err(error).or_internal();
            }
        }
        loaded
    }

    /// Writes the audit line of a job whose module was not found or whose grants are wrong. Returns the message for its
    /// report: `message`, plus the error if the line cannot be written.
    pub(crate) fn job_not_run(&self, module: &Path, message: String) -> String {
        match self.0.as_ref().map(|log| log.append_not_loaded(module, &message, None)) {
            Some(Err(error)) => format!("{message}; and {error}"),
            _ => message,
        }
    }

    /// Returns the audit log for a job whose policy may differ from that of its batch. Opens another log if the policy
    /// names other audit files.
    pub(crate) fn of_job(&self, policy: &Policy) -> Result<Option<Arc<AuditLog>>, AuditError> {
        match &self.0 {
            Some(log) if log.paths().eq(policy.audit()) => log.check(policy).map(|()| Some(Arc::clone(log))),
            None if policy.audit().is_empty() => Ok(None),
            _ => AuditLog::open(policy),
        }
    }

    /// Reserves the audit line of a run, just before the run starts, so that no run starts that cannot be audited.
    pub(crate) fn start(
        &self,
        context: &Context,
        module: &Module,
        request: &RunRequest<'_>,
    ) -> Result<PendingAudit, Failure> {
        let start = |log: &Arc<AuditLog>| log.start(&AuditedRun::of(module, request), &context.cleanup);
        self.0.as_ref().map(start).transpose().map(PendingAudit).map_err(failure)
    }
}

impl PendingAudit {
    /// Writes the line.
    pub(crate) fn finish(self, report: &Report) -> Result<(), Failure> {
        let finish = |pending: PendingRecord| pending.finish(report, Some(ExitStatus::from(report) as u8));
        self.0.map(finish).transpose().map(drop).or_internal()
    }
}

fn failure(error: AuditError) -> Failure {
    let status = if error.is_usage() { ExitStatus::Usage } else { ExitStatus::Internal };
    Failure { status, error: error.into() }
}
