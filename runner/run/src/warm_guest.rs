//! Guests that run in a worker which serves many runs of one module under the same grants. The caller has the worker;
//! this makes its orders and concludes its runs.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use modbox_cleanup::Cleanup;
use modbox_kernel::KernelConfinement;
use modbox_kinds::PreparedInvocation;
use modbox_policy::Policy;
use modbox_scratch::{DirPurpose, RunDir, Scratch};
use modbox_vocabulary::{CommandService, Limits, Outcome, Program};
use modbox_wasm::{CodeFacts, GuestOrder, GuestSetup, RunDirectory, WasmError};

use crate::admission::AdmittedRun;
use crate::execution::commands::CommandRunner;
use crate::execution::execute::{self, CompletedRun, Execution};
use crate::execution::execute_guest;
use crate::execution::judge;
use crate::execution::prepare::{self, PreparedContent};
use crate::grants::confine;
use crate::grants::run_user::as_user;
use crate::modules::module::Module;
use crate::reports::error::RunError;
use crate::reports::report::Report;
use crate::request::run_request::RunRequest;
use crate::runner::Runner;
use crate::runner::run_form::RunForm;

/// A run that a worker was or will be told to make.
#[derive(Debug)]
pub struct GuestTask {
    prepared: PreparedInvocation,
    order: Option<GuestOrder>,
    /// The run's directory, if the module knows its path.
    _run_dir: Option<RunDir>,
}

impl GuestTask {
    /// Takes the order for the worker; `None` if it was taken before.
    pub fn take_order(&mut self) -> Option<GuestOrder> {
        self.order.take()
    }
}

/// Settings of a worker for many runs, with the directory that it works in.
#[derive(Debug)]
pub struct WarmSetup {
    /// The settings.
    pub setup: GuestSetup,
    /// The worker's directory. It is removed when this is dropped.
    pub directory: Scratch,
}

impl Runner {
    /// Finds the compiled code of a module, or compiles the module. With `compile`, ignores the entry of the cache,
    /// which a worker has refused.
    ///
    /// # Errors
    ///
    /// Bytes that are not a valid module, or that take more than the limits allow to compile.
    pub fn code_for_worker(
        &self,
        module: &Module,
        limits: &Limits,
        compile: bool,
    ) -> Result<(File, CodeFacts), RunError> {
        module.detection().map_err(Clone::clone)?;
        let format = module.format().ok_or(RunError::Wasm(WasmError::NoGuest))?;
        self.find_code(module, format, limits, compile)
    }

    /// Makes the settings of a worker for runs with these grants and limits, and its directory.
    ///
    /// # Errors
    ///
    /// The directory cannot be made.
    pub fn warm_setup(&self, policy: &Policy, limits: &Limits) -> Result<WarmSetup, RunError> {
        self.scratch.sweep_once();
        let directory = self.scratch.create(DirPurpose::Run, policy.user())?;
        let confinement = execute_guest::confinement(policy, directory.path().to_owned(), false);
        let setup = GuestSetup { policy: policy.clone(), limits: *limits, http: None, has_plugins: false, confinement };
        Ok(WarmSetup { setup, directory })
    }

    /// Prepares a run for a worker. `request` has the policy and the arguments of `admitted`.
    ///
    /// # Errors
    ///
    /// The run's directory cannot be made, or the module's kind cannot start it.
    pub fn guest_task(
        &self,
        module: &Module,
        admitted: &AdmittedRun,
        request: &RunRequest<'_>,
    ) -> Result<GuestTask, RunError> {
        let purpose = execute::purpose(&admitted.form, request);
        // Only a module that is granted everything learns a directory of the host.
        let user = request.policy.user();
        let run_dir = || RunDir::create(&self.scratch, purpose, user);
        let run_dir = request.policy.allows_everything().then(run_dir).transpose()?;
        let tmpdir = as_user(user, || run_dir.as_ref().map(RunDir::tmp).transpose())??.unwrap_or_default();
        let directory = match &run_dir {
            Some(run_dir) => RunDirectory::Made(run_dir.path().to_owned(), purpose),
            None => RunDirectory::ToMake(purpose),
        };
        let python = admitted.form.python.as_ref().map(|guest| &guest.start);
        let content = PreparedContent { python, scripts: None };
        let prepared =
            prepare::prepare(&admitted.form, module, request, &tmpdir, &self.config, &content, &mut Vec::new())?;
        let order = match &prepared.invocation.program {
            Program::Wasm(program) => Some(execute_guest::order(program, &prepared.invocation, directory)),
            Program::Native(_) | Program::Direct(_) => return Err(RunError::Wasm(WasmError::NoGuest)),
        };
        Ok(GuestTask { prepared, order, _run_dir: run_dir })
    }

    /// Returns the report of a run that has ended in a worker. `task` is missing if the run could not be prepared.
    #[must_use]
    pub fn conclude(
        &self,
        report: Report,
        task: Option<GuestTask>,
        (form, request): (&RunForm, &RunRequest<'_>),
        ended: Result<Outcome, RunError>,
    ) -> Report {
        let (completed, notes) = match (ended, task) {
            (Ok(mut outcome), Some(GuestTask { prepared, .. })) => {
                let notes = std::mem::take(&mut outcome.notes);
                (Ok(CompletedRun { prepared, outcome, _leaving: None }), notes)
            }
            (Ok(_), None) => (Err(RunError::Wasm(WasmError::NoGuest)), Vec::new()),
            (Err(error), _) => (Err(error), Vec::new()),
        };
        let execution = Execution { completed, kept_files: None, notes };
        let report = judge::report_execution(report, execution, request, &self.environment(request.policy));
        self.remember_need(&report, form);
        report
    }

    /// Returns the runner of a guest's commands. `own` is the directory of the guest's worker, or of its run; `cleanup` ends
    /// the commands that are running.
    #[must_use]
    pub fn command_runner(&self, grants: (&Policy, &Limits), own: &Path, cleanup: &Cleanup) -> Arc<dyn CommandService> {
        Arc::new(CommandRunner::new(&self.config, grants, own, cleanup))
    }
}

/// Checks that a worker is confined as far as the policy requires.
///
/// # Errors
///
/// A kernel that gives less.
pub fn check_confinement(reached: &KernelConfinement, policy: &Policy) -> Result<(), RunError> {
    if policy.allows_everything() {
        return Ok(());
    }
    confine::check_guest(reached, policy, modbox_kernel::DEFAULT_LEAST)
}
