//! Connects runs with the audit log, which is opened before the module is looked up and written before the result is
//! printed.

use std::path::Path;
use std::sync::Arc;

use modbox_policy::Policy;
use modbox_run::audit::{AuditError, AuditLog, AuditedCommit, AuditedRun, CommitOutcome, PendingRecord};
use modbox_run::{CommitState, Module, Report, RunRequest};

use crate::cli::args::{AuditedArgs, GrantArgs, LimitArgs};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::printing::output;
use crate::cli::settings::Settings;

/// The audit log of a command, if the policy names any audit file.
#[derive(Debug)]
pub(crate) struct Audit(Option<Arc<AuditLog>>);

/// The reserved audit line of a run, if runs are audited.
#[derive(Debug)]
#[must_use = "the line is written by `finish`"]
pub(crate) struct PendingAudit(Option<PendingRecord>);

impl Audit {
    /// Opens the audit files that the policy files and these switches name, for a command that runs no module.
    pub(crate) fn of_command(context: &Context, args: &AuditedArgs) -> Result<Self, Failure> {
        let AuditedArgs { policy, audit } = args.clone();
        let grants = GrantArgs { policy, audit, ..GrantArgs::default() };
        let settings = Settings::load(&context.environment, &grants, &LimitArgs::default()).or_usage()?;
        Self::open(&settings.for_every_module().or_usage()?.policy)
    }

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

    /// Reserves the audit line of a commit that no run ends with, so that no commit is made that cannot be audited.
    pub(crate) fn start_commit<'a>(
        &self,
        context: &Context,
        commit: AuditedCommit<'a>,
    ) -> Result<PendingCommitAudit<'a>, Failure> {
        let start = |log: &Arc<AuditLog>| log.start_commit(commit, &context.cleanup);
        let pending = self.0.as_ref().map(start).transpose().map_err(failure)?;
        Ok(PendingCommitAudit { pending, commit })
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

/// The reserved audit line of a commit, if commits are audited.
#[derive(Debug)]
#[must_use = "the line is written by `finish`"]
pub(crate) struct PendingCommitAudit<'a> {
    pending: Option<PendingRecord>,
    commit: AuditedCommit<'a>,
}

impl PendingCommitAudit<'_> {
    /// Writes the line.
    pub(crate) fn finish(self, outcome: &CommitOutcome, exit: ExitStatus) -> Result<(), Failure> {
        let finish = |pending: PendingRecord| pending.finish_commit(self.commit, outcome, Some(exit as u8));
        self.pending.map(finish).transpose().map(drop).or_internal()
    }
}

/// Returns what the audit line says of a commit that failed.
pub(crate) fn failed_commit(failure: &Failure) -> CommitOutcome {
    CommitOutcome {
        state: CommitState::Failed.into(),
        run: None,
        changed: None,
        error: Some(error_words(&failure.error)),
    }
}

fn failure(error: AuditError) -> Failure {
    let status = if error.is_usage() { ExitStatus::Usage } else { ExitStatus::Internal };
    Failure { status, error: error.into() }
}
