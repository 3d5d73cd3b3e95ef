//! The lines that the jobs of a batch leave in the audit log.
//!
//! The batch writes them, not its workers: a job has its line also when its worker is killed.

use modbox_cleanup::Cleanup;
use modbox_python_json::{Value, decode};

use crate::app::audit::{AuditError, AuditedRun, PendingRecord};
use crate::batch::job::Job;
use crate::batch::process::Pending;

/// Makes sure that a job can be audited, before it is sent to a worker. One that was sent before has its line already in
/// the making.
///
/// # Errors
///
/// No room for another line.
pub(super) fn start(pending: &mut Pending, cleanup: &Cleanup) -> Result<(), AuditError> {
    let (Some(log), None) = (&pending.setup.audit, &pending.audit) else { return Ok(()) };
    // It was parsed when it was read; only the line is kept of it.
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

/// Writes the line of a job that was answered with this report.
///
/// # Errors
///
/// A file that does not take the line.
pub(super) fn finish(audit: Option<PendingRecord>, report: &[u8]) -> Result<(), AuditError> {
    let Some(audit) = audit else { return Ok(()) };
    match str::from_utf8(report).ok().and_then(|report| decode(report.trim_end()).ok()) {
        Some(Value::Dict(report)) => audit.finish_as_written(&report),
        // Dropped, it says that the run was interrupted.
        _ => Ok(()),
    }
}
