//! How a program ended that did not exit by itself, in words: at a limit, by a trap or by a signal.

use modbox_providers::ActionEnd;
use modbox_vocabulary::{Exit, LimitHit, LimitKind, Outcome, Unit};

/// Base of the exit codes by which a shell reports death by a signal.
const SIGNAL_BASE: i32 = 128;

/// The largest signal number of Linux.
const LAST_SIGNAL: i32 = 64;

/// Returns the signal that an exit code stands for.
pub(crate) fn signal(code: i32) -> Option<i32> {
    Some(code - SIGNAL_BASE).filter(|signal| (1..=LAST_SIGNAL).contains(signal))
}

/// Returns how a provider's program ended. Output on standard error that was cut off leaves the rest whole.
pub(crate) fn action_end(outcome: &Outcome) -> ActionEnd {
    let limit = outcome.limit.filter(|hit| hit.kind != LimitKind::Stderr);
    match (limit, &outcome.exit) {
        (Some(hit), _) => ActionEnd::Stopped(limit_message(hit)),
        (None, Exit::Trap { reason, .. }) => ActionEnd::Stopped(format!("the provider crashed: {reason}")),
        (None, Exit::Killed) => ActionEnd::Stopped("the provider was killed".to_owned()),
        (None, Exit::Code(code)) => match signal(*code) {
            Some(signal) => ActionEnd::Stopped(format!("signal {signal} ended the provider")),
            None => ActionEnd::Exited(*code),
        },
    }
}

/// Returns the message for a limit, with the switch that raises it.
pub(crate) fn limit_message(hit: LimitHit) -> String {
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
