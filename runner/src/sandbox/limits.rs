//! How much a run may use. Every limit has a default, so that no run is unlimited unless an operator
//! writes it.

use std::time::Duration;

use crate::sandbox::invocation::LimitKind;

/// Long enough for a slow package manager under a classic module, short enough that a hung module does
/// not hang a night's run.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// Processor time is what a busy loop burns; a module that needs a minute of it is doing something odd.
pub const DEFAULT_CPU_TIME: Duration = Duration::from_secs(60);

/// Enough for a guest that carries a Python or JavaScript interpreter.
pub const DEFAULT_MAX_MEMORY: u64 = 256 << 20;

/// Kept of stdout and stderr, each. A result is one JSON object; Ansible's largest, the facts of a big
/// host, stay below a megabyte.
pub const DEFAULT_MAX_OUTPUT: u64 = 4 << 20;

/// Processes and threads of a native module at a time.
pub const DEFAULT_MAX_PROCESSES: u64 = 64;

/// The limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time from the first instruction, host calls included.
    pub timeout: Duration,
    /// Processor time.
    pub cpu_time: Duration,
    /// Bytes of memory: all linear memories and tables of a guest together; each process of a native run.
    pub max_memory: u64,
    /// Bytes that are kept of stdout and of stderr, each.
    pub max_output: u64,
    /// Processes at a time, native modules only.
    pub max_processes: u64,
}

impl Default for Limits {
    /// Returns the documented defaults; none of them is "unlimited".
    fn default() -> Self {
        Self {
            timeout: DEFAULT_TIMEOUT,
            cpu_time: DEFAULT_CPU_TIME,
            max_memory: DEFAULT_MAX_MEMORY,
            max_output: DEFAULT_MAX_OUTPUT,
            max_processes: DEFAULT_MAX_PROCESSES,
        }
    }
}

impl Limits {
    /// Returns what is allowed of one kind, in that kind's unit.
    #[must_use]
    pub fn allowed(&self, kind: LimitKind) -> u64 {
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        match kind {
            LimitKind::Wall => micros(self.timeout),
            LimitKind::Cpu => micros(self.cpu_time),
            LimitKind::Memory => self.max_memory,
            LimitKind::Stdout | LimitKind::Stderr => self.max_output,
            LimitKind::Processes => self.max_processes,
        }
    }
}
