//! What a task gets of the report of a run.

use modbox_contract::Value;
use modbox_tasks::run::host::{HostError, HostErrorKind, ModuleRun};

use crate::app::{Report, Status};

/// Returns what stopped a run; `None` if its module ended by itself.
pub(crate) fn failure(report: &Report) -> Option<HostErrorKind> {
    match (&report.error, report.status) {
        (Some(error), _) if error.is_internal() => Some(HostErrorKind::Internal),
        (Some(_), _) => Some(HostErrorKind::NotFound),
        (None, Status::Denied) => Some(HostErrorKind::Denied),
        (None, Status::Limit) => Some(HostErrorKind::Limit),
        (None, Status::Crashed) => Some(HostErrorKind::Crash),
        (None, _) => None,
    }
}

/// Returns what a task gets of a run. A run that did not start is an error of the host. The report of a secret task has no
/// result.
pub(crate) fn module_run(mut report: Report, is_secret: bool) -> Result<ModuleRun, HostError> {
    let kind = failure(&report);
    let result = report.result.as_dict().clone();
    if is_secret {
        report.censor();
    }
    let value = report.to_value();
    match kind {
        None => Ok(ModuleRun { result, report: value }),
        Some(kind) => {
            let message = result.get("msg").and_then(Value::as_str).unwrap_or_default().to_owned();
            Err(HostError { message, kind, report: Some(value) })
        }
    }
}
