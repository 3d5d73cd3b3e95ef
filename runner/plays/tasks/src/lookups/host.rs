//! What the caller does for lookups that act. It decides by its policy.

use std::sync::Arc;
use std::time::Duration;

use modbox_jinja::values::Moment;
use modbox_python_json::Value;
use modbox_template::LookupError;

use crate::files::SharedFiles;

/// What the caller does for lookups.
pub trait LookupHost: Send + Sync {
    /// Returns the files of the play's tree, and those that the policy grants for reading.
    fn files(&self) -> SharedFiles;

    /// Returns a variable of the environment; `None` if it is not set.
    ///
    /// # Errors
    ///
    /// The policy does not allow it.
    fn variable(&self, name: &str) -> Result<Option<String>, LookupFailure>;

    /// Runs a command line in a shell to its end, confined.
    ///
    /// # Errors
    ///
    /// The policy does not allow it, a limit was reached, or the command cannot be started.
    fn run_command(&self, command: &ShellCommand<'_>) -> Result<CommandOutput, LookupFailure>;

    /// Writes a file with a mode. Missing folders are made with the mode 0700.
    ///
    /// # Errors
    ///
    /// The policy does not allow it, or the file cannot be written.
    fn write_file(&self, path: &str, content: &[u8], mode: u32) -> Result<(), LookupFailure>;

    /// Returns a number of which every bit is random, fit for secrets.
    ///
    /// # Errors
    ///
    /// The source of random numbers fails.
    fn random(&self) -> Result<u64, LookupFailure>;

    /// Returns the time since the Unix epoch.
    fn now(&self) -> Duration;

    /// Returns a time as date and time of the host's zone; `None` outside the years 1 to 9999.
    fn local_time(&self, time: Duration) -> Option<Moment>;

    /// Returns the value of a setting of Ansible that the operator has set, and what sets it.
    fn setting(&self, _name: &str) -> Option<(Value, String)> {
        None
    }

    /// Returns the name of the machine.
    fn host_name(&self) -> String;

    /// Takes note of a secret that a lookup made or read, so that it is not shown. Hosts that follow releases before
    /// ansible-core 2.22 show it.
    fn register_secret(&self, secret: &str);

    /// Shows a warning.
    fn warn(&self, text: &str);
}

/// A host that lookups share.
pub type SharedHost = Arc<dyn LookupHost>;

/// A command line for a shell.
#[derive(Debug, Clone, Copy)]
pub struct ShellCommand<'a> {
    /// The command line.
    pub line: &'a str,
    /// The working directory.
    pub folder: &'a str,
}

/// A command that ran.
#[derive(Debug, Clone, Default)]
pub struct CommandOutput {
    /// The exit status; negative: the number of the signal that ended it.
    pub status: i32,
    /// The standard output.
    pub stdout: Vec<u8>,
}

/// A failure of the host to do what a lookup asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupFailure {
    /// The policy does not allow it.
    #[error("failed to {action}: the policy does not allow it; allow it with `{switch}`")]
    Denied {
        /// What the lookup asked for, such as ``read the variable `TOKEN` ``.
        action: String,
        /// The switch that allows it.
        switch: String,
    },
    /// It was tried, and failed.
    #[error("{0}")]
    Failed(String),
}

impl From<LookupFailure> for LookupError {
    fn from(failure: LookupFailure) -> Self {
        let text = failure.to_string();
        match failure {
            LookupFailure::Denied { .. } => Self::Denied(text),
            LookupFailure::Failed(_) => Self::Failed(text),
        }
    }
}
