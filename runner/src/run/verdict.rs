//! From an outcome to a verdict: the module's result where it gave one, a failed result that says what
//! happened where it did not.

use modbox_vocabulary::Unit;

use crate::run::missing_grant::{self, MissingGrant};
use crate::run::report::{Report, Status};
use crate::run::{RunError, RunRequest};
use modbox_contract::ResultLines;
use modbox_contract::log_lines::{self, LogLevel, LogLine};
use modbox_contract::{ModuleResult, RawOutput};
use modbox_kinds::Prepared;
use modbox_vocabulary::error_chain;
use modbox_vocabulary::{Confinement, Exit, LimitHit, LimitKind, Outcome};
use modbox_wasm::WasmError;

/// From here on an exit code is how a shell reports death by a signal.
const SIGNAL_BASE: i32 = 128;

/// The largest signal number of Linux.
const LAST_SIGNAL: i32 = 64;

/// What a run that had no exit status reports as `rc`, as Ansible does for a module that was killed.
const KILLED: i64 = 137;

/// Fills in the result and the status of a run that was started.
pub(super) fn reach(report: &mut Report, outcome: &mut Outcome, prepared: &Prepared, request: &RunRequest<'_>) {
    report.limit = outcome.limit;
    report.confinement = std::mem::take(&mut outcome.confinement);
    report.denials = outcome.denials.listed().to_vec();
    report.denials_omitted = outcome.denials.omitted();
    for denial in &report.denials {
        tracing::info!(capability = %denial.capability, operation = %denial.operation, subject = denial.subject, "denied");
    }
    report.usage = outcome.usage;
    (report.usage.stdout_bytes, report.usage.stderr_bytes) = (outcome.stdout.total, outcome.stderr.total);
    let (lines, rest) = log_lines::take(&outcome.stderr.bytes);
    report.stderr = String::from_utf8_lossy(&rest).into_owned();
    for LogLine { level, message } in lines {
        match level {
            LogLevel::Info => tracing::info!(message, "the module says"),
            LogLevel::Debug => tracing::debug!(message, "the module says"),
        }
        report.notes.push(format!("the module says: {message}"));
    }
    report.timing = outcome.timing;
    let raw = RawOutput {
        stdout: &outcome.stdout.bytes,
        stderr: &outcome.stderr.bytes,
        rc: match outcome.exit {
            Exit::Code(code) => code.into(),
            Exit::Trap { .. } | Exit::Killed => KILLED,
        },
        shebang: prepared.shebang.as_deref(),
    };
    let lines = if request.last_json_line { ResultLines::LastJsonLine } else { ResultLines::Ansible };
    let result = ModuleResult::parse_as(&raw, lines, request.release());
    (report.status, report.result) = judge(outcome, result, &raw);
}

/// Fills in the result and the status of a run that is not started for want of grants.
pub(super) fn denied(report: &mut Report, missing: Vec<MissingGrant>) {
    for MissingGrant { denial, .. } in &missing {
        tracing::warn!(capability = %denial.capability, subject = denial.subject, "denied: the module does not start");
    }
    report.status = Status::Denied;
    report.result = ModuleResult::runner_failure(&missing_grant::message(&missing), None);
    report.denials = missing.into_iter().map(|missing| missing.denial).collect();
}

/// Fills in the result and the status of a run that was not started.
pub(super) fn not_started(report: &mut Report, error: RunError) {
    report.result = ModuleResult::runner_failure(&error_chain(&error), None);
    report.status = Status::Failed;
    match &error {
        RunError::Wasm(WasmError::Limit(limit)) => {
            report.result = ModuleResult::runner_failure(&limit.to_string(), None);
            (report.status, report.limit) = (Status::Limit, Some(limit.hit()));
        }
        RunError::Unconfined(shortfall) => {
            let reached = shortfall.reached.clone();
            report.status = Status::Denied;
            report.denials = vec![shortfall.denial.clone()];
            report.confinement = Confinement { level: reached.level, layers: reached.layers };
        }
        _ => report.error = Some(error),
    }
}

fn judge(outcome: &Outcome, mut result: ModuleResult, raw: &RawOutput<'_>) -> (Status, ModuleResult) {
    if let Some(hit) = outcome.limit {
        tracing::warn!(limit = hit.kind.as_str(), allowed = hit.allowed, unit = hit.unit.as_str(), "a limit was hit");
        // Only a cut-off stderr leaves the result whole; whatever else a stopped module printed is not its last word.
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

pub(super) fn limit_message(hit: LimitHit) -> String {
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
    format!("the module {what}, {allowed}; `{switch}` sets another")
}
