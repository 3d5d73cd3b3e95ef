//! What is handed to a sandbox, and what comes back: plain data, so that kinds can be tested without
//! running anything and sandboxes without knowing any kind.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A program with everything it is to see. Made by a kind, consumed by a sandbox.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// What to start.
    pub program: Program,
    /// Files that the sandbox lays out before it starts the program: in `/args` for a guest, in the
    /// module's own temporary directory for a native module.
    pub files: Vec<InputFile>,
    /// Bytes on standard input. For a native module that is what its interpreter runs; it has an empty one otherwise.
    pub stdin: Vec<u8>,
    /// Files and directories of the host that the program needs in order to run, whatever it is granted: its interpreter, what
    /// that loads, and what was laid out for it. To be read, never written. Absolute.
    pub runtime_paths: Vec<PathBuf>,
}

/// What to start.
#[derive(Debug, Clone)]
pub enum Program {
    /// A WASI component or core module for the engine.
    Wasm(WasmProgram),
    /// A command for the system's shell.
    Native(NativeProgram),
}

/// A guest for the engine.
#[derive(Debug, Clone)]
pub struct WasmProgram {
    /// Which of the two binary formats it is in.
    pub format: WasmFormat,
    /// `argv`, the program's name first.
    pub argv: Vec<String>,
}

/// The two formats of a wasm binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WasmFormat {
    /// A component that exports `wasi:cli/run`.
    Component,
    /// A core module against WASI 0.1 ("preview 1"), to be wrapped by the standard adapter.
    Core,
}

/// A native module, as the command line that Ansible would give to `/bin/sh -c` on the target.
#[derive(Debug, Clone)]
pub struct NativeProgram {
    /// The shell command, words already quoted, naming files by their absolute paths in the temporary
    /// directory.
    pub command: String,
}

/// A file that exists for one run.
#[derive(Debug, Clone)]
pub struct InputFile {
    /// A bare file name.
    pub name: String,
    /// The bytes.
    pub contents: Arc<[u8]>,
    /// The permission bits, for example `0o700`.
    pub mode: u32,
}

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
    /// What the program tried and was refused, each once and bounded in number.
    pub denials: Vec<Denial>,
    /// What confined it.
    pub confinement: Confinement,
    /// What an operator should know of the run that is no failure.
    pub notes: Vec<String>,
}

/// What confined a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// How much of the kernel's confinement was in force; 0 is none.
    pub level: u8,
    /// What was in force, strongest first: `"wasmtime"`, `"landlock-7"`, `"seccomp"`.
    pub layers: Vec<String>,
}

/// Something that a run needs, or tried, and that the policy does not grant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Denial {
    /// What kind of grant is missing: `read`, `write`, `own`, `env`, `net`, `listen`, `run`, `native`.
    pub capability: &'static str,
    /// The path, the address or the name, as the module gave it.
    pub subject: String,
    /// The operation that was refused, in WASI's words such as `open-at`. When the run was not started, where the path
    /// comes from: `argument`, `default` (of an option that was not given) or `request` (of the module's metadata).
    pub operation: &'static str,
    /// The switch that would allow it, and the argument to give instead when a path was relative.
    pub allow: String,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The bytes that were kept.
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

/// Which limit was hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitHit {
    /// Which one.
    pub kind: LimitKind,
    /// What was allowed, in `unit`s.
    pub allowed: u64,
    /// What `allowed` counts: [`LimitKind::unit`], but for a kind with several limits.
    pub unit: &'static str,
}

/// The limits that a report can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

impl LimitKind {
    /// Returns the word that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Processes => "processes",
            Self::Disk => "disk",
            Self::Tmp => "tmp",
            Self::Files => "files",
            Self::Descriptors => "descriptors",
            Self::HostMemory => "host-memory",
            Self::Compile => "compile",
        }
    }

    /// Returns whether it is about output, which is cut and ends nothing.
    #[must_use]
    pub fn is_output(self) -> bool {
        matches!(self, Self::Stdout | Self::Stderr)
    }

    /// Returns the unit that its numbers are in.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Wall | Self::Cpu | Self::Compile => "us",
            Self::Memory | Self::Stdout | Self::Stderr | Self::Disk | Self::Tmp => "bytes",
            Self::Processes => "processes",
            Self::Files => "files",
            Self::Descriptors => "descriptors",
            Self::HostMemory => "handles",
        }
    }
}

/// What a run used. Zero where the sandbox cannot tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Wall-clock time in microseconds.
    pub wall_us: u64,
    /// Processor time in microseconds.
    pub cpu_us: u64,
    /// Peak memory in bytes: linear memories and tables of a guest, the largest process of a native run.
    pub memory_bytes: u64,
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
