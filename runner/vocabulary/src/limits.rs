//! How much a run may use. Every limit has a default, so that no run is unlimited unless an operator
//! writes it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::micros;

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

/// Bytes that a run may write to files, its `/tmp` included.
pub const DEFAULT_MAX_DISK: u64 = 64 << 20;

/// Bytes of them that may go to `/tmp`.
pub const DEFAULT_MAX_TMP: u64 = 64 << 20;

/// Files, directories and links that a run may make.
pub const DEFAULT_MAX_FILES: u64 = 4096;

/// Files, directories and sockets that a guest may have open at a time.
pub const DEFAULT_MAX_DESCRIPTORS: u64 = 256;

/// Larger than a Python interpreter compiled to a component.
pub const DEFAULT_MAX_MODULE: u64 = 64 << 20;

/// Processor time for compiling: a language runtime takes ten seconds, a compile bomb takes for ever.
pub const DEFAULT_COMPILE_TIME: Duration = Duration::from_secs(60);

/// Memory for compiling; a language runtime takes about one gigabyte.
pub const DEFAULT_COMPILE_MEMORY: u64 = 2 << 30;

/// Handles that a guest may hold, and entries in the host's table behind them. Each costs the host memory, and no
/// module needs more, so it has no switch.
pub const MAX_HANDLES: u64 = 10_000;

/// Which limit was hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitHit {
    /// Which one.
    pub kind: LimitKind,
    /// What was allowed, in `unit`s.
    pub allowed: u64,
    /// What `allowed` counts: [`LimitKind::unit`], but for a kind with several limits.
    pub unit: Unit,
}

/// The limits that a report can name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum LimitKind {
    /// Wall-clock time.
    Wall,
    /// Processor time.
    Cpu,
    /// Memory.
    Memory,
    /// Bytes on standard output.
    Stdout,
    /// Bytes on standard error.
    Stderr,
    /// Processes at a time.
    Processes,
    /// Bytes written to files.
    Disk,
    /// Bytes written to files in `/tmp`.
    Tmp,
    /// Files made.
    Files,
    /// Files, directories and sockets open at a time.
    Descriptors,
    /// What the host holds for a guest: resource handles, streams, listings.
    HostMemory,
    /// Compiling the module: its size, the time or the memory that it takes.
    Compile,
}

/// What the number of a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Unit {
    /// Microseconds.
    Us,
    /// Bytes.
    Bytes,
    /// Processes and threads.
    Processes,
    /// Files, directories and links.
    Files,
    /// Open files, directories and sockets.
    Descriptors,
    /// Resource handles of a guest.
    Handles,
}

impl Unit {
    /// Returns the word that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl LimitKind {
    /// Returns the word that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns every kind, in the order in which reports list them.
    #[must_use]
    pub fn all() -> &'static [Self] {
        <Self as strum::VariantArray>::VARIANTS
    }

    /// Returns whether it is about output, which is cut and ends nothing.
    #[must_use]
    pub fn is_output(self) -> bool {
        matches!(self, Self::Stdout | Self::Stderr)
    }

    /// Returns the unit that its numbers are in.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Wall | Self::Cpu | Self::Compile => Unit::Us,
            Self::Memory | Self::Stdout | Self::Stderr | Self::Disk | Self::Tmp => Unit::Bytes,
            Self::Processes => Unit::Processes,
            Self::Files => Unit::Files,
            Self::Descriptors => Unit::Descriptors,
            Self::HostMemory => Unit::Handles,
        }
    }
}

/// The limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Bytes written to files, `/tmp` included.
    pub max_disk: u64,
    /// Bytes written to files in `/tmp`.
    pub max_tmp: u64,
    /// Files, directories and links made.
    pub max_files: u64,
    /// Files, directories and sockets open at a time.
    pub max_descriptors: u64,
    /// Bytes of a module that is to be compiled.
    pub max_module: u64,
    /// Processor time for compiling, and as much again of wall-clock time for a busy machine.
    pub compile_time: Duration,
    /// Bytes of memory for compiling.
    pub compile_memory: u64,
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
            max_disk: DEFAULT_MAX_DISK,
            max_tmp: DEFAULT_MAX_TMP,
            max_files: DEFAULT_MAX_FILES,
            max_descriptors: DEFAULT_MAX_DESCRIPTORS,
            max_module: DEFAULT_MAX_MODULE,
            compile_time: DEFAULT_COMPILE_TIME,
            compile_memory: DEFAULT_COMPILE_MEMORY,
        }
    }
}

impl Limits {
    /// Returns what is allowed of one kind, in that kind's unit.
    #[must_use]
    pub fn allowed(&self, kind: LimitKind) -> u64 {
        match kind {
            LimitKind::Wall => micros(self.timeout),
            LimitKind::Cpu => micros(self.cpu_time),
            LimitKind::Memory => self.max_memory,
            LimitKind::Stdout | LimitKind::Stderr => self.max_output,
            LimitKind::Processes => self.max_processes,
            LimitKind::Disk => self.max_disk,
            LimitKind::Tmp => self.max_tmp,
            LimitKind::Files => self.max_files,
            LimitKind::Descriptors => self.max_descriptors,
            LimitKind::HostMemory => MAX_HANDLES,
            LimitKind::Compile => micros(self.compile_time),
        }
    }

    /// Returns the hit of one kind, with what is allowed of it.
    #[must_use]
    pub fn hit(&self, kind: LimitKind) -> LimitHit {
        LimitHit { kind, allowed: self.allowed(kind), unit: kind.unit() }
    }
}
