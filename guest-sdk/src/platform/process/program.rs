//! A program to run, its result, and the errors of starting it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A program to run.
#[derive(Debug, Default)]
#[cfg_attr(
    all(target_family = "wasm", not(feature = "host-commands")),
    expect(dead_code, reason = "there are no commands there")
)]
pub(crate) struct Request {
    /// The program and its arguments; never empty.
    pub(crate) words: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) path_prefix: Option<String>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) input: Vec<u8>,
    pub(crate) umask: Option<u32>,
    pub(crate) timeout: Option<Duration>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    not(all(target_family = "wasm", feature = "host-commands")),
    allow(dead_code, reason = "limits are the sandbox's")
)]
pub(crate) enum Ending {
    Exited(i64),
    Signalled(i64),
    TimedOut,
    Limit(String),
}

/// The end and the output of a program.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) ending: Ending,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Whether some of the output was dropped.
    pub(crate) cut: bool,
}

/// Why a program did not run.
#[derive(Debug)]
#[cfg_attr(
    not(all(target_family = "wasm", feature = "host-commands")),
    allow(dead_code, reason = "policies are the sandbox's")
)]
pub(crate) enum NotRun {
    /// The system's message, with its error number if there is one.
    System(Option<i32>, String),
    /// The runner's policy refused it.
    Policy(String),
}

impl From<io::Error> for NotRun {
    fn from(error: io::Error) -> Self {
        Self::System(error.raw_os_error(), error.to_string())
    }
}
