//! Executes a module in the sandbox for its kind, with the policy that `grant` returned.

use std::path::PathBuf;
use std::sync::Arc;

use modbox_kinds::{Kind, Prepared};
use modbox_native::Leaving;
use modbox_policy::{Access, Shape};
use modbox_scratch::{RunDir, ScratchError, Use};
use modbox_vocabulary::{Exit, Invocation, Outcome, Program, WasmProgram};
use modbox_wasm::{Host, LoadedModule, WasmError};

use crate::app::error::RunError;
use crate::app::module::Module;
use crate::app::request::RunRequest;
use crate::app::runner::Runner;
use crate::app::{confine, prepare};

/// Result of executing a module.
pub(super) struct Execution {
    pub(super) completed: Result<CompletedRun, RunError>,
    /// The directory of the run, if it is kept.
    pub(super) kept_files: Option<String>,
    /// Notes for the operator, in the order in which they arose.
    pub(super) notes: Vec<String>,
}

/// A module that was started and has ended.
pub(super) struct CompletedRun {
    pub(super) prepared: Prepared,
    pub(super) outcome: Outcome,
    /// Rest of a native module's namespaces; dropping it waits until they have ended.
    pub(super) _leaving: Option<Leaving>,
}

impl Runner {
    /// Executes a module that lacks no grant.
    pub(super) fn execute(&self, kind: Kind, module: &Module, request: &RunRequest<'_>) -> Execution {
        let mut notes = Vec::new();
        match RunDir::create(&self.scratch, purpose(kind, request)) {
            Ok(run_dir) => {
                let run_dir = Arc::new(run_dir);
                let kept_files = request.keep_files.then(|| run_dir.path().display().to_string());
                let completed = self.execute_in(&run_dir, kind, module, request, &mut notes);
                match &completed {
                    // The guest came to its own end, so that nothing of it still writes to the directory.
                    Ok(CompletedRun { outcome: Outcome { exit: Exit::Code(_), .. }, .. })
                        if self.config.is_for_many_runs() =>
                    {
                        run_dir.give_back();
                    }
                    // An abandoned guest thread can make no more files in it.
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
        kind: Kind,
        module: &Module,
        request: &RunRequest<'_>,
        notes: &mut Vec<String>,
    ) -> Result<CompletedRun, RunError> {
        let python = match kind {
            Kind::Python => Some(self.python_start(module, request, run_dir)?),
            _ => None,
        };
        notes.extend(python.iter().flat_map(|ready| ready.notes.clone()));
        let stopped = if kind.is_wasm() { None } else { Some(confine::stop_threads(&self.config)?) };
        let tmpdir = tmpdir(kind, request, run_dir)?;
        let start = python.as_ref().map(|ready| &ready.start);
        let prepared = prepare::prepare(kind, module, request, &tmpdir, &self.config, start)?;
        let invocation = &prepared.invocation;
        let (outcome, leaving) = match &invocation.program {
            Program::Wasm(program) => (self.execute_wasm(module, program, invocation, request, run_dir, notes)?, None),
            Program::Native(_) => {
                let (outcome, leaving) = self.execute_native(invocation, request, run_dir, stopped)?;
                (outcome, Some(leaving))
            }
        };
        notes.extend_from_slice(&outcome.notes);
        Ok(CompletedRun { prepared, outcome, _leaving: leaving })
    }

    /// Executes a guest.
    fn execute_wasm(
        &self,
        module: &Module,
        program: &WasmProgram,
        invocation: &Invocation,
        request: &RunRequest<'_>,
        run_dir: &Arc<RunDir>,
        notes: &mut Vec<String>,
    ) -> Result<Outcome, RunError> {
        let is_first = module.loaded.get().is_none();
        let loaded = self.loaded(module, program.format, request.limits)?;
        notes.extend_from_slice(loaded.notes());
        if request.keep_files {
            run_dir.lay_out(&invocation.files)?;
        }
        let commands = self.commands(loaded, request)?;
        let reached = confine::confine(&self.config, &self.confined, request, run_dir)?;
        notes.extend(reached.notes());
        let run = |loaded: &LoadedModule| {
            let host = Host { run_dir, commands: commands.clone(), on_own_thread: self.config.watched };
            loaded.run(invocation, program, request.policy, request.limits, host)
        };
        let completed = match run(loaded) {
            Err(WasmError::PoolFull) => run(&self.load_on_demand(module, program.format, request.limits)?),
            completed => completed,
        };
        self.end_commands();
        let mut outcome = completed?;
        if is_first {
            outcome.timing.add(loaded.timing());
        }
        outcome.confinement.level = reached.level;
        outcome.confinement.layers.extend(reached.layers);
        Ok(outcome)
    }
}

/// Returns the use of the run's directory. A path that is granted by name for writing may have temporary files beside
/// it, and the directory keeps notes of them.
fn purpose(kind: Kind, request: &RunRequest<'_>) -> Use {
    let notes =
        || request.policy.paths().iter().any(|grant| grant.shape == Shape::Name && grant.access == Access::Write);
    match kind.is_wasm() {
        _ if request.keep_files => Use::Kept,
        true if !request.policy.allows_everything() && !notes() => Use::Guest,
        _ => Use::Run,
    }
}

/// Returns the host's directory for a module's temporary files. It is empty for a guest that has its own `/tmp`: such
/// guests do not learn where that is on the host.
fn tmpdir(kind: Kind, request: &RunRequest<'_>, run_dir: &RunDir) -> Result<PathBuf, ScratchError> {
    match (kind.is_wasm(), request.policy.allows_everything()) {
        (false, _) => Ok(run_dir.path().to_owned()),
        (true, true) => run_dir.tmp(),
        (true, false) => Ok(PathBuf::new()),
    }
}
