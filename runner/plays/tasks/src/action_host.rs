//! What the caller does for tasks: running modules, reading files, waiting and asking.
//!
//! Actions have no authority of their own. All that they do to the machine goes through this trait.

use std::sync::Arc;
use std::time::Duration;

use modbox_contract::RunModes;
use modbox_python_json::{Dict, Value};
use modbox_template::Provenance;
use serde::{Deserialize, Serialize};

use crate::files::{PlayFiles, SharedFiles};
use crate::load::context::ActionNames;
use crate::vars::interpreters::NamedInterpreter;

/// What the caller does for tasks.
pub trait ActionHost: ActionNames {
    /// Runs a module to its end, or starts it as a job if the call has a time limit for jobs.
    ///
    /// # Errors
    ///
    /// The module cannot be run at all. A module that ran and failed has a result.
    fn run_module(&mut self, call: &ModuleCall) -> Result<ModuleRun, HostError>;

    /// Returns whether a handler is to run after [`ActionHost::commit`]: the changes of the play are held back, and the
    /// handler may do more than change files. The call has no arguments.
    fn runs_after_commit(&mut self, _handler: &ModuleCall) -> bool {
        false
    }

    /// Makes the changes of a play that succeeded, if they are held back. Returns whether they are made, so that handlers that
    /// waited run.
    fn commit(&mut self) -> bool {
        true
    }

    /// Looks for resources of a provider of libral, or updates one. The call's name is that of the provider or of its type;
    /// its arguments are the resource's `name` and the attributes to set.
    ///
    /// # Errors
    ///
    /// The provider is unknown or cannot start. A provider that ran and failed has a result.
    fn manage_resource(&mut self, call: &ModuleCall) -> Result<ResourceRun, HostError> {
        let message = format!("failed to find the provider `{}`: this host has no providers", call.name);
        Err(HostError { message, kind: HostErrorKind::NotFound, report: None })
    }

    /// Asks about a job.
    ///
    /// # Errors
    ///
    /// The policy does not allow the folder of jobs, or the job's file cannot be read or removed.
    fn job(&mut self, _question: &JobQuestion<'_>) -> Result<JobState, HostError> {
        Ok(JobState::default())
    }

    /// Takes note of a secret of the play, so that it is not shown: an answer that was typed unseen, or a password. Hosts that
    /// follow releases before ansible-core 2.22 show it.
    fn register_secret(&self, _secret: &str) {}

    /// Returns the files of the play's tree.
    fn files(&self) -> &dyn PlayFiles;

    /// Returns the files of the play's tree, for templates that include others.
    fn shared_files(&self) -> SharedFiles;

    /// Returns the name of the machine.
    fn host_name(&self) -> String;

    /// Returns the home directory of a user, or of the one that runs modbox. `None`: the user is unknown.
    fn home(&self, _user: Option<&str>) -> Option<String> {
        None
    }

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
    /// Files that the action makes for it. The host writes them into the run's own directory, and grants them for
    /// reading; see [`ModuleCall::args_with_paths`].
    pub files: Vec<PrivateFile>,
    /// How it runs.
    pub options: ModuleOptions,
}

/// A file that an action makes for a run of a module, which is gone when the run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    /// The argument that gets its path: the name, and the keys that lead on in it.
    pub argument: Vec<String>,
    /// Where in the text of the argument the path is inserted, in bytes, ascending. Empty: the path is the argument.
    pub inserted_at: Vec<usize>,
    /// The name of the file.
    pub name: String,
    /// The content.
    pub content: Arc<[u8]>,
    /// The bits of the permissions.
    pub mode: u32,
}

impl ModuleCall {
    /// Returns the arguments with the paths of the call's files, which are in the same order.
    #[must_use]
    pub fn args_with_paths(&self, paths: &[String]) -> Dict {
        let mut args = self.args.clone();
        for (file, path) in self.files.iter().zip(paths) {
            let Some((name, rest)) = file.argument.split_first() else { continue };
            let mut place = args.entry(name.clone()).or_insert(Value::Null);
            for key in rest {
                if !matches!(place, Value::Dict(_)) {
                    *place = Value::Dict(Dict::new());
                }
                let Value::Dict(entries) = place else { break };
                place = entries.entry(key.clone()).or_insert(Value::Null);
            }
            *place = Value::from(file.inserted(place.as_str().unwrap_or_default(), path));
        }
        args
    }
}

impl PrivateFile {
    /// Returns the argument's text with the path in it.
    fn inserted(&self, text: &str, path: &str) -> String {
        if self.inserted_at.is_empty() {
            return path.to_owned();
        }
        let (mut whole, mut start) = (String::new(), 0);
        for &at in &self.inserted_at {
            whole.push_str(text.get(start..at).unwrap_or_default());
            whole.push_str(path);
            start = at;
        }
        whole.push_str(text.get(start..).unwrap_or_default());
        whole
    }
}

/// How a module runs.
#[derive(Debug, Clone, Default)]
pub struct ModuleOptions {
    /// Its modes.
    pub modes: RunModes,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
    /// The user that it runs as, if not the one that modbox runs as.
    pub become_user: Option<String>,
    /// How it runs as a job; `None` to run to the end.
    pub job: Option<JobOptions>,
    /// The limit of its run in seconds.
    pub timeout: Option<u64>,
    /// Programs to start instead of interpreters, as variables of the task name them.
    pub interpreters: Vec<NamedInterpreter>,
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

/// How a module runs as a job.
#[derive(Debug, Clone, Default)]
pub struct JobOptions {
    /// The limit of its run in seconds.
    pub limit: u64,
    /// Whether the task waits for the job. The end of the play ends such a job, too.
    pub is_followed: bool,
    /// The folder of jobs that the task's variables name, if they do.
    pub folder: Option<String>,
}

/// A question about a job.
#[derive(Debug, Clone, Copy)]
pub struct JobQuestion<'a> {
    /// The job's id.
    pub id: &'a str,
    /// The folder of jobs that the task's variables name, if they do.
    pub folder: Option<&'a str>,
    /// What is asked.
    pub wish: JobWish,
}

/// What is asked of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobWish {
    /// Its state.
    Status,
    /// Its state when it ends, or after a time.
    Wait(Duration),
    /// To forget it.
    Remove,
}

/// The state of a job. The default is that of a job that does not exist.
#[derive(Debug, Clone, Default)]
pub struct JobState {
    /// Whether there is such a job.
    pub is_known: bool,
    /// What its file says: the result of its module, if it ended.
    pub result: Dict,
    /// The path of its file.
    pub file: String,
    /// Whether it ended.
    pub is_finished: bool,
    /// The report of the run, if the task waited for it.
    pub report: Option<Value>,
    /// What stopped the run, if the task waited for it.
    pub failure: Option<HostErrorKind>,
}

/// A module's run.
#[derive(Debug, Clone, Default)]
pub struct ModuleRun {
    /// The result, as it was decoded.
    pub result: Dict,
    /// The report of the run.
    pub report: Value,
}

/// What a provider of libral was asked for a task, and answered.
#[derive(Debug, Clone, Default)]
pub struct ResourceRun {
    /// The result.
    pub result: Dict,
    /// The reports of its actions, in their order.
    pub reports: Vec<Value>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostErrorKind {
    /// The module cannot be found or loaded.
    NotFound,
    /// The policy denies something.
    Denied,
    /// A limit was reached.
    Limit,
    /// The task's own `timeout` ended the module.
    TimedOut,
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
    /// Keys of which one is the answer, without a line end, in lower case. Empty: the answer is a line.
    pub keys: &'static [char],
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptError {
    /// There is no terminal.
    NotInteractive,
    /// The person interrupted the question.
    Interrupted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_files_get_into_arguments() {
        let file = |argument: &[&str], inserted_at: &[usize]| PrivateFile {
            argument: argument.iter().map(|part| (*part).to_owned()).collect(),
            inserted_at: inserted_at.to_vec(),
            name: "f".to_owned(),
            content: Arc::default(),
            mode: 0o600,
        };
        let args = modbox_python_json::decode(r#"{"cmd": " x ; ", "body": {"a": {"filename": "f"}}}"#).unwrap();
        let call = ModuleCall {
            args: args.as_dict().unwrap().clone(),
            files: vec![file(&["src"], &[]), file(&["cmd"], &[0, 5]), file(&["body", "a", "filename"], &[])],
            ..ModuleCall::default()
        };
        let found = call.args_with_paths(&["/1".to_owned(), "/2".to_owned(), "/3".to_owned()]);
        let expect = r#"{"cmd": "/2 x ; /2", "body": {"a": {"filename": "/3"}}, "src": "/1"}"#;
        assert_eq!(modbox_python_json::encode_dict(&found), expect);
    }
}
