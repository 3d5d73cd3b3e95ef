//! Turns an outcome into a report: with the module's result if it printed one, else with a failed result that says what
//! happened.

use std::ffi::OsString;
use std::path::Path;

use modbox_contract::log_lines::{self, LogLevel, LogLine};
use modbox_contract::{Dict, ModuleResult, RawOutput, ResultLines, Value};
use modbox_providers::{LogLevel as ProviderLevel, ProviderFailure};
use modbox_vocabulary::{Denial, Exit, LimitKind, LostChange, Outcome, Program, Usage};

use crate::execution::execute::{CompletedRun, Execution};
use crate::grants::run_user::as_user;
use crate::programs;
use crate::python;
use crate::python::SandboxLine;
use crate::reports::advice;
use crate::reports::facts;
use crate::reports::hidden;
use crate::reports::own_tmp;
use crate::reports::parts::provider_run::ProviderRun;
use crate::reports::parts::python_run::GUEST;
use crate::reports::refusal;
use crate::reports::report::{Report, Status};
use crate::reports::stopped::{self, limit_message};
use crate::reports::unseen;
use crate::request::run_request::RunRequest;
use crate::request::scrutiny::Scrutiny;

/// `rc` of a run without an exit status; Ansible reports the same for a module that was killed.
const KILLED: i64 = 137;

/// Returns the report of a run whose module was executed or failed to start. `report` holds what was known before.
pub(crate) fn report_execution(
    report: Report,
    execution: Execution,
    request: &RunRequest<'_>,
    environment: &[(OsString, OsString)],
) -> Report {
    let Execution { completed, kept_files, notes } = execution;
    let notes = [report.notes, notes].concat();
    let report = Report { notes, kept_files, ..report };
    let adds_invocation = completed.as_ref().is_ok_and(|completed| completed.prepared.adds_invocation);
    let mut report = match completed {
        Ok(completed) => report_outcome(report, completed, request, environment),
        Err(error) => refusal::report_failed_start(report, error),
    };
    report.mask(&request.arguments);
    if adds_invocation {
        report.result.drop_invocation();
    }
    report
}

fn report_outcome(
    mut report: Report,
    completed: CompletedRun,
    request: &RunRequest<'_>,
    environment: &[(OsString, OsString)],
) -> Report {
    let CompletedRun { prepared, outcome, _leaving } = completed;
    let (lines, mut stderr) = log_lines::take(&outcome.stderr.bytes);
    if let Some(run) = report.python.as_mut().filter(|run| run.place == GUEST) {
        match python::take_sandbox_line(&mut stderr) {
            Some(SandboxLine::Needs(name)) => run.needs = Some(name),
            Some(SandboxLine::Failed(reason)) => run.failure = Some(reason),
            None => {}
        }
    }
    let raw = RawOutput {
        stdout: &outcome.stdout.bytes,
        stderr: &outcome.stderr.bytes,
        rc: match outcome.exit {
            Exit::Code(code) => code.into(),
            Exit::Trap { .. } | Exit::Killed => KILLED,
        },
        shebang: prepared.shebang.as_deref(),
    };
    let rule = if request.last_json_line { ResultLines::LastJsonLine } else { ResultLines::Ansible };
    let (status, result) = match &mut report.provider {
        Some(run) => judge_provider(run, &outcome, &mut stderr, &raw),
        None => judge(&outcome, ModuleResult::parse_as(&raw, rule, request.release()), &raw),
    };
    let (status, result) = fail_for_lost(&outcome.lost, status, result, &raw);
    let (status, result) = fail_for_survivors(&outcome.survivors, status, result, &raw);
    let mut denials = std::mem::take(&mut report.denials);
    denials.extend_from_slice(outcome.denials.listed());
    let is_native = matches!(prepared.invocation.program, Program::Native(_) | Program::Direct(_));
    // Without namespaces, only a granted directory lets a native module make names.
    let makes_names = !is_native || outcome.confinement.level >= modbox_policy::HIGHEST_LEVEL;
    advice::improve(&mut denials, request, makes_names);
    let mut result = result;
    let mut status = status;
    if let Some(run) = report.provider.as_mut().filter(|_| status.is_success()) {
        let of_process = environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
        let home = request.policy.user().map_or(of_process, |user| Some(&user.home));
        match hidden::reason(run.call.action, &denials, home) {
            Some(reason) => {
                let failure = ProviderFailure::Blind(reason);
                (status, result) = failed_action(&failure, &outcome, &raw);
                run.outcome = Some(Err(failure));
            }
            None => refused_warning(&denials).iter().for_each(|warning| result.warn(warning)),
        }
    }
    for denial in &denials {
        tracing::info!(capability = %denial.capability, operation = %denial.operation, subject = denial.subject, "denied");
    }
    let may_hint = is_native && !request.is_free() && matches!(status, Status::Failed | Status::Crashed);
    let needed = programs::listed(&prepared.invocation.runtime_paths);
    let hints = || if may_hint { advice::hints(&denials, &outcome, request, environment) } else { Vec::new() };
    // Without the rights of the user whose run it is, a hint could name what that user cannot have.
    let hints = as_user(request.policy.user(), hints).unwrap_or_default();
    let said = match report.secrets.hides_all() {
        true => Vec::new(),
        false => [lines.into_iter().map(log_module_line).collect(), provider_notes(&report)].concat(),
    };
    let notes = [report.notes, said].concat();
    let mut report = Report {
        status,
        result,
        limit: outcome.limit,
        grants: report.grants.into_iter().chain(needed).collect(),
        denials,
        observed: request.scrutiny == Scrutiny::Observed,
        observation: Box::new(outcome.observation),
        denials_omitted: outcome.denials.omitted(),
        hints,
        confinement: outcome.confinement,
        lost: outcome.lost,
        survivors: outcome.survivors,
        outside: outcome.outside,
        requests: outcome.requests,
        refused_renames: outcome.refused_renames,
        usage: Usage { stdout_bytes: outcome.stdout.total, stderr_bytes: outcome.stderr.total, ..outcome.usage },
        timing: outcome.timing,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        notes,
        ..report
    };
    if request.scrutiny != Scrutiny::Observed {
        report.warn_of_advice();
    }
    if !request.is_free() {
        // Every look of a guest is known, at no cost.
        own_tmp::warn(&mut report, request.policy);
        facts::withhold(&mut report, request.policy, !is_native);
        unseen::warn(&mut report, !is_native || request.scrutiny == Scrutiny::Watched);
    }
    report
}

/// Writes a log line of the module to modbox's log, and returns it as a note.
fn log_module_line(LogLine { level, message }: LogLine) -> String {
    match level {
        LogLevel::Info => tracing::info!(message, "the module says"),
        LogLevel::Debug => tracing::debug!(message, "the module says"),
    }
    format!("the module says: {message}")
}

/// Reads the output of a provider. Its warnings and errors on standard error become warnings of the result.
fn judge_provider(
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
            (if outcome.limit.is_some() { Status::Limit } else { status_of(&result) }, result)
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

/// Returns what a provider said that is not a warning.
fn provider_notes(report: &Report) -> Vec<String> {
    let lines = report.provider.iter().flat_map(|run| &run.log).filter(|line| line.level < ProviderLevel::Warn);
    lines.map(|line| format!("the provider says: {}", line.message)).collect()
}

fn judge(outcome: &Outcome, mut result: ModuleResult, raw: &RawOutput<'_>) -> (Status, ModuleResult) {
    if let Some(hit) = outcome.limit {
        tracing::warn!(limit = hit.kind.as_str(), allowed = hit.allowed, unit = hit.unit.as_str(), "a limit was hit");
        // Only a cut-off stderr leaves the result whole. Other output of a stopped module may be incomplete.
        let whole = hit.kind == LimitKind::Stderr && result.parsed();
        let result = if whole { result } else { ModuleResult::runner_failure(&limit_message(hit), Some(raw)) };
        return (Status::Limit, result);
    }
    if result.parsed() {
        if let Exit::Trap { reason, .. } = &outcome.exit {
            result.warn(&format!("the module crashed after it had printed its result: {reason}"));
        }
        return (status_of(&result), result);
    }
    match &outcome.exit {
        Exit::Trap { reason, backtrace } => {
            let mut result = ModuleResult::runner_failure(&format!("the module crashed: {reason}"), Some(raw));
            result.set_exception(backtrace);
            (Status::Crashed, result)
        }
        Exit::Code(code) if stopped::signal(*code).is_some() => (Status::Crashed, result),
        Exit::Code(_) | Exit::Killed => (Status::Failed, result),
    }
}

/// Fails a run whose changes did not all reach the machine. The failure of the module itself stays, with a warning.
fn fail_for_lost(
    lost: &[LostChange],
    status: Status,
    mut result: ModuleResult,
    raw: &RawOutput<'_>,
) -> (Status, ModuleResult) {
    if lost.is_empty() {
        return (status, result);
    }
    for LostChange { path, reason, .. } in lost {
        tracing::error!(path, reason, "a change is lost");
    }
    let message = LostChange::message(lost);
    if result.failed() {
        result.warn(&message);
        return (status, result);
    }
    let status = if status == Status::Limit { status } else { Status::Failed };
    (status, ModuleResult::runner_failure(&message, Some(raw)))
}

/// Fails a run that left processes, which ended with it. The failure of the module itself stays, with a warning.
fn fail_for_survivors(
    survivors: &[String],
    status: Status,
    mut result: ModuleResult,
    raw: &RawOutput<'_>,
) -> (Status, ModuleResult) {
    if survivors.is_empty() {
        return (status, result);
    }
    let names = survivors.join(", ");
    let message = format!(
        "the module left processes running, which ended with its sandbox: {names}; to start what stays, let the service manager of \
         the machine do it, or take this module out of its sandbox by a rule with `allow: all`, or with `--allow-all`"
    );
    if result.failed() {
        result.warn(&message);
        return (status, result);
    }
    let status = if status == Status::Limit { status } else { Status::Failed };
    (status, ModuleResult::runner_failure(&message, Some(raw)))
}

fn status_of(result: &ModuleResult) -> Status {
    if result.failed() {
        Status::Failed
    } else if result.skipped() {
        Status::Skipped
    } else if result.changed() {
        Status::Changed
    } else {
        Status::Ok
    }
}
