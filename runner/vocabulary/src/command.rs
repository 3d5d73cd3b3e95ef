//! A command that a guest asks for, and what comes back: plain data, so that the sandbox of guests knows nothing of whatever
//! runs the command, and that nothing of guests.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::denial::{Denial, DenialLog};
use crate::limits::{LimitHit, Limits};
use crate::outcome::Captured;

/// A command, as a guest asks for it. What of it is granted is for whoever runs it to check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRequest {
    /// The program: an absolute path, or a name.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables beside those that are granted.
    pub environment: Vec<(String, String)>,
    /// Where it starts; where native modules start, without.
    pub directory: Option<String>,
    /// The permissions that its files are not given.
    pub umask: Option<u32>,
    /// How much it may use, and how long it may take: what is left of the run's.
    pub limits: Limits,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandEnd {
    /// It exited, with this status.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// Its time was over.
    TimedOut,
    /// It passed a limit of the run's.
    Limit(LimitHit),
}

/// What a command that ran came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// How it ended.
    pub end: CommandEnd,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// Processor time of all of its processes.
    pub cpu_time: Duration,
    /// Memory of the largest of them.
    pub memory_bytes: u64,
    /// Bytes that it wrote to files.
    pub disk_bytes: u64,
    /// Files that it made.
    pub files: u64,
    /// What it tried and was refused.
    pub denials: DenialLog,
    /// What an operator should know of it.
    pub notes: Vec<String>,
}

/// Why a command did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandRefusal {
    /// Something of it is not granted.
    Denied(Denial),
    /// There is no such program.
    NotFound,
    /// What is there may not be executed.
    NotExecutable,
    /// The directory to start in is not there.
    NoDirectory,
    /// Its words are longer than the kernel takes.
    TooLong,
    /// It could not be started.
    Failed(String),
}

/// Runs commands for guests. Whoever implements it holds the policy, and runs nothing that this does not grant.
pub trait RunsCommands: Send + Sync {
    /// Runs a command to its end, or to its limits; all that it started is gone then.
    ///
    /// # Errors
    ///
    /// A command that is not granted or cannot be started.
    fn run(&self, request: &CommandRequest, stdin: &[u8]) -> Result<CommandOutput, CommandRefusal>;
}
