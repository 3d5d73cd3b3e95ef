//! The input of a sandbox: plain data, so that kinds can be tested without running a module, and sandboxes without any
//! kind.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A program with all its inputs. A kind makes it, and a sandbox runs it.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The program to start.
    pub program: Program,
    /// Files that the sandbox writes before it starts the program: to `/args` for a guest, to the module's temporary
    /// directory for a native module.
    pub files: Vec<InputFile>,
    /// Bytes on standard input: the module or its arguments, if a native module's interpreter reads them there;
    /// otherwise empty.
    pub stdin: Vec<u8>,
    /// Files and directories that the program has to read in order to run, independently of its grants.
    pub runtime_paths: Vec<RuntimePath>,
}

/// Absolute path of a file or directory on the host that a program has to read in order to run: its interpreter, the
/// interpreter's libraries, or the files of its payload. The program cannot write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimePath {
    /// The absolute path on the machine, shown at the same place to the module.
    pub path: PathBuf,
    /// The program that needs it, if a report lists it as a grant. `None` for files of the module itself, and for paths
    /// that the module reads anyway.
    pub needed_by: Option<String>,
}

/// The program to start.
#[derive(Debug, Clone)]
pub enum Program {
    /// A WASI component or core module for the engine.
    Wasm(WasmProgram),
    /// A command for the system's shell.
    Native(NativeProgram),
    /// A program of the system, without a shell.
    Direct(DirectProgram),
}

/// A guest for the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WasmProgram {
    /// The binary format.
    pub format: WasmFormat,
    /// `argv`, the program's name first.
    pub argv: Vec<String>,
}

/// The two formats of a wasm binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WasmFormat {
    /// A component that exports `wasi:cli/run`.
    Component,
    /// A core module for WASI 0.1 ("preview 1"), which the standard adapter wraps.
    Core,
}

/// A native module as a command line, which Ansible would pass to `/bin/sh -c` on the target.
#[derive(Debug, Clone)]
pub struct NativeProgram {
    /// The shell command. Its words are quoted, and it names files by their absolute paths in the temporary directory.
    pub command: String,
}

/// A native program that the kernel starts with exactly these arguments, which need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectProgram {
    /// The absolute path of the program, or its name, which is looked up in `PATH`.
    pub path: PathBuf,
    /// `argv`, the program's name first.
    pub argv: Vec<OsString>,
}

/// A file that exists for one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// The file name without a folder.
    pub name: String,
    /// The content. It is not serialised: a channel sends it raw, with the message.
    #[serde(skip)]
    pub contents: Arc<[u8]>,
    /// The permission bits, for example `0o700`.
    pub mode: u32,
}
