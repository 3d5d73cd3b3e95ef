//! Executes guests: in a worker, or in this process if the runner has no workers.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use modbox_policy::Policy;
use modbox_scratch::RunDir;
use modbox_vocabulary::{CommandService, Invocation, Limits, Outcome, WasmFormat, WasmProgram};
use modbox_wasm::{
    AttendError, CodeFacts, CodeRequest, ConfinementOrder, GuestInput, GuestOrder, GuestSetup, GuestWorker, Instances,
    LoadedModule, RunContext, RunDirectory, SystemLog, WasmError, attend,
};
use modbox_worker::Workers;

use crate::execution::commands::{CommandRunner, CommandsOutside};
use crate::execution::engines;
use crate::grants::confine;
use crate::grants::run_user::as_user;
use crate::modules::module::Module;
use crate::reports::error::RunError;
use crate::request::run_request::RunRequest;
use crate::runner::Runner;

/// A guest to execute.
pub(crate) struct GuestRun<'a> {
    pub(crate) module: &'a Module,
    pub(crate) program: &'a WasmProgram,
    pub(crate) invocation: &'a Invocation,
    pub(crate) request: &'a RunRequest<'a>,
    /// Grants of the module, by which commands run. Those of the request may have more, of the guest itself.
    pub(crate) granted: &'a Policy,
    pub(crate) run_dir: &'a Arc<RunDir>,
    /// Its commands outside.
    pub(crate) outside: Option<CommandsOutside>,
}

impl Runner {
    /// Executes a guest, and adds notes for the operator.
    pub(crate) fn execute_guest(&self, mut run: GuestRun<'_>, notes: &mut Vec<String>) -> Result<Outcome, RunError> {
        if run.request.keep_files {
            as_user(run.request.policy.user(), || run.run_dir.lay_out(&run.invocation.files))??;
        }
        let (grants, own) = ((run.granted, run.request.limits), run.run_dir.path());
        let commands = run.request.policy.allows_commands();
        let commands = commands.then(|| CommandRunner::new(&self.config, grants, own, &self.config.cleanup));
        let outside = run.outside.take();
        let commands = commands.map(|commands| Arc::new(commands.with_outside(outside)));
        let mut ended = match (&self.config.workers, run.request.policy.user()) {
            (Some(workers), None) => self.execute_in_worker(workers, &run, commands.as_deref(), notes),
            (Some(workers), Some(_)) => {
                self.execute_in_worker(&workers.without_early(), &run, commands.as_deref(), notes)
            }
            (None, Some(user)) => Err(RunError::UserWithoutWorker(user.name.clone())),
            (None, None) => self.execute_here(&run, commands.as_ref(), notes),
        };
        if let (Some(commands), Ok(outcome)) = (commands, &mut ended) {
            commands.finish(outcome);
        }
        ended
    }

    /// Finds the compiled code of a module for a worker. With `compile`, ignores the entry of the cache, which a worker
    /// has refused.
    pub(crate) fn find_code(
        &self,
        module: &Module,
        format: WasmFormat,
        limits: &Limits,
        compile: bool,
    ) -> Result<(File, CodeFacts), RunError> {
        let request = CodeRequest { format, digest: module.digest(), limits, compile };
        let mut facts = CodeFacts::default();
        let copy = |code: &File| code.try_clone().map_err(WasmError::Worker);
        let code =
            engines::unloadable_once(module, || self.code.find(&request, || engines::bytes(module), &mut facts, copy))?;
        Ok((code, facts))
    }

    fn execute_in_worker(
        &self,
        workers: &Workers,
        run: &GuestRun<'_>,
        commands: Option<&CommandRunner>,
        notes: &mut Vec<String>,
    ) -> Result<Outcome, RunError> {
        let policy = run.request.policy;
        let commands = commands.map(|commands| commands as &dyn CommandService);
        let least = confinement(policy, PathBuf::new(), true).map(|order| order.least);
        let mut compile = false;
        loop {
            let (code, facts) = self.find_code(run.module, run.program.format, run.request.limits, compile)?;
            notes.extend_from_slice(&facts.notes);
            let worker = GuestWorker::start(workers, &code, Instances::OnDemand, &self.config.cleanup);
            let mut worker = worker.map_err(WasmError::Worker)?;
            worker.set_up(run.setup()).and_then(|()| worker.run(run.order())).map_err(WasmError::Worker)?;
            match attend(&mut worker, run.request.limits, least, commands) {
                Ok(attended) => {
                    notes.extend(attended.reached.notes());
                    let mut outcome = attended.outcome;
                    outcome.timing.add(facts.timing);
                    outcome.timing.add(attended.loading);
                    return Ok(outcome);
                }
                Err(AttendError::Start(WasmError::Code(_))) if !compile => compile = true,
                Err(AttendError::Start(error)) => return engines::unloadable_once(run.module, || Err(error.into())),
                Err(AttendError::Unconfined(reached)) => return Err(confine::guest_shortfall(reached, policy)),
            }
        }
    }

    fn execute_here(
        &self,
        run: &GuestRun<'_>,
        commands: Option<&Arc<CommandRunner>>,
        notes: &mut Vec<String>,
    ) -> Result<Outcome, RunError> {
        let GuestRun { module, program, invocation, request, run_dir, .. } = *run;
        let is_first = module.resident.get().is_none();
        let resident = self.resident(module, program.format, request.limits)?;
        notes.extend_from_slice(&resident.facts.notes);
        confine::check_guest(&modbox_kernel::KernelConfinement::default(), request.policy, 0)?;
        let execute = |loaded: &LoadedModule| {
            let input = GuestInput { program, files: &invocation.files, stdin: invocation.stdin.clone() };
            let (policy, limits) = (request.policy, request.limits);
            let commands = commands.map(|commands| Arc::clone(commands) as Arc<dyn CommandService>);
            let (log, http) = (SystemLog::open(policy), request.http.cloned());
            let context = RunContext { commands, log, http, ..RunContext::new(run_dir) };
            loaded.run(input, policy, limits, context)
        };
        let mut outcome = match execute(&resident.module) {
            Err(WasmError::PoolFull) => execute(&self.load_on_demand(module, program.format, request.limits)?.module)?,
            completed => completed?,
        };
        if is_first {
            outcome.timing.add(resident.timing());
        }
        Ok(outcome)
    }
}

impl GuestRun<'_> {
    fn setup(&self) -> GuestSetup {
        let (policy, limits) = (self.request.policy.clone(), *self.request.limits);
        let confinement = confinement(&policy, self.run_dir.path().to_owned(), true);
        GuestSetup { policy, limits, http: self.request.http.cloned(), has_plugins: false, confinement }
    }

    fn order(&self) -> GuestOrder {
        let directory = RunDirectory::Made(self.run_dir.path().to_owned(), self.run_dir.purpose());
        order(self.program, self.invocation, directory)
    }
}

/// Returns the order for a worker to run a program.
pub(crate) fn order(program: &WasmProgram, invocation: &Invocation, directory: RunDirectory) -> GuestOrder {
    let (files, stdin) = (invocation.files.clone(), invocation.stdin.clone());
    GuestOrder { program: program.clone(), files, stdin, directory, policy: None }
}

/// Returns the confinement of a worker under a policy: none if the policy grants everything.
pub(crate) fn confinement(policy: &Policy, directory: PathBuf, is_single: bool) -> Option<ConfinementOrder> {
    let least = policy.least_confinement().map_or(modbox_kernel::DEFAULT_LEAST, |least| least.level);
    (!policy.allows_everything()).then_some(ConfinementOrder { directory, hub: None, is_single, least })
}
