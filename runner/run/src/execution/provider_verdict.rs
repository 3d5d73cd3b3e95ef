//! How a run of a provider ended: its answer, what it said beside it, and whether it could see what it answers for.

use std::path::Path;

use modbox_contract::{Dict, ModuleResult, RawOutput, Value};
use modbox_providers::{LogLevel as ProviderLevel, ProviderFailure};
use modbox_vocabulary::{Denial, Outcome};

use crate::reports::hidden;
use crate::reports::parts::provider_run::ProviderRun;
use crate::reports::report::{Report, Status};
use crate::reports::stopped;

/// Reads the output of a provider. Its warnings and errors on standard error become warnings of the result.
pub(super) fn judge(
    run: &mut ProviderRun,
    outcome: &Outcome,
    stderr: &mut Vec<u8>,
    raw: &RawOutput<'_>,
) -> (Status, ModuleResult) {
    if run.conclude(stopped::action_end(outcome), raw.stdout, stderr) {
        stderr.clear();
    }
    let (status, mut result) = match &run.outcome {
        Some(Ok(action)) => {
            let result = ModuleResult::accepted(action.to_dict());
            (if outcome.limit.is_some() { Status::Limit } else { Status::of(&result) }, result)
        }
        Some(Err(failure)) => failed_action(failure, outcome, raw),
        None => (Status::Failed, ModuleResult::runner_failure("the provider was not asked", Some(raw))),
    };
    let doubts = run.outcome.iter().flatten().flat_map(|action| action.warnings().iter().cloned());
    let is_loud = |level: ProviderLevel| level >= ProviderLevel::Warn;
    let said =
        run.log.iter().filter(|line| is_loud(line.level)).map(|line| format!("the provider says: {}", line.message));
    doubts.chain(said).for_each(|warning| result.warn(&warning));
    (status, result)
}

/// Fails a provider that succeeded without having seen what it answers for, and warns of what else it was refused.
pub(super) fn doubt(
    report: &mut Report,
    (status, mut result): (Status, ModuleResult),
    denials: &[Denial],
    home: Option<&Path>,
    (outcome, raw): (&Outcome, &RawOutput<'_>),
) -> (Status, ModuleResult) {
    let Some(run) = report.provider.as_mut().filter(|_| status.is_success()) else { return (status, result) };
    let Some(reason) = hidden::reason(run.call.action, denials, home) else {
        refused_warning(denials).iter().for_each(|warning| result.warn(warning));
        return (status, result);
    };
    let failure = ProviderFailure::Blind(reason);
    let verdict = failed_action(&failure, outcome, raw);
    run.outcome = Some(Err(failure));
    verdict
}

/// Returns what a provider said that is not a warning.
pub(super) fn notes(report: &Report) -> Vec<String> {
    let lines = report.provider.iter().flat_map(|run| &run.log).filter(|line| line.level < ProviderLevel::Warn);
    lines.map(|line| format!("the provider says: {}", line.message)).collect()
}

fn failed_action(failure: &ProviderFailure, outcome: &Outcome, raw: &RawOutput<'_>) -> (Status, ModuleResult) {
    let message = failure.to_string();
    match failure {
        ProviderFailure::Reported { .. } | ProviderFailure::Unknown(_) | ProviderFailure::Blind(_) => {
            let entries = [("failed", true.into()), ("msg", message.into()), ("changed", false.into())];
            let entries = entries.map(|(key, value): (&str, Value)| (key.to_owned(), value));
            (Status::Failed, ModuleResult::accepted(Dict::from_iter(entries)))
        }
        ProviderFailure::Stopped(_) => {
            let status = if outcome.limit.is_some() { Status::Limit } else { Status::Crashed };
            (status, ModuleResult::runner_failure(&message, Some(raw)))
        }
        _ => (Status::Failed, ModuleResult::runner_failure(&message, Some(raw))),
    }
}

/// Returns a warning that a provider was refused something, although it succeeded: its answer is what it saw.
fn refused_warning(denials: &[Denial]) -> Option<String> {
    const SHOWN: usize = 4;
    let allows: Vec<&str> =
        denials.iter().map(|denial| denial.allow.as_str()).filter(|allow| !allow.is_empty()).collect();
    let first = denials.first()?;
    let what = match denials.len() {
        1 => format!("to {} `{}`", first.operation, first.subject),
        more => format!("to {} `{}`, and {} times more", first.operation, first.subject, more - 1),
    };
    let remedy = match allows.as_slice() {
        [] => String::new(),
        allows => {
            let more = if allows.len() > SHOWN { " ..." } else { "" };
            format!("; allow it with {}{more}", allows[..allows.len().min(SHOWN)].join(" "))
        }
    };
    Some(format!("the provider was refused {what}, so its answer may be wrong{remedy}"))
}
