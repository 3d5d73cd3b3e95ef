//! The limits of a run. Every limit has a default, so that a run is unlimited only if an operator says so.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::micros;

/// Long enough for a slow package manager in a classic module, and short enough that a hung module does not block the
/// run of a whole night.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// Processor time. A busy loop uses it up; a module that needs a minute of it behaves unusually.
pub const DEFAULT_CPU_TIME: Duration = Duration::from_secs(60);

/// Enough for a guest that contains a Python or JavaScript interpreter.
pub const DEFAULT_MAX_MEMORY: u64 = 256 << 20;

/// Bytes of stdout and of stderr that are kept, each. A result is one JSON object. The largest of Ansible, the facts of
/// a big host, is smaller than a megabyte.
pub const DEFAULT_MAX_OUTPUT: u64 = 4 << 20;

/// Processes and threads of a native module at a time.
pub const DEFAULT_MAX_PROCESSES: u64 = 64;

/// Bytes that a run may write to files, including its `/tmp`.
pub const DEFAULT_MAX_DISK: u64 = 64 << 20;

/// The part of those bytes that may go to `/tmp`.
pub const DEFAULT_MAX_TMP: u64 = 64 << 20;

/// Number of files, directories and links that a run may create.
pub const DEFAULT_MAX_FILES: u64 = 4096;

/// Number of files, directories and sockets that a guest may have open at a time.
pub const DEFAULT_MAX_DESCRIPTORS: u64 = 256;

/// Maximum size of a module. It is larger than a Python interpreter compiled to a component.
pub const DEFAULT_MAX_MODULE: u64 = 64 << 20;

/// Processor time for compiling. A language runtime takes ten seconds; a compile bomb never ends.
pub const DEFAULT_COMPILE_TIME: Duration = Duration::from_secs(60);

/// Memory for compiling; a language runtime takes about one gigabyte.
pub const DEFAULT_COMPILE_MEMORY: u64 = 2 << 30;

/// Wall-clock time of a command outside of a module's room. A large upgrade of packages takes half of it.
pub const DEFAULT_OUTSIDE_TIME: Duration = Duration::from_hours(1);

/// Number of handles that a guest may hold, and of the entries in the host's table for them. Each uses memory of the
/// host, and no module needs more, so there is no option for it.
pub const MAX_HANDLES: u64 = 10_000;

/// The limit that a run reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitHit {
    /// Which limit ended the run.
    pub kind: LimitKind,
    /// The allowed amount in `unit`s.
    pub allowed: u64,
    /// The unit of `allowed`. It is [`LimitKind::unit`], except for a kind with several limits.
    pub unit: Unit,
}

/// The kinds of limits in reports.
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
    /// Files, directories and links created.
    Files,
    /// Files, directories and sockets open at a time.
    Descriptors,
    /// Objects that the host holds for a guest: resource handles, streams, listings.
    HostMemory,
    /// Compiling the module: its size, the time or the memory for it.
    Compile,
}

/// The unit of a limit.
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
    /// Returns the name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl LimitKind {
    /// Returns the name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns all kinds in the order of reports.
    #[must_use]
    pub fn all() -> &'static [Self] {
        <Self as strum::VariantArray>::VARIANTS
    }

    /// Returns whether the limit is for output. Output beyond it is dropped, and the run continues.
    #[must_use]
    pub fn is_output(self) -> bool {
        matches!(self, Self::Stdout | Self::Stderr)
    }

    /// Returns the unit of the limit's numbers.
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
    /// Wall-clock time from the first instruction, including host calls. It stands still while a command outside runs.
    pub timeout: Duration,
    /// Processor time.
    pub cpu_time: Duration,
    /// Bytes of memory: for a guest, all linear memories and tables together; for a native run, each process.
    pub max_memory: u64,
    /// Bytes of stdout and of stderr that are kept, each.
    pub max_output: u64,
    /// Number of processes at a time, for native modules only.
    pub max_processes: u64,
    /// Bytes written to files, including `/tmp`.
    pub max_disk: u64,
    /// Bytes written to files in `/tmp`.
    pub max_tmp: u64,
    /// Number of files, directories and links created.
    pub max_files: u64,
    /// Number of files, directories and sockets open at a time.
    pub max_descriptors: u64,
    /// Size in bytes of a module to compile.
    pub max_module: u64,
    /// Processor time for compiling. The wall-clock time may be twice as long, for a busy machine.
    pub compile_time: Duration,
    /// Bytes of memory for compiling.
    pub compile_memory: u64,
    /// Wall-clock time of each command outside of a native module's room.
    pub outside: Duration,
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
            outside: DEFAULT_OUTSIDE_TIME,
        }
    }
}

impl Limits {
    /// Returns the allowed amount of a kind, in that kind's unit.
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

    /// Returns the [`LimitHit`] for a kind, with its allowed amount.
    #[must_use]
    pub fn hit(&self, kind: LimitKind) -> LimitHit {
        LimitHit { kind, allowed: self.allowed(kind), unit: kind.unit() }
    }
}
