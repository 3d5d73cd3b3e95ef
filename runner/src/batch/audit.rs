//! Writes one audit log line for each job of a batch.
//!
//! The batch writes the lines, not its workers, so that a job has its line even when its worker is killed.

use modbox_cleanup::Cleanup;
use modbox_python_json::{Value, decode};

use crate::app::audit::{AuditError, AuditedRun, PendingRecord};
use crate::batch::job::Job;
use crate::batch::process::Pending;

/// Reserves the audit line of a job before the job is sent to a worker, so that no job runs that cannot be audited.
/// Does nothing for a job that was sent before: its line is reserved already.
///
/// # Errors
///
/// The log has no room for another line.
pub(super) fn start(pending: &mut Pending, cleanup: &Cleanup) -> Result<(), AuditError> {
    let (Some(log), None) = (&pending.setup.audit, &pending.audit) else { return Ok(()) };
    // The line was parsed when it was read, so this does not fail. Only the text of a queued job is kept.
    let Ok(job) = Job::parse(&pending.line) else { return Ok(()) };
    let run = AuditedRun {
        module: &pending.setup.module,
        name: &job.name(),
        arguments: &job.args,
        check_mode: job.options.check,
        no_log: job.options.no_log,
        grants: pending.setup.policy.grants(),
        limits: &pending.setup.limits,
    };
    pending.audit = Some(log.start(&run, cleanup)?);
    Ok(())
}

/// Writes the audit line of a job whose report is `report`.
///
/// # Errors
///
/// The audit file cannot be written.
pub(super) fn finish(audit: Option<PendingRecord>, report: &[u8]) -> Result<(), AuditError> {
    let Some(audit) = audit else { return Ok(()) };
    match str::from_utf8(report).ok().and_then(|report| decode(report.trim_end()).ok()) {
        Some(Value::Dict(report)) => audit.finish_as_written(&report),
        // Dropping the record writes that the run was interrupted.
        _ => Ok(()),
    }
}
