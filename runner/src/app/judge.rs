//! Turns an outcome into a report: with the module's result if it printed one, else with a failed result that says what
//! happened.

use std::ffi::OsString;
use std::path::Path;

use modbox_contract::log_lines::{self, LogLevel, LogLine};
use modbox_contract::{ModuleResult, RawOutput, ResultLines};
use modbox_vocabulary::{
    Capability, Confinement, Denial, Exit, Grant, LimitHit, LimitKind, LostChange, Operation, Outcome, Program, Unit,
    Usage, error_chain,
};
use modbox_wasm::WasmError;

use crate::app::advice;
use crate::app::error::{RunError, Shortfall};
use crate::app::execute::{CompletedRun, Execution};
use crate::app::missing_grant::{self, MissingGrant};
use crate::app::program;
use crate::app::report::{Report, Status};
use crate::app::request::RunRequest;
use crate::app::run_user::as_user;

/// Base of the exit codes by which a shell reports death by a signal.
const SIGNAL_BASE: i32 = 128;

/// The largest signal number of Linux.
const LAST_SIGNAL: i32 = 64;

/// `rc` of a run without an exit status; Ansible reports the same for a module that was killed.
const KILLED: i64 = 137;

/// Returns the report of a run whose module was executed or failed to start. `report` holds what was known before.
pub(super) fn report_execution(
    report: Report,
    execution: Execution,
    request: &RunRequest<'_>,
    environment: &[(OsString, OsString)],
) -> Report {
    let Execution { completed, kept_files, notes } = execution;
    let notes = [report.notes, notes].concat();
    let report = Report { notes, kept_files, ..report };
    match completed {
        Ok(completed) => report_outcome(report, completed, request, environment),
        Err(error) => report_failed_start(report, error),
    }
}

fn report_outcome(
    report: Report,
    completed: CompletedRun,
    request: &RunRequest<'_>,
    environment: &[(OsString, OsString)],
) -> Report {
    let CompletedRun { prepared, outcome, _leaving } = completed;
    let (lines, stderr) = log_lines::take(&outcome.stderr.bytes);
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
    let (status, result) = judge(&outcome, ModuleResult::parse_as(&raw, rule, request.release()), &raw);
    let (status, result) = fail_for_lost(&outcome.lost, status, result, &raw);
    let mut denials = outcome.denials.listed().to_vec();
    advice::improve(&mut denials, request);
    for denial in &denials {
        tracing::info!(capability = %denial.capability, operation = %denial.operation, subject = denial.subject, "denied");
    }
    let may_hint = matches!(prepared.invocation.program, Program::Native(_))
        && !request.policy.allows_everything()
        && matches!(status, Status::Failed | Status::Crashed);
    let needed = program::listed(&prepared.invocation.runtime_paths);
    let hints = || if may_hint { advice::hints(&denials, &outcome, request, environment) } else { Vec::new() };
    // Without the rights of the user whose run it is, a hint could name what that user cannot have.
    let hints = as_user(request.policy.user(), hints).unwrap_or_default();
    let mut report = Report {
        status,
        result,
        limit: outcome.limit,
        grants: report.grants.into_iter().chain(needed).collect(),
        denials,
        denials_omitted: outcome.denials.omitted(),
        hints,
        confinement: outcome.confinement,
        lost: outcome.lost,
        usage: Usage { stdout_bytes: outcome.stdout.total, stderr_bytes: outcome.stderr.total, ..outcome.usage },
        timing: outcome.timing,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        notes: report.notes.into_iter().chain(lines.into_iter().map(log_module_line)).collect(),
        ..report
    };
    report.warn_of_advice();
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

/// Returns the report of a run that does not start because grants are missing.
pub(super) fn report_denial(report: Report, missing: Vec<MissingGrant>) -> Report {
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

/// Returns the report of a run whose module could not be started.
pub(super) fn report_failed_start(report: Report, error: RunError) -> Report {
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
        RunError::Unconfined(shortfall) => {
            let Shortfall { reached, denial, .. } = &**shortfall;
            let confinement = Confinement { level: reached.level, layers: reached.layers.clone() };
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
        let host = |grant: &Grant| grant.subject.split("::").next().unwrap_or_default().to_owned();
        let is = |host: &str| if exact { host == path } else { Path::new(host).parent() == Some(Path::new(path)) };
        grants.iter().find(|grant| is_path(grant) && is(&host(grant))).cloned()
    };
    of(true).or_else(|| of(false))
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
        Exit::Code(code) if (SIGNAL_BASE + 1..=SIGNAL_BASE + LAST_SIGNAL).contains(code) => (Status::Crashed, result),
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
    for LostChange { path, reason } in lost {
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

fn limit_message(hit: LimitHit) -> String {
    let (what, switch) = match hit.kind {
        LimitKind::Wall => ("ran longer than its wall-clock limit", "--timeout"),
        LimitKind::Cpu => ("used more than its limit of processor time", "--cpu-time"),
        LimitKind::Memory => ("wanted more than its limit of memory", "--max-memory"),
        LimitKind::Stdout => ("wrote more than its limit to stdout", "--max-output"),
        LimitKind::Stderr => ("wrote more than its limit to stderr", "--max-output"),
        LimitKind::Processes => ("started more than its limit of processes", "--max-processes"),
        LimitKind::Disk => ("wrote more than its limit to files", "--max-disk"),
        LimitKind::Tmp => ("wrote more than its limit to files in `/tmp`", "--max-tmp"),
        LimitKind::Files => ("made more than its limit of files", "--max-files"),
        LimitKind::Descriptors => ("opened more than its limit of files and sockets at a time", "--max-descriptors"),
        LimitKind::HostMemory => {
            return match hit.unit {
                Unit::Bytes => {
                    let allowed = bytesize::ByteSize(hit.allowed).display().iec();
                    format!("the module exchanged more with the host at once than any may: {allowed}")
                }
                unit => format!("the module held more {unit} than any may: {}", hit.allowed),
            };
        }
        LimitKind::Compile => ("took more than its limit to compile", "--compile-time"),
    };
    let allowed = match hit.unit {
        Unit::Us => humantime::format_duration(std::time::Duration::from_micros(hit.allowed)).to_string(),
        Unit::Bytes => bytesize::ByteSize(hit.allowed).display().iec().to_string(),
        _ => hit.allowed.to_string(),
    };
    format!("the module {what}, {allowed}; raise it with `{switch}`")
}
