//! Calls that a filter reports to a listener, in addition to those that it refuses.

use seccompiler::sock_filter;
use syscalls::Sysno;

/// The choice of allowed calls that are reported.
#[derive(Debug, Clone)]
pub struct ReportedCalls {
    /// Numbers of the calls that may be chosen.
    pub numbers: Vec<u32>,
    /// Part of a filter that looks at an allowed call, and either allows it or reports it.
    pub choice: Vec<sock_filter>,
}

/// Returns the name of a system call, or its number in words if this build does not know it.
#[must_use]
pub fn call_name(number: i64) -> String {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    known.map_or_else(|| format!("call {number:#x}"), |call| call.name().to_owned())
}
