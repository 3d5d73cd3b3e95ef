//! Reports of runs that do not start: grants are missing, trust rules or arguments forbid it, or it failed.
//!
//! A run that started is judged in `execution/judge`.

use std::path::Path;

use modbox_contract::{Dict, ModuleResult, Value};
use modbox_policy::{Objection, granted_host};
use modbox_providers::ProviderFailure;
use modbox_vocabulary::{Capability, Confinement, Denial, Grant, Operation, error_chain};
use modbox_wasm::WasmError;

use crate::reports::error::{RunError, Shortfall};
use crate::reports::missing_grant::{self, MissingGrant};
use crate::reports::report::{Report, Status};

/// Returns the report of a run that does not start because grants are missing.
pub(crate) fn report_denial(report: Report, missing: Vec<MissingGrant>) -> Report {
    for MissingGrant { denial, .. } in &missing {
        tracing::warn!(capability = %denial.capability, subject = denial.subject, "denied: the module does not start");
    }
    Report {
        status: Status::Denied,
        result: ModuleResult::runner_failure(&missing_grant::message(&missing), None),
        denials: missing.into_iter().map(|missing| missing.denial).collect(),
        ..report
    }
}

/// Returns the report of a run that the trust rules do not let start.
pub(crate) fn report_objections(report: Report, objections: &[Objection]) -> Report {
    tracing::warn!(objections = objections.len(), "the trust rules do not let the module start");
    let texts: Vec<String> = objections.iter().map(|objection| objection.text.clone()).collect();
    let mut denials: Vec<Denial> = Vec::new();
    for denial in objections.iter().filter_map(|objection| objection.denial.as_ref()) {
        // Several ceilings can forbid one grant.
        if !denials.contains(denial) {
            denials.push(denial.clone());
        }
    }
    let result = ModuleResult::runner_failure(&texts.join("; "), None);
    Report { status: Status::Denied, result, denials, objections: texts, ..report }
}

/// Returns the report of a run that does not start because its arguments are wrong.
pub(crate) fn report_invalid(report: Report, message: &str) -> Report {
    Report { status: Status::Failed, result: ModuleResult::runner_failure(message, None), ..report }
}

/// Returns the report of a run that has nothing to do.
pub(crate) fn report_skipped(report: Report, message: &str) -> Report {
    let entries: [(&str, Value); 3] = [("skipped", true.into()), ("msg", message.into()), ("changed", false.into())];
    let dict = Dict::from_iter(entries.map(|(key, value)| (key.to_owned(), value)));
    Report { status: Status::Skipped, result: ModuleResult::accepted(dict), ..report }
}

/// Returns the report of a run whose module could not be started.
pub(crate) fn report_failed_start(mut report: Report, error: RunError) -> Report {
    if let Some(run) = &mut report.provider {
        run.outcome = Some(Err(ProviderFailure::NotStarted(error_chain(&error))));
    }
    tracing::error!(error = error_chain(&error), "the module did not start");
    let failed = Report { result: ModuleResult::runner_failure(&error_chain(&error), None), ..report };
    let cause = match &error {
        RunError::Shared(error) => error,
        error => error,
    };
    match cause {
        RunError::Wasm(WasmError::Limit(limit)) => Report {
            status: Status::Limit,
            result: ModuleResult::runner_failure(&limit.to_string(), None),
            limit: Some(limit.hit()),
            ..failed
        },
        cause if cause.is_of_commands_outside() => Report { status: Status::Denied, ..failed },
        RunError::NotInSandbox(_) => Report { status: Status::Denied, ..failed },
        cause if cause.is_unverified() => Report { status: Status::Denied, ..failed },
        RunError::Unconfined(shortfall) => {
            let Shortfall { reached, denial, .. } = &**shortfall;
            let confinement =
                Confinement { level: reached.level, layers: reached.layers.clone(), missing: reached.missing.clone() };
            Report { status: Status::Denied, denials: vec![denial.clone()], confinement, ..failed }
        }
        cause => match cause.changed_grant().and_then(|path| grant_in(&failed.grants, &path)) {
            Some(Grant { capability, subject, .. }) => {
                let denial = Denial { capability, subject, operation: Operation::Grant, allow: String::new() };
                Report { status: Status::Denied, denials: vec![denial], ..failed }
            }
            None => {
                let mut failed = Report { status: Status::Failed, error: Some(error), ..failed };
                failed.warn_of_advice();
                failed
            }
        },
    }
}

/// Returns the grant of a path of the machine, or of a name in it.
fn grant_in(grants: &[Grant], path: &str) -> Option<Grant> {
    let is_path = |grant: &Grant| matches!(grant.capability, Capability::Read | Capability::Write);
    let of = |exact: bool| {
        let host = |grant: &Grant| granted_host(&grant.subject).to_owned();
        let is = |host: &str| if exact { host == path } else { Path::new(host).parent() == Some(Path::new(path)) };
        grants.iter().find(|grant| is_path(grant) && is(&host(grant))).cloned()
    };
    of(true).or_else(|| of(false))
}
