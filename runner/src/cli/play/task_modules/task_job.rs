//! The run of a module for a task, as a job: what the play hands to the job's monitor, and the run itself.
//!
//! The play admits the run, so its grants are those that the task would have without `async`. The monitor gets them ready
//! made, and the job can use nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use modbox_contract::{Dict, Release, RunModes, Value, decode, encode};
use modbox_policy::{Designated, Policy, TrustStanding};
use modbox_run::batch::{Job, JobOptions};
use modbox_run::jobs::order::{FinishedRun, RunSummary};
use modbox_run::{Arguments, Module, PythonConfig, RunRequest, Runner};
use modbox_scratch::ScratchRoot;
use modbox_tasks::run::host::{HostErrorKind, ModuleCall, PrivateFile};
use modbox_vocabulary::Limits;
use serde::{Deserialize, Serialize};

use crate::cli::audit::Audit;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::identity::Identity;
use crate::cli::play::task_modules::private_files::{self, PrivateFolders};
use crate::cli::play::task_modules::run_end;
use crate::cli::printing::job_summary;
use crate::cli::runner::{cache_of_user, runner};

/// The run of a module for a task, as a job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TaskJob {
    /// The module's file.
    pub(crate) file: PathBuf,
    /// Its digest, with all its parts, when the run was admitted.
    pub(crate) digest: String,
    /// Its name in reports.
    pub(crate) name: String,
    /// Its name in its own messages.
    pub(crate) task_name: String,
    /// The arguments, as JSON.
    pub(crate) args: String,
    pub(crate) modes: RunModes,
    /// The release whose contract applies.
    pub(crate) release: Release,
    /// The grants of the run, with the paths that its arguments name.
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
    /// Programs to start instead of an interpreter.
    pub(crate) interpreters: BTreeMap<String, String>,
    /// Where Python's modules and utilities are.
    pub(crate) python: PythonConfig,
    /// Files that the action made for the run.
    pub(crate) files: Vec<JobFile>,
}

/// A file that an action made for the run of a job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JobFile {
    argument: Vec<String>,
    inserted_at: Vec<usize>,
    name: String,
    content: Vec<u8>,
    mode: u32,
}

/// What the play hears when a job ends that it follows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TaskJobEnd {
    /// The report of the run, as JSON.
    pub(crate) report: Option<String>,
    /// What stopped the run.
    pub(crate) failure: Option<HostErrorKind>,
}

impl From<&PrivateFile> for JobFile {
    fn from(file: &PrivateFile) -> Self {
        let PrivateFile { argument, inserted_at, name, content, mode } = file.clone();
        Self { argument, inserted_at, name, content: content.to_vec(), mode }
    }
}

impl From<JobFile> for PrivateFile {
    fn from(file: JobFile) -> Self {
        let JobFile { argument, inserted_at, name, content, mode } = file;
        Self { argument, inserted_at, name, content: content.into(), mode }
    }
}

impl TaskJobEnd {
    /// Returns the end of a job that modbox failed to run.
    pub(crate) fn internal() -> Self {
        Self { report: None, failure: Some(HostErrorKind::Internal) }
    }

    /// Returns the message for the play.
    pub(crate) fn encode(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the message of a monitor. A message that cannot be read is a failure of modbox.
    pub(crate) fn decode(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self::internal())
    }
}

impl TaskJob {
    /// Returns the message for the job's monitor.
    ///
    /// # Errors
    ///
    /// A path is not UTF-8.
    pub(crate) fn encode(&self) -> anyhow::Result<String> {
        serde_json::to_string(self).context("failed to write down the job")
    }

    /// Reads the message for a job's monitor.
    ///
    /// # Errors
    ///
    /// It is not such a message.
    pub(crate) fn decode(text: &str) -> anyhow::Result<Self> {
        serde_json::from_str(text).context("failed to read what the job does")
    }

    /// Runs the module.
    ///
    /// # Errors
    ///
    /// The module is not the one that was admitted, or the run cannot be audited.
    pub(crate) fn perform(mut self, context: &Context) -> Result<FinishedRun, Failure> {
        let scratch = ScratchRoot::new(&context.environment.temp_dir, context.cleanup.clone());
        let files: Vec<PrivateFile> = std::mem::take(&mut self.files).into_iter().map(PrivateFile::from).collect();
        let user = self.policy.user().map(|user| user.name.clone());
        let private = PrivateFolders::new(scratch).write(&files, user.as_deref()).or_internal()?;
        self.policy.allow_paths(private_files::grants(&private.paths)).or_usage()?;
        // The play granted what the arguments name.
        self.policy.set_designated(Designated::None);
        let call = ModuleCall { args: self.args()?, files, ..ModuleCall::default() };
        let args = call.args_with_paths(&private.shown());
        let runner = runner(context, None, self.python.clone());
        let module = self.module(context, &runner)?;
        self.policy.set_trust(TrustStanding { digest: Some(self.digest.clone()), ..TrustStanding::default() });
        let job = self.job(args);
        let internal = Box::new(job.internal_args(&self.task_name));
        let arguments = Arguments::Task { args: job.args.clone(), internal };
        let new = RunRequest::new(&self.name, arguments, &self.policy, &self.limits);
        let request = RunRequest { interpreters: &self.interpreters, open_files: self.modes.open_files, ..new };
        let audit = Audit::open(&self.policy)?;
        audit.check(&self.policy)?;
        let pending = audit.start(context, &module, &request)?;
        let mut report = runner.run(&module, &request);
        run_end::settle_invocation(&mut report, self.modes.repeats_arguments);
        drop(runner);
        let audited = pending.finish(&report);
        let failure = run_end::failure(&report, None);
        let end = TaskJobEnd { report: Some(encode(&report.to_value())), failure };
        // Another task may read the result.
        let mut summary = RunSummary { is_secret: self.modes.no_log, ..job_summary::of_task(report) };
        if let Err(failure) = audited {
            summary.stderr += &format!("the run has no entry in an audit file: {:#}\n", failure.error);
        }
        Ok(FinishedRun { summary, end: end.encode() })
    }

    fn args(&self) -> Result<Dict, Failure> {
        match decode(&self.args) {
            Ok(Value::Dict(args)) => Ok(args),
            _ => Err(anyhow::anyhow!("the arguments of the job are not a dict")).or_internal(),
        }
    }

    /// Opens the module. Another one than the play admitted has other rules.
    fn module(&self, context: &Context, runner: &Runner) -> Result<Module, Failure> {
        let cache = cache_of_user(context);
        let module = Module::open(&self.file, None, cache.as_ref(), &context.cleanup).or_unavailable()?;
        let identity = Identity::of(runner, &module, &self.name, &self.interpreters, &self.policy);
        if identity.closure.digest() == self.digest {
            return Ok(module);
        }
        let shown = self.file.display();
        let changed = "the file, or one that it is run with, changed after the play started the job";
        Err(anyhow::anyhow!("failed to run `{shown}`: {changed}")).or_unavailable()
    }

    fn job(&self, args: Dict) -> Job {
        let options = JobOptions::of_modes(self.modes, self.release);
        Job { id: Value::Null, module: self.file.clone(), args, options }
    }
}
