//! The running worker of a slot for guests, and what is known of it.

use std::time::Instant;

use modbox_kernel::KernelConfinement;
use modbox_scratch::Scratch;
use modbox_vocabulary::Timing;
use modbox_wasm::{GuestWorker, RunProgress};

use crate::batch::running_command::RunningCommand;

/// A running worker.
#[derive(Debug)]
pub(super) struct SlotWorker {
    pub(super) worker: GuestWorker,
    /// The worker's directory; removed after the worker.
    pub(super) _directory: Scratch,
    /// Whether the module was compiled although the cache had code.
    pub(super) compiled: bool,
    pub(super) started: Instant,
    /// How the worker is confined, once it is.
    pub(super) reached: Option<KernelConfinement>,
    pub(super) loading: Timing,
    /// The run of the first job, if there is a job and the worker is confined.
    pub(super) progress: Option<RunProgress>,
    pub(super) command: Option<RunningCommand>,
}

impl SlotWorker {
    /// Sends the result of a command that has ended, writes what is queued, and reads what has arrived.
    pub(super) fn exchange(&mut self) {
        if let Some(result) = self.command.as_mut().and_then(RunningCommand::take) {
            self.command = None;
            if self.worker.answer(result).is_err() {
                self.worker.kill();
            }
        }
        self.worker.flush();
        self.worker.read();
    }
}
