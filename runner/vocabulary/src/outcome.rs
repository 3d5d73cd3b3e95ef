//! What a sandbox saw of one run.

use serde::{Deserialize, Serialize};

use crate::denial::DenialLog;
use crate::limits::LimitHit;

/// What a sandbox saw of one run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How the program ended.
    pub exit: Exit,
    /// Its standard output, bounded.
    pub stdout: Captured,
    /// Its standard error, bounded.
    pub stderr: Captured,
    /// The limit that ended or cut the run, the first one when there were several.
    pub limit: Option<LimitHit>,
    /// What was used of each limit.
    pub usage: Usage,
    /// Where the time went.
    pub timing: Timing,
    /// What the program tried and was refused.
    pub denials: DenialLog,
    /// What confined it.
    pub confinement: Confinement,
    /// What an operator should know of the run that is no failure.
    pub notes: Vec<String>,
}

/// What confined a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// How much of the kernel's confinement was in force; 0 is none.
    pub level: u8,
    /// What was in force, strongest first: `"wasmtime"`, `"landlock-7"`, `"seccomp"`.
    pub layers: Vec<String>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It exited by itself. A shell reports a signal as 128 plus its number here.
    Code(i32),
    /// A guest trapped.
    Trap {
        /// Why.
        reason: String,
        /// Where: the guest's own frames, innermost first.
        backtrace: String,
    },
    /// A limit ended it, see [`Outcome::limit`].
    Killed,
}

/// The head of an output stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// The bytes that were kept. They are left out of its serialised form: a channel sends them as they are, behind it.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// How many bytes were written in all.
    pub total: u64,
}

impl Captured {
    /// Returns whether bytes were dropped.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.total > self.bytes.len() as u64
    }
}

/// What a run used. Zero where the sandbox cannot tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Wall-clock time in microseconds.
    pub wall_us: u64,
    /// Processor time in microseconds.
    pub cpu_us: u64,
    /// Peak memory in bytes: linear memories and tables of a guest, the largest process of a native run.
    pub memory_bytes: u64,
    /// Bytes written to standard output, kept or not.
    pub stdout_bytes: u64,
    /// Bytes written to standard error, kept or not.
    pub stderr_bytes: u64,
    /// Bytes written to files.
    pub disk_bytes: u64,
    /// Those of them in `/tmp`.
    pub tmp_bytes: u64,
    /// Files, directories and links made.
    pub files: u64,
    /// The most files, directories and sockets that were open at a time.
    pub descriptors: u64,
}

/// Where the time went, in microseconds. Zero for steps that a sandbox does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Reading compiled code from the cache.
    pub load_us: u64,
    /// Compiling.
    pub compile_us: u64,
    /// Linking and instantiating.
    pub instantiate_us: u64,
    /// Running.
    pub run_us: u64,
}

impl Timing {
    /// Adds what another part of the same run took.
    pub fn add(&mut self, other: Self) {
        self.load_us += other.load_us;
        self.compile_us += other.compile_us;
        self.instantiate_us += other.instantiate_us;
        self.run_us += other.run_us;
    }
}
