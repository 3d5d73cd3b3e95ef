//! Executes a module in the sandbox for its kind, with the policy that `grant` returned.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use modbox_kinds::{Kind, PreparedInvocation};
use modbox_native::LauncherExit;
use modbox_policy::{Access, Shape};
use modbox_scratch::{DirPurpose, RunDir, ScratchError};
use modbox_vocabulary::{Exit, Outcome, Program};
use modbox_wasm::Instances;

use crate::execution::execute_guest::GuestRun;
use crate::execution::prepare::{self, PreparedContent};
use crate::grants::run_user::{as_user, check_scratch};
use crate::modules::closure::known::KnownClosure;
use crate::modules::module::Module;
use crate::reports::error::RunError;
use crate::request::run_request::RunRequest;
use crate::runner::Runner;
use crate::runner::run_form::RunForm;

/// Result of executing a module.
pub(crate) struct Execution {
    pub(crate) completed: Result<CompletedRun, RunError>,
    /// The directory of the run, if it is kept.
    pub(crate) kept_files: Option<String>,
    /// Notes for the operator, in the order in which they arose.
    pub(crate) notes: Vec<String>,
}

/// A module that was started and has ended.
pub(crate) struct CompletedRun {
    pub(crate) prepared: PreparedInvocation,
    pub(crate) outcome: Outcome,
    /// Rest of a native module's namespaces; dropping it waits until they have ended.
    pub(crate) _leaving: Option<LauncherExit>,
}

impl Runner {
    /// Executes a module that lacks no grant.
    pub(crate) fn execute(&self, form: &RunForm, module: &Module, request: &RunRequest<'_>) -> Execution {
        let mut notes = Vec::new();
        match RunDir::create(&self.scratch, purpose(form, request), request.policy.user()) {
            Ok(run_dir) => {
                let run_dir = Arc::new(run_dir);
                let kept_files = request.keep_files.then(|| run_dir.path().display().to_string());
                let completed = self.execute_in(&run_dir, form, module, request, &mut notes);
                match &completed {
                    // The guest came to its own end, so nothing of it still writes to the directory. Making and removing one
                    // takes longer than a short run. A process that starts workers for its runs is seldom used again.
                    Ok(CompletedRun { outcome: Outcome { exit: Exit::Code(_), .. }, .. })
                        if self.config.workers.is_none() || self.config.instances == Instances::Pooled =>
                    {
                        run_dir.give_back();
                    }
                    _ => run_dir.close(),
                }
                Execution { completed, kept_files, notes }
            }
            Err(error) => Execution { completed: Err(error.into()), kept_files: None, notes },
        }
    }

    fn execute_in(
        &self,
        run_dir: &Arc<RunDir>,
        form: &RunForm,
        module: &Module,
        request: &RunRequest<'_>,
        notes: &mut Vec<String>,
    ) -> Result<CompletedRun, RunError> {
        let user = request.policy.user();
        check_scratch(user, run_dir.path())?;
        let python = match (form.kind, &form.python) {
            (Kind::Python, None) => Some(self.python_start(module, request, run_dir)?),
            _ => None,
        };
        notes.extend(python.iter().flat_map(|ready| ready.notes.clone()));
        let tmpdir = as_user(user, || tmpdir(form, request, run_dir))??;
        let guest = form.python.as_ref().map(|guest| &guest.start);
        let start = guest.or_else(|| python.as_ref().map(|ready| &ready.start));
        let bound = match form.kind {
            Kind::Powershell => self.bound_closure(module, request)?,
            _ => None,
        };
        let scripts = bound.as_ref().and_then(KnownClosure::scripts);
        let content = PreparedContent { python: start, scripts };
        let prepared = prepare::prepare(form, module, request, &tmpdir, &self.config, &content, notes)?;
        let invocation = &prepared.invocation;
        let (outcome, leaving) = match &invocation.program {
            Program::Wasm(program) => {
                let granted = request.policy;
                let (policy, outside) = self.commands_outside(form, (granted, request.limits), run_dir.path())?;
                let own = RunRequest { policy: &policy, arguments: Cow::Borrowed(&*request.arguments), ..*request };
                let module = form.guest(module);
                let run = GuestRun { module, program, invocation, request: &own, granted, run_dir, outside };
                (self.execute_guest(run, notes)?, None)
            }
            Program::Native(_) | Program::Direct(_) => {
                let (outcome, leaving) = self.execute_native(form.kind, invocation, request, run_dir)?;
                (outcome, Some(leaving))
            }
        };
        notes.extend_from_slice(&outcome.notes);
        Ok(CompletedRun { prepared, outcome, _leaving: leaving })
    }
}

/// Returns the use of the run's directory. A path that is granted by name for writing may have temporary files beside
/// it, and the directory keeps notes of them.
pub(crate) fn purpose(form: &RunForm, request: &RunRequest<'_>) -> DirPurpose {
    let notes =
        || request.policy.paths().iter().any(|grant| grant.shape == Shape::Name && grant.access == Access::Write);
    match form.is_guest() {
        _ if request.keep_files => DirPurpose::Kept,
        true if !request.policy.allows_everything() && !notes() => DirPurpose::Guest,
        _ => DirPurpose::Run,
    }
}

/// Returns the host's directory for a module's temporary files. It is empty for a guest that has its own `/tmp`: such
/// guests do not learn where that is on the host.
fn tmpdir(form: &RunForm, request: &RunRequest<'_>, run_dir: &RunDir) -> Result<PathBuf, ScratchError> {
    match (form.is_guest(), request.policy.allows_everything()) {
        (false, _) => Ok(run_dir.path().to_owned()),
        (true, true) => run_dir.tmp(),
        (true, false) => Ok(PathBuf::new()),
    }
}
