//! Other programs: started as they are in a build for a Unix host, asked for by `modbox:host/process` in a component with the feature
//! `host-commands`. Elsewhere there are none.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(all(not(unix), target_family = "wasm", feature = "host-commands"), path = "component.rs")]
#[cfg_attr(all(not(unix), not(all(target_family = "wasm", feature = "host-commands"))), path = "nowhere.rs")]
mod here;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use self::here::{AVAILABLE, run};

/// What to run.
#[derive(Debug, Default)]
#[cfg_attr(
    all(target_family = "wasm", not(feature = "host-commands")),
    expect(dead_code, reason = "nobody runs it there")
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

/// How it ended.
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

/// What it came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) ending: Ending,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Some of the output was dropped.
    pub(crate) cut: bool,
}

/// Why it did not run.
#[derive(Debug)]
#[cfg_attr(
    not(all(target_family = "wasm", feature = "host-commands")),
    allow(dead_code, reason = "policies are the sandbox's")
)]
pub(crate) enum NotRun {
    /// What the system says, with its number if it has one.
    System(Option<i32>, String),
    /// The runner's policy.
    Policy(String),
}

impl From<io::Error> for NotRun {
    fn from(error: io::Error) -> Self {
        Self::System(error.raw_os_error(), error.to_string())
    }
}
