//! Turns an outcome into a report: with the module's result if it printed one, else with a failed result that says what
//! happened.

use std::ffi::OsString;

use modbox_contract::log_lines::{self, LogLevel, LogLine};
use modbox_contract::{ModuleResult, RawOutput, ResultLines};
use modbox_vocabulary::{Denial, Exit, LimitKind, LostChange, Outcome, Program, Usage};

use crate::execution::execute::{CompletedRun, Execution};
use crate::execution::provider_verdict;
use crate::grants::run_user::as_user;
use crate::home;
use crate::programs;
use crate::python;
use crate::python::SandboxLine;
use crate::reports::advice;
use crate::reports::facts;
use crate::reports::own_tmp;
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
    take_sandbox_line(&mut report, &mut stderr);
    let raw = RawOutput {
        stdout: &outcome.stdout.bytes,
        stderr: &outcome.stderr.bytes,
        rc: match outcome.exit {
            Exit::Code(code) => code.into(),
            Exit::Trap { .. } | Exit::Killed => KILLED,
        },
        shebang: prepared.shebang.as_deref(),
    };
    let is_native = matches!(prepared.invocation.program, Program::Native(_) | Program::Direct(_));
    let verdict = result_of(&mut report, &outcome, &mut stderr, &raw, request);
    let denials = denials_of(&mut report, &outcome, is_native, request);
    let home = home::of_run(environment, request.policy);
    let (status, result) = provider_verdict::doubt(&mut report, verdict, &denials, home.as_deref(), (&outcome, &raw));
    let may_hint = is_native && !request.is_free() && matches!(status, Status::Failed | Status::Crashed);
    let needed = programs::listed(&prepared.invocation.runtime_paths);
    let hints = || if may_hint { advice::hints(&denials, &outcome, request, environment) } else { Vec::new() };
    // Without the rights of the user whose run it is, a hint could name what that user cannot have.
    let hints = as_user(request.policy.user(), hints).unwrap_or_default();
    let said = match report.secrets.hides_all() {
        true => Vec::new(),
        false => [lines.into_iter().map(log_module_line).collect(), provider_verdict::notes(&report)].concat(),
    };
    let notes = [report.notes, said].concat();
    let left_in_tmp = outcome.left_in_tmp;
    let report = Report {
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
    with_warnings(report, left_in_tmp, request, is_native)
}

/// Takes the line of the sandbox's Python from standard error: what the module needs that this interpreter does not have.
fn take_sandbox_line(report: &mut Report, stderr: &mut Vec<u8>) {
    let Some(run) = report.python.as_mut().filter(|run| run.place == GUEST) else { return };
    match python::take_sandbox_line(stderr) {
        Some(SandboxLine::Needs(name)) => run.needs = Some(name),
        Some(SandboxLine::Failed(reason)) => run.failure = Some(reason),
        None => {}
    }
}

/// Returns how the run ended, and the result that the module printed or a failed one in its place.
fn result_of(
    report: &mut Report,
    outcome: &Outcome,
    stderr: &mut Vec<u8>,
    raw: &RawOutput<'_>,
    request: &RunRequest<'_>,
) -> (Status, ModuleResult) {
    let rule = if request.last_json_line { ResultLines::LastJsonLine } else { ResultLines::Ansible };
    let (status, result) = match &mut report.provider {
        Some(run) => provider_verdict::judge(run, outcome, stderr, raw),
        None => judge(outcome, ModuleResult::parse_as(raw, rule, request.release()), raw),
    };
    let (status, result) = fail_for_lost(&outcome.lost, status, result, raw);
    fail_for_survivors(&outcome.survivors, status, result, raw)
}

/// Returns the denials from before the start and those of the run, each with the best option that allows it.
fn denials_of(report: &mut Report, outcome: &Outcome, is_native: bool, request: &RunRequest<'_>) -> Vec<Denial> {
    let mut denials = std::mem::take(&mut report.denials);
    denials.extend_from_slice(outcome.denials.listed());
    // Without namespaces, only a granted directory lets a native module make names.
    let makes_names = !is_native || outcome.confinement.level >= modbox_policy::HIGHEST_LEVEL;
    advice::improve(&mut denials, request, makes_names);
    for denial in &denials {
        tracing::info!(capability = %denial.capability, operation = %denial.operation, subject = denial.subject, "denied");
    }
    denials
}

/// Adds the warnings about what a run could not see, what it left in its own `/tmp`, and what helps.
fn with_warnings(mut report: Report, left_in_tmp: Vec<String>, request: &RunRequest<'_>, is_native: bool) -> Report {
    if request.scrutiny != Scrutiny::Observed {
        report.warn_of_advice();
    }
    if !request.is_free() {
        // Every look of a guest is known, at no cost.
        own_tmp::warn(&mut report, request.policy, left_in_tmp);
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
        return (Status::of(&result), result);
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
