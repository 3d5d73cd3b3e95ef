//! What a task gets of the report of a run.

use modbox_contract::{Dict, Value};
use modbox_kinds::Kind;
use modbox_run::{Managed, Report, Status, remember_told};
use modbox_tasks::run::host::{HostError, HostErrorKind, ModuleOptions, ModuleRun, ResourceRun};
use modbox_vocabulary::LimitKind;

/// Returns whether the time that a task gave a run, in seconds, is what ended it.
fn is_timed_out(report: &Report, timeout: Option<u64>) -> bool {
    let given = timeout.map(|seconds| seconds.saturating_mul(1_000_000));
    report.limit.is_some_and(|hit| hit.kind == LimitKind::Wall && Some(hit.allowed) == given)
}

/// Returns what stopped a run; `None` if its module ended by itself. `timeout` is the time that its task gave it, in
/// seconds.
pub(crate) fn failure(report: &Report, timeout: Option<u64>) -> Option<HostErrorKind> {
    match (&report.error, report.status) {
        (Some(error), _) if error.is_internal() => Some(HostErrorKind::Internal),
        (Some(_), _) => Some(HostErrorKind::NotFound),
        (None, Status::Denied) => Some(HostErrorKind::Denied),
        (None, Status::Limit) if is_timed_out(report, timeout) => Some(HostErrorKind::TimedOut),
        (None, Status::Limit) => Some(HostErrorKind::Limit),
        (None, Status::Crashed) => Some(HostErrorKind::Crash),
        (None, _) => None,
    }
}

/// Returns the result as tasks use it: with the secrets that the module has left in it, which are then known for all that the
/// play shows (ansible-core 2.22: registered variables keep the values).
fn used_result(report: &Report) -> Dict {
    let told = report.result.secrets().zip(report.result.to_clear());
    told.map_or_else(
        || report.result.as_dict().clone(),
        |(told, clear)| {
            remember_told(told);
            clear
        },
    )
}

/// Drops the arguments that the result of a Python module or of a component repeats although the task did not ask for them: utilities
/// before ansible-core 2.21 always do. Modules of other kinds say what they want.
pub(crate) fn settle_invocation(report: &mut Report, repeats_arguments: bool) {
    let repeats_always = report.module.kind.is_some_and(|kind| kind == Kind::Python || kind.is_wasm());
    if repeats_always && !repeats_arguments {
        report.result.drop_invocation();
    }
}

/// Returns what a task gets of a run. A run that did not start is an error of the host. The report of a secret task has no
/// result.
pub(crate) fn module_run(mut report: Report, options: &ModuleOptions) -> Result<ModuleRun, HostError> {
    let kind = failure(&report, options.timeout);
    settle_invocation(&mut report, options.modes.repeats_arguments);
    let result = used_result(&report);
    if options.modes.no_log {
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

/// Returns what a task gets of the actions of a provider. One that did not start is an error of the host. The reports of a
/// secret task have no results.
pub(crate) fn resource_run(managed: Managed, options: &ModuleOptions) -> Result<ResourceRun, HostError> {
    let Managed { result, mut reports } = managed;
    let failed = if result.is_none() { reports.pop() } else { None };
    let mut values: Vec<Value> = Vec::new();
    for mut report in reports {
        if options.modes.no_log {
            report.censor();
        }
        values.push(report.to_value());
    }
    let last = failed.map(|report| module_run(report, options)).transpose()?;
    let (result, report) = match (result, last) {
        (Some(result), _) => (result, None),
        (None, Some(last)) => (last.result, Some(last.report)),
        (None, None) => Default::default(),
    };
    values.extend(report);
    Ok(ResourceRun { result, reports: values })
}

/// Returns the result of a task whose arguments are wrong, so that nothing ran.
pub(crate) fn failed_resource(message: String) -> ResourceRun {
    let entries = [("failed", Value::Bool(true)), ("msg", message.into()), ("changed", false.into())];
    let result = entries.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
    ResourceRun { result, reports: Vec::new() }
}
