//! The host of a play: what the engine of tasks asks of this machine.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use modbox_contract::{Release, Value};
use modbox_jinja::SecretKeeper as _;
use modbox_policy::TaskNames;
use modbox_scratch::ScratchRoot;
use modbox_tasks::explain::fake_result;
use modbox_tasks::files::{PlayFiles, SharedFiles};
use modbox_tasks::load::context::ActionNames;
use modbox_tasks::model::task::Args;
use modbox_tasks::python_plugins::PluginKind;
use modbox_tasks::run::host::{
    ActionHost, HostError, HostErrorKind, JobQuestion, JobState, ModuleCall, ModuleOptions, ModuleRun, Prompt,
    PromptError, ResourceRun,
};

use crate::cli::asking::session::Session;
use crate::cli::context::Context;
use crate::cli::layered_play::SharedLayeredPlay;
use crate::cli::play::clock;
use crate::cli::play::explained_call::ExplainedCall;
use crate::cli::play::files::tree::PlayTree;
use crate::cli::play::learning::SharedLearning;
use crate::cli::play::lookup_host::host_name;
use crate::cli::play::managers;
use crate::cli::play::play_secrets::{self, PlaySecrets};
use crate::cli::play::task_modules::argument_trust::ArgumentTrust;
use crate::cli::play::task_modules::interpreters;
use crate::cli::play::task_modules::modules::TaskModules;
use crate::cli::play::task_modules::names::ModuleNames;
use crate::cli::play::task_modules::play_jobs::PlayJobs;
use crate::cli::play::task_modules::private_files::PrivateFolders;
use crate::cli::play::task_modules::requested_run::RequestedRun;
use crate::cli::play::task_modules::resources::{ResourceError, TaskResources};
use crate::cli::play::task_modules::run_end;
use crate::cli::play::task_modules::task_start::{NotRun, TaskStart};
use crate::cli::terminal;

pub(crate) struct PlayHost<'a> {
    context: &'a Context,
    names: &'a ModuleNames<'a>,
    tree: &'a Arc<PlayTree>,
    modules: TaskModules<'a>,
    resources: TaskResources<'a>,
    jobs: PlayJobs<'a>,
    trust: ArgumentTrust,
    folders: PrivateFolders,
    release: Release,
    /// Keeps secrets of the play; `None` for releases in which it has none.
    secrets: Option<PlaySecrets>,
    /// The runs that were explained instead of started; `None` to start them.
    explained: Option<ExplainedCalls>,
}

/// Runs of modules that were explained.
pub(crate) type ExplainedCalls = Rc<RefCell<Vec<ExplainedCall>>>;

impl<'a> PlayHost<'a> {
    /// Creates a host. Nothing is started yet.
    pub(crate) fn new(
        context: &'a Context,
        names: &'a ModuleNames<'a>,
        tree: &'a Arc<PlayTree>,
        modules: TaskModules<'a>,
        resources: TaskResources<'a>,
        trust: ArgumentTrust,
        release: Release,
    ) -> Self {
        let scratch = ScratchRoot::new(&context.environment.temp_dir, context.cleanup.clone());
        let folders = PrivateFolders::new(scratch);
        let jobs = PlayJobs::new(context, modules.policy().clone());
        let secrets = PlaySecrets::of(release);
        Self { context, names, tree, modules, resources, jobs, trust, folders, release, secrets, explained: None }
    }

    /// Makes all runs work on the layers of a play.
    pub(crate) fn set_layered(&mut self, layered: SharedLayeredPlay<'a>) {
        self.modules.set_layered(layered);
    }

    /// Makes a person be asked for what modules lack.
    pub(crate) fn set_asking(&mut self, session: Session<'a>) {
        self.modules.set_asking(session);
    }

    /// Makes the host observe native modules, and learn from all runs.
    pub(crate) fn learn(&mut self, learning: SharedLearning) {
        self.modules.set_learning(learning);
    }

    /// Makes the host explain runs instead of starting them. Returns where they are listed.
    pub(crate) fn explain(&mut self) -> ExplainedCalls {
        Rc::clone(self.explained.get_or_insert_default())
    }
}

/// Returns the names of a task. The one that banners show has the role's in it.
fn task_names(options: &ModuleOptions) -> TaskNames {
    let role = options.role_name.clone();
    let own = role.as_ref().and_then(|role| options.task_name.strip_prefix(role.as_str())?.strip_prefix(" : "));
    TaskNames { name: own.unwrap_or(&options.task_name).to_owned(), role }
}

impl ActionNames for PlayHost<'_> {
    fn is_known(&self, name: &str, collections: &[String]) -> bool {
        self.names.is_known(name, collections)
    }

    fn python_plugin(&self, name: &str, collections: &[String], args: &Args) -> Option<String> {
        self.names.python_plugin(name, collections, args)
    }

    fn plugin_failure(&self, kind: PluginKind, name: &str, file: Option<&str>) -> Option<String> {
        self.names.plugin_failure(kind, name, file)
    }

    fn folder_found(&self, path: &str) {
        self.names.folder_found(path);
    }
}

impl PlayHost<'_> {
    /// Returns the run that a call asks for, with its arguments as they are.
    fn requested_run<'c>(&self, call: &'c ModuleCall) -> RequestedRun<'c> {
        let options = &call.options;
        RequestedRun {
            name: &call.name,
            args: call.args.clone(),
            modes: options.modes,
            release: self.release,
            environment: &options.environment,
            own_files: Vec::new(),
            timeout: options.timeout.map(Duration::from_secs),
            collections: &options.collections,
            become_user: options.become_user.as_deref(),
            interpreters: Default::default(),
            names: task_names(options),
            origins: Vec::new(),
            ..RequestedRun::default()
        }
    }

    /// Waits for the end of this process if a signal ends it: the run was ended, too, which is not the fault of its task.
    fn stay_if_ending(&self) {
        while self.context.cleanup.is_ending() {
            std::thread::park();
        }
    }
}

impl ActionHost for PlayHost<'_> {
    fn run_module(&mut self, call: &ModuleCall) -> Result<ModuleRun, HostError> {
        let options = &call.options;
        let interpreters =
            interpreters::allowed(&options.interpreters, self.modules.policy(), &self.modules.python().search_path)?;
        // A job writes its files itself, since they stay as long as it runs.
        let files = if options.job.is_some() { &[][..] } else { &call.files };
        let private = self.folders.write(files, options.become_user.as_deref());
        let private = private.map_err(|error| host_error(HostErrorKind::Internal, error.to_string()))?;
        let run = RequestedRun {
            args: call.args_with_paths(&private.shown()),
            own_files: private.paths.clone(),
            interpreters,
            origins: self.trust.origins(call),
            job_limit: options.job.as_ref().map(|job| Duration::from_secs(job.limit)),
            ..self.requested_run(call)
        };
        if let Some(explained) = &self.explained {
            explained.borrow_mut().push(self.modules.explain(self.names, run));
            let mut result = fake_result(&call.name);
            if let Some(Value::Dict(facts)) = result.get_mut("ansible_facts") {
                facts.extend(managers::facts());
            }
            return Ok(ModuleRun { result, report: Value::from(call.name.as_str()) });
        }
        let Some(job) = &options.job else {
            let ran = self.modules.run(self.names, run);
            self.folders.take_back(private);
            self.stay_if_ending();
            return ran.map_err(not_run).and_then(|report| run_end::module_run(report, options));
        };
        match self.modules.job(self.names, run, &call.files).map_err(not_run)? {
            TaskStart::Refused(report) => run_end::module_run(*report, options),
            TaskStart::Job(order) => {
                let result = self.jobs.start(&order, job.folder.as_deref(), job.is_followed)?;
                Ok(ModuleRun { result, report: Value::Null })
            }
        }
    }

    fn runs_after_commit(&mut self, call: &ModuleCall) -> bool {
        self.modules.runs_after_commit(self.names, &self.requested_run(call))
    }

    fn commit(&mut self) -> bool {
        self.modules.commit()
    }

    fn job(&mut self, question: &JobQuestion<'_>) -> Result<JobState, HostError> {
        self.jobs.answer(question)
    }

    fn manage_resource(&mut self, call: &ModuleCall) -> Result<ResourceRun, HostError> {
        let options = &call.options;
        let folders = options.role_path.iter().chain([&options.play_folder]);
        let folders: Vec<&Path> = folders.map(Path::new).collect();
        let interpreters =
            interpreters::allowed(&options.interpreters, self.modules.policy(), &self.modules.python().search_path)?;
        if self.explained.is_some() {
            let message = "a provider is not explained before it runs; see `modbox resource --explain TYPE`";
            return Ok(run_end::failed_resource(message.to_owned()));
        }
        let run = RequestedRun { interpreters, origins: self.trust.origins(call), ..self.requested_run(call) };
        let managed = self.resources.manage(&mut self.modules, &run, &folders);
        self.stay_if_ending();
        match managed {
            Ok(managed) => run_end::resource_run(managed, options),
            Err(ResourceError::Invalid(message)) => Ok(run_end::failed_resource(message)),
            Err(ResourceError::Unknown(message)) => Err(host_error(HostErrorKind::NotFound, message)),
            Err(ResourceError::NotRun(error)) => Err(not_run(error)),
        }
    }

    fn home(&self, user: Option<&str>) -> Option<String> {
        match user {
            None => self.context.environment.variable("HOME").and_then(|home| home.to_str()).map(str::to_owned),
            Some(user) => crate::cli::surroundings::home_of(user),
        }
    }

    fn register_secret(&self, secret: &str) {
        if let Some(secrets) = self.secrets {
            secrets.register(secret);
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
        terminal::ask(&self.context.cleanup, &Prompt { text: play_secrets::masked(&prompt.text), ..prompt.clone() })
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

fn not_run(reason: NotRun) -> HostError {
    match reason {
        NotRun::Unknown(message) => host_error(HostErrorKind::NotFound, message),
        NotRun::Refused(message) => host_error(HostErrorKind::Denied, message),
        NotRun::Internal(message) => host_error(HostErrorKind::Internal, message),
    }
}

fn host_error(kind: HostErrorKind, message: String) -> HostError {
    HostError { message, kind, report: None }
}
