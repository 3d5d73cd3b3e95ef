//! A worker for guests that runs one job after the other on layers, each of them new.
//!
//! The worker confines itself to the places of a hub before it runs the first job. This file makes no layers.

use std::path::Path;

use modbox_policy::Policy;
use modbox_scratch::Scratch;
use modbox_vocabulary::{CommandService, Limits, Outcome};
use modbox_wasm::{
    AttendError, CodeFacts, ConfinementOrder, GuestOrder, GuestWorker, Instances, RunEnd, StartedWorker, WasmError,
    attend_run, attend_start,
};

use crate::execution::commands::CommandRunner;
use crate::grants::confine;
use crate::modules::module::Module;
use crate::reports::error::RunError;
use crate::runner::Runner;
use crate::warm_guest::WarmSetup;

/// A confined worker.
#[derive(Debug)]
pub(crate) struct WarmWorker {
    worker: GuestWorker,
    /// The worker's directory; removed after the worker.
    directory: Scratch,
    /// The grants for which it is confined.
    policy: Policy,
    limits: Limits,
    started: StartedWorker,
    /// Notes and times of finding the code, for the report of the first job.
    facts: Option<CodeFacts>,
}

impl WarmWorker {
    /// Starts a worker in the mounts of this thread. `hub` has the places of layers.
    ///
    /// # Errors
    ///
    /// The module has no code, or the worker cannot be confined as far as the policy requires.
    pub(crate) fn start(
        runner: &Runner,
        module: &Module,
        (policy, limits): (&Policy, &Limits),
        hub: &Path,
    ) -> Result<Self, RunError> {
        let mut compile = false;
        loop {
            let (code, facts) = runner.code_for_worker(module, limits, compile)?;
            let workers = runner.config.workers.as_ref().ok_or(RunError::Wasm(WasmError::NoGuest))?;
            let WarmSetup { mut setup, directory } = runner.warm_setup(policy, limits)?;
            let least = setup.confinement.as_ref().map(|order| order.least);
            setup.confinement = setup.confinement.map(|order| ConfinementOrder { hub: Some(hub.to_owned()), ..order });
            let cleanup = &runner.config.cleanup;
            let worker = GuestWorker::start(workers, &code, Instances::Pooled, cleanup);
            let mut worker = worker.map_err(WasmError::Worker)?;
            worker.set_up(setup).map_err(WasmError::Worker)?;
            match attend_start(&mut worker, least) {
                Ok(started) => {
                    let (policy, limits, facts) = (policy.clone(), *limits, Some(facts));
                    return Ok(Self { worker, directory, policy, limits, started, facts });
                }
                Err(AttendError::Start(WasmError::Code(_))) if !compile => compile = true,
                Err(AttendError::Start(error)) => return Err(error.into()),
                Err(AttendError::Unconfined(reached)) => return Err(confine::guest_shortfall(reached, policy)),
            }
        }
    }

    /// Returns whether the worker is confined to these grants.
    pub(crate) fn serves(&self, policy: &Policy) -> bool {
        self.policy == *policy
    }

    /// Runs a guest. Returns how it ended, and the worker if it can run another one.
    pub(crate) fn run(mut self, runner: &Runner, order: GuestOrder) -> (Result<Outcome, RunError>, Option<Self>) {
        let (policy, limits, cleanup) = (&self.policy, &self.limits, &runner.config.cleanup);
        let own = self.directory.path();
        let commands = policy.allows_commands();
        let commands = commands.then(|| CommandRunner::new(&runner.config, (policy, limits), own, cleanup));
        let commands = commands.as_ref().map(|commands| commands as &dyn CommandService);
        let ended = self.worker.run(order).map_err(WasmError::Worker);
        let ended = ended.and_then(|()| attend_run(&mut self.worker, limits, &self.started.reached, commands));
        match ended {
            Ok(RunEnd::Ended(outcome)) => (Ok(self.with_facts(outcome)), Some(self)),
            Ok(RunEnd::NotStarted(error)) => (Err(error.into()), Some(self)),
            Ok(RunEnd::Over(outcome)) => (Ok(self.with_facts(outcome)), None),
            Err(error) => (Err(error.into()), None),
        }
    }

    /// Adds what is known of the worker. The first job's outcome also has the times and notes of finding the code.
    fn with_facts(&mut self, mut outcome: Outcome) -> Outcome {
        if let Some(facts) = self.facts.take() {
            outcome.timing.add(facts.timing);
            outcome.timing.add(self.started.loading);
            outcome.notes.splice(0..0, facts.notes);
        }
        outcome.notes.extend(self.started.reached.notes());
        outcome
    }
}
