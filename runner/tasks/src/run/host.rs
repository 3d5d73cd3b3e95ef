//! What the caller does for tasks: running modules, reading files, waiting and asking.
//!
//! Actions have no authority of their own. All that they do to the machine goes through this trait.

use std::time::Duration;

use modbox_python_json::{Dict, Value};
use modbox_template::Provenance;

use crate::files::PlayFiles;
use crate::load::context::ActionNames;

/// What the caller does for tasks.
pub trait ActionHost: ActionNames {
    /// Runs a module to its end, or starts it as a job if the call has a time limit for jobs.
    ///
    /// # Errors
    ///
    /// The module cannot be run at all. A module that ran and failed has a result.
    fn run_module(&mut self, call: &ModuleCall) -> Result<ModuleRun, HostError>;

    /// Returns the files of the play's tree.
    fn files(&self) -> &dyn PlayFiles;

    /// Returns the time since the Unix epoch.
    fn now(&self) -> Duration;

    /// Returns a time as local date and time: `2026-11-24 05:45:14.741352`.
    fn local_time(&self, time: Duration) -> String;

    /// Waits. Returns early if the run is interrupted.
    fn sleep(&mut self, duration: Duration);

    /// Asks the person at the terminal.
    ///
    /// # Errors
    ///
    /// There is no terminal, or the answer is an interruption.
    fn prompt(&mut self, prompt: &Prompt) -> Result<String, PromptError>;

    /// Returns the full name of the action or module that a name means.
    fn resolve(&self, name: &str, collections: &[String]) -> Option<String>;

    /// Returns the full names of the actions of a group, such as `aws` or `community.general.proxmox`.
    fn action_group(&self, group: &str) -> Option<Vec<String>>;

    /// Says whether the run was interrupted, so that no further task starts.
    fn is_interrupted(&self) -> bool {
        false
    }
}

/// A call of a module.
#[derive(Debug, Clone, Default)]
pub struct ModuleCall {
    /// The name, as the task or the action gives it.
    pub name: String,
    /// The arguments, without internal ones.
    pub args: Dict,
    /// Where the arguments come from, by their names.
    pub provenance: Vec<(String, Provenance)>,
    /// How it runs.
    pub options: ModuleOptions,
}

/// How a module runs.
#[derive(Debug, Clone, Default)]
pub struct ModuleOptions {
    /// Whether it may change nothing.
    pub check: bool,
    /// Whether it reports differences.
    pub diff: bool,
    /// Whether its arguments and result are secret.
    pub no_log: bool,
    /// The number of `-v`.
    pub verbosity: u8,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
    /// The user that it runs as, if not the one that modbox runs as.
    pub become_user: Option<String>,
    /// The limit of a job's run in seconds; `None` to run to the end.
    pub job_limit: Option<u64>,
    /// The limit of its run in seconds.
    pub timeout: Option<u64>,
    /// Collections in which its name is looked up.
    pub collections: Vec<String>,
    /// The folder of the task's role.
    pub role_path: Option<String>,
    /// The folder of the playbook, which is the working directory.
    pub play_folder: String,
    /// Where the task is written, for reports.
    pub task: String,
    /// The task's name, for policies by task.
    pub task_name: String,
    /// The role's name, for policies by role.
    pub role_name: Option<String>,
}

/// A module's run.
#[derive(Debug, Clone, Default)]
pub struct ModuleRun {
    /// The result, as it was decoded.
    pub result: Dict,
    /// The report of the run.
    pub report: Value,
}

/// A failure to run a module.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// What failed.
    pub message: String,
    /// The kind of failure, for the exit status.
    pub kind: HostErrorKind,
    /// The report of the run, if there is one.
    pub report: Option<Value>,
}

/// Kinds of failures to run a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostErrorKind {
    /// The module cannot be found or loaded.
    NotFound,
    /// The policy denies something.
    Denied,
    /// A limit was reached.
    Limit,
    /// The module crashed.
    Crash,
    /// modbox itself failed.
    Internal,
}

/// A question for the person at the terminal.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    /// The question.
    pub text: String,
    /// Whether the answer is not shown.
    pub private: bool,
    /// The time after which there is an empty answer. Then keys do not end it.
    pub timeout: Option<Duration>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptError {
    /// There is no terminal.
    NotInteractive,
    /// The person interrupted the question.
    Interrupted,
}
