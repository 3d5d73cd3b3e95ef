//! The running worker of a slot for guests, and what is known of it.

use std::time::Instant;

use modbox_kernel::KernelConfinement;
use modbox_scratch::Scratch;
use modbox_vocabulary::{Outcome, Timing};
use modbox_wasm::{GuestEvent, GuestOrder, GuestWorker, RunProgress, WasmError};

use crate::batch::setup::Setup;
use crate::batch::slots::running_command::RunningCommand;
use crate::batch::task::Task;
use crate::reports::error::RunError;
use crate::runner::Runner;

/// A running worker.
#[derive(Debug)]
pub(crate) struct SlotWorker {
    pub(crate) worker: GuestWorker,
    /// The worker's directory; removed after the worker.
    pub(crate) directory: Scratch,
    /// Whether the module was compiled although the cache had code.
    pub(crate) compiled: bool,
    pub(crate) started: Instant,
    /// How the worker is confined, once it is.
    pub(crate) reached: Option<KernelConfinement>,
    pub(crate) loading: Timing,
    /// The run of the first job, if there is a job and the worker is confined.
    pub(crate) progress: Option<RunProgress>,
    pub(crate) command: Option<RunningCommand>,
}

impl SlotWorker {
    /// Sends the result of a command that has ended, writes what is queued, and reads what has arrived.
    pub(crate) fn exchange(&mut self) {
        if let Some(result) = self.command.as_mut().and_then(RunningCommand::take) {
            self.command = None;
            if self.worker.answer(result).is_err() {
                self.worker.kill();
            }
        }
        self.worker.flush();
        self.worker.read();
    }

    /// Takes the next event. A refused call is noted with the running job; it is an event only if no job is running.
    pub(crate) fn take_event(&mut self) -> Option<GuestEvent> {
        loop {
            match (self.worker.take_event()?, &mut self.progress) {
                (GuestEvent::RefusedCall(number), Some(progress)) => progress.refuse(number),
                (event, _) => return Some(event),
            }
        }
    }

    /// Notes the refused calls that wait now with the running job.
    pub(crate) fn note_refused_calls(&mut self) {
        if let Some(progress) = &mut self.progress {
            self.worker.take_refused_calls().for_each(|number| progress.refuse(number));
        }
    }

    /// Returns how the running job ended with the worker, if there is one.
    pub(crate) fn end_run(
        &mut self,
        outcome: impl FnOnce(RunProgress, &KernelConfinement) -> Outcome,
    ) -> Option<Outcome> {
        let reached = self.reached.clone().unwrap_or_default();
        self.progress.take().map(|progress| outcome(progress, &reached))
    }
}

/// Queues a job's run for a worker.
pub(crate) fn send(worker: &mut GuestWorker, task: &mut Task, setup: &Setup, runner: &Runner) -> Result<(), RunError> {
    let Some(order) = task.order(runner)? else { return Ok(()) };
    let order = GuestOrder { policy: task.setup.own_policy(setup, runner), ..order };
    Ok(worker.run(order).map_err(WasmError::Worker)?)
}
