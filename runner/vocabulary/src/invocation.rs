//! What is handed to a sandbox: plain data, so that kinds can be tested without running anything and sandboxes without
//! knowing any kind.

use std::path::PathBuf;
use std::sync::Arc;

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
