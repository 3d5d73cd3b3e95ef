//! The host of a play: what the engine of tasks asks of this machine.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use modbox_contract::Value;
use modbox_tasks::files::PlayFiles;
use modbox_tasks::load::context::ActionNames;
use modbox_tasks::run::host::{ActionHost, HostError, HostErrorKind, ModuleCall, ModuleRun, Prompt, PromptError};

use crate::app::{Report, Status};
use crate::cli::context::Context;
use crate::cli::play::modules::{NotRun, TaskModules, TaskRun};
use crate::cli::play::names::ModuleNames;
use crate::cli::play::tree::PlayTree;
use crate::cli::play::{clock, terminal};

/// The host of a play.
pub(crate) struct PlayHost<'a> {
    context: &'a Context,
    names: &'a ModuleNames<'a>,
    tree: &'a PlayTree,
    modules: TaskModules<'a>,
}

impl<'a> PlayHost<'a> {
    /// Creates a host. Nothing is started yet.
    pub(crate) fn new(
        context: &'a Context,
        names: &'a ModuleNames<'a>,
        tree: &'a PlayTree,
        modules: TaskModules<'a>,
    ) -> Self {
        Self { context, names, tree, modules }
    }
}

impl ActionNames for PlayHost<'_> {
    fn is_known(&self, name: &str, collections: &[String]) -> bool {
        self.names.is_known(name, collections)
    }

    fn role_found(&self, path: &str) {
        self.names.role_found(path);
    }
}

impl ActionHost for PlayHost<'_> {
    fn run_module(&mut self, call: &ModuleCall) -> Result<ModuleRun, HostError> {
        let options = &call.options;
        let run = TaskRun {
            name: &call.name,
            args: call.args.clone(),
            check: options.check,
            diff: options.diff,
            no_log: options.no_log,
            verbosity: options.verbosity,
            environment: &options.environment,
            readable: Vec::new(),
            timeout: options.timeout.map(Duration::from_secs),
            collections: &options.collections,
            interpreter: None,
        };
        match self.modules.run(self.names, run) {
            Ok(report) => ended(report),
            Err(NotRun::Unknown(message)) => Err(HostError { message, kind: HostErrorKind::NotFound, report: None }),
            Err(NotRun::Internal(message)) => Err(HostError { message, kind: HostErrorKind::Internal, report: None }),
        }
    }

    fn files(&self) -> &dyn PlayFiles {
        self.tree
    }

    fn now(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn local_time(&self, time: Duration) -> String {
        clock::local_time(time)
    }

    fn sleep(&mut self, duration: Duration) {
        // A signal ends the process, and with it the play.
        std::thread::sleep(duration);
    }

    fn prompt(&mut self, prompt: &Prompt) -> Result<String, PromptError> {
        terminal::ask(prompt)
    }

    fn resolve(&self, name: &str, collections: &[String]) -> Option<String> {
        self.names.full_name(name, collections)
    }

    fn action_group(&self, group: &str) -> Option<Vec<String>> {
        self.names.action_group(group)
    }

    fn is_interrupted(&self) -> bool {
        self.context.cleanup.is_ending()
    }
}

/// Returns what a task gets of a run. A run that did not start is an error of the host.
fn ended(report: Report) -> Result<ModuleRun, HostError> {
    let kind = match (&report.error, report.status) {
        (Some(error), _) if error.is_internal() => Some(HostErrorKind::Internal),
        (Some(_), _) => Some(HostErrorKind::NotFound),
        (None, Status::Denied) => Some(HostErrorKind::Denied),
        (None, Status::Limit) => Some(HostErrorKind::Limit),
        (None, Status::Crashed) => Some(HostErrorKind::Crash),
        (None, _) => None,
    };
    let value = report.to_value();
    match kind {
        None => Ok(ModuleRun { result: report.result.into_dict(), report: value }),
        Some(kind) => {
            let message = report.result.as_dict().get("msg").and_then(Value::as_str).unwrap_or_default().to_owned();
            Err(HostError { message, kind, report: Some(value) })
        }
    }
}
