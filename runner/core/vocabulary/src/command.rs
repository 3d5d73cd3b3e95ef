//! A guest's request to run a command, and the reply: plain data, so that the sandbox of guests and the code that runs
//! commands do not depend on each other.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::denial::{Denial, DenialLog};
use crate::limits::{LimitHit, Limits};
use crate::lost::LostChange;
use crate::outcome::CapturedOutput;

/// A guest's request to run a command. The implementation of [`CommandService`] checks that it is granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRequest {
    /// The program: an absolute path, or a name.
    pub program: String,
    /// The arguments after the program's name, each as the program gets it.
    pub arguments: Vec<String>,
    /// Variables in addition to the granted ones.
    pub environment: Vec<(String, String)>,
    /// The working directory; `None` stands for that of native modules.
    pub directory: Option<String>,
    /// The permission bits that its new files do not get.
    pub umask: Option<u32>,
    /// The directory on the host that the guest sees as `/tmp`, for the command's `/tmp`. A worker names it, so the
    /// implementation checks it.
    pub temporary: Option<PathBuf>,
    /// The limits of the command: what the run has left, and no more time than [`Self::patience`].
    pub limits: Limits,
    /// How long the guest waits for the command, if it says so.
    pub patience: Option<Duration>,
}

impl CommandRequest {
    /// Returns the request with at most this much time for the command.
    #[must_use]
    pub fn within(mut self, left: Duration) -> Self {
        self.limits.timeout = self.limits.timeout.min(left);
        self
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandEnd {
    /// It exited with this status.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It ran out of time.
    TimedOut,
    /// It exceeded a limit of the run.
    Limit(LimitHit),
}

/// The result of a command that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// How it ended.
    pub end: CommandEnd,
    /// The standard output.
    pub stdout: CapturedOutput,
    /// The standard error.
    pub stderr: CapturedOutput,
    /// Processor time of all its processes.
    pub cpu_time: Duration,
    /// Memory of its largest process.
    pub memory_bytes: u64,
    /// Bytes that it wrote to files.
    pub disk_bytes: u64,
    /// Number of files that it created.
    pub files: u64,
    /// The operations that were denied.
    pub denials: DenialLog,
    /// Changes of granted paths that did not reach the machine.
    pub lost: Vec<LostChange>,
    /// Messages for the operator.
    pub notes: Vec<String>,
    /// The time that does not count for the run's time limit: all of a command outside.
    pub paused: Duration,
}

/// The reason why a command did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandRefusal {
    /// The command is not granted.
    Denied(Denial),
    /// The program does not exist.
    NotFound,
    /// The file is not executable.
    NotExecutable,
    /// The working directory does not exist.
    NoDirectory,
    /// The arguments and variables exceed the kernel's limit.
    TooLong,
    /// The start failed.
    Failed(String),
}

/// A runner of commands for guests. An implementation holds the policy and runs only granted commands.
pub trait CommandService: Send + Sync {
    /// Runs a command until it ends or reaches a limit. All processes that it started have ended by then, unless it ran outside.
    /// `guest` hangs up when the process of the guest is gone, if that is another one than this.
    ///
    /// # Errors
    ///
    /// A command that is not granted or fails to start.
    fn run(
        &self,
        request: &CommandRequest,
        stdin: &[u8],
        guest: Option<BorrowedFd<'_>>,
    ) -> Result<CommandOutput, CommandRefusal>;
}
