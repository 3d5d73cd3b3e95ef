//! The host of a play: what the engine of tasks asks of this machine.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use modbox_contract::Value;
use modbox_policy::find_user;
use modbox_scratch::{DirPurpose, Scratch, ScratchRoot};
use modbox_tasks::files::{PlayFiles, SharedFiles};
use modbox_tasks::load::context::ActionNames;
use modbox_tasks::run::host::{
    ActionHost, HostError, HostErrorKind, ModuleCall, ModuleOptions, ModuleRun, PrivateFile, Prompt, PromptError,
    ResourceRun,
};
use modbox_vocabulary::error_chain;

use crate::app::{Managed, Report, Status};
use crate::cli::context::Context;
use crate::cli::play::lookup_host::host_name;
use crate::cli::play::modules::{NotRun, TaskModules, TaskRun};
use crate::cli::play::names::ModuleNames;
use crate::cli::play::resources::{ResourceError, TaskResources};
use crate::cli::play::tree::PlayTree;
use crate::cli::play::{clock, terminal};

/// The host of a play.
pub(crate) struct PlayHost<'a> {
    context: &'a Context,
    names: &'a ModuleNames<'a>,
    tree: &'a Arc<PlayTree>,
    modules: TaskModules<'a>,
    resources: TaskResources<'a>,
    scratch: ScratchRoot,
}

impl<'a> PlayHost<'a> {
    /// Creates a host. Nothing is started yet.
    pub(crate) fn new(
        context: &'a Context,
        names: &'a ModuleNames<'a>,
        tree: &'a Arc<PlayTree>,
        modules: TaskModules<'a>,
        resources: TaskResources<'a>,
    ) -> Self {
        let scratch = ScratchRoot::new(&context.environment.temp_dir, context.cleanup.clone());
        Self { context, names, tree, modules, resources, scratch }
    }
}

/// Files that an action made for a run. They are removed when this is dropped.
#[derive(Default)]
struct PrivateFiles {
    paths: Vec<PathBuf>,
    _folder: Option<Scratch>,
}

impl PlayHost<'_> {
    /// Writes the files that an action made for a run into a directory of their own.
    /// The directory belongs to the user that the run becomes, so that no other one can read them.
    fn private_files(&self, files: &[PrivateFile], become_user: Option<&str>) -> Result<PrivateFiles, HostError> {
        if files.is_empty() {
            return Ok(PrivateFiles::default());
        }
        let failed = |cause: String| HostError {
            message: format!("failed to write a file for the module: {cause}"),
            kind: HostErrorKind::Internal,
            report: None,
        };
        let user = become_user.map(find_user).transpose().map_err(|error| failed(error.to_string()))?.flatten();
        let scratch = self.scratch.create(DirPurpose::Run, user.as_ref());
        let scratch = scratch.map_err(|error| failed(error_chain(&error)))?;
        let readable = if user.is_some() { 0o444 } else { 0 };
        let folder = Dir::open_ambient_dir(scratch.path(), ambient_authority());
        let folder = folder.map_err(|error| failed(error.to_string()))?;
        let mut paths = Vec::new();
        for (number, file) in files.iter().enumerate() {
            // Several files of a run may have one name.
            let name = if number == 0 { file.name.clone() } else { format!("{number}-{}", file.name) };
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(file.mode | readable);
            let written = folder.open_with(&name, &options).and_then(|mut open| open.write_all(&file.content));
            written.map_err(|error| failed(error.to_string()))?;
            paths.push(scratch.path().join(name));
        }
        Ok(PrivateFiles { paths, _folder: Some(scratch) })
    }
}

/// Refuses what a run for a task cannot do yet, so that nothing is ignored silently.
fn refuse_unsupported(options: &ModuleOptions) -> Result<(), HostError> {
    let refused = |message: &str| HostError { message: message.to_owned(), kind: HostErrorKind::Denied, report: None };
    if options.job_limit.is_some() {
        return Err(refused(
            "`async` with `poll: 0` is not supported: the job would outlive its sandbox's monitor; use a `poll` above 0",
        ));
    }
    Ok(())
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
        refuse_unsupported(options)?;
        let private = self.private_files(&call.files, options.become_user.as_deref())?;
        let paths: Vec<String> = private.paths.iter().map(|path| path.display().to_string()).collect();
        let run = TaskRun { args: call.args_with_paths(&paths), readable: private.paths.clone(), ..task_run(call) };
        self.modules.run(self.names, run).map_err(not_run).and_then(ended)
    }

    fn manage_resource(&mut self, call: &ModuleCall) -> Result<ResourceRun, HostError> {
        let options = &call.options;
        refuse_unsupported(options)?;
        let folders = options.role_path.iter().chain([&options.play_folder]);
        let folders: Vec<&Path> = folders.map(Path::new).collect();
        let managed = self.resources.manage(&mut self.modules, &task_run(call), &folders);
        match managed {
            Ok(Managed { result: Some(result), reports }) => {
                Ok(ResourceRun { result, reports: reports.iter().map(Report::to_value).collect() })
            }
            Ok(Managed { result: None, mut reports }) => {
                let last = reports.pop().map(ended).transpose()?.unwrap_or_default();
                let reports = reports.iter().map(Report::to_value).chain([last.report]).collect();
                Ok(ResourceRun { result: last.result, reports })
            }
            Err(ResourceError::Invalid(message)) => {
                let entries = [("failed", Value::Bool(true)), ("msg", message.into()), ("changed", false.into())];
                let result = entries.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
                Ok(ResourceRun { result, reports: Vec::new() })
            }
            Err(ResourceError::Unknown(message)) => {
                Err(HostError { message, kind: HostErrorKind::NotFound, report: None })
            }
            Err(ResourceError::NotRun(error)) => Err(not_run(error)),
        }
    }

    fn files(&self) -> &dyn PlayFiles {
        &**self.tree
    }

    fn shared_files(&self) -> SharedFiles {
        Arc::clone(self.tree) as SharedFiles
    }

    fn host_name(&self) -> String {
        host_name()
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

/// Returns the run that a call asks for, with its arguments as they are.
fn task_run(call: &ModuleCall) -> TaskRun<'_> {
    let options = &call.options;
    TaskRun {
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
        become_user: options.become_user.as_deref(),
        interpreter: None,
    }
}

fn not_run(error: NotRun) -> HostError {
    let (message, kind) = match error {
        NotRun::Unknown(message) => (message, HostErrorKind::NotFound),
        NotRun::Internal(message) => (message, HostErrorKind::Internal),
    };
    HostError { message, kind, report: None }
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
