//! A command that a guest runs, in a thread. It ends with its value: no command goes on when its job is answered.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use modbox_cleanup::{Cleanup, UndoGuard};
use modbox_vocabulary::{CommandOutput, CommandRefusal, CommandRequest};

use crate::batch::setup::Setup;
use crate::batch::slots::background::Background;
use crate::batch::slots::slot_context::SlotContext;

/// Time beyond a command's own limit until its result has to be there.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct RunningCommand {
    result: Background<Result<CommandOutput, CommandRefusal>>,
    deadline: Option<Instant>,
    /// Ends the command.
    _undo: UndoGuard,
}

impl RunningCommand {
    /// Starts a command that has to end within the time that its run has left. `own` is the directory of the worker.
    ///
    /// # Errors
    ///
    /// The kernel gives no thread.
    pub(crate) fn start(
        setup: &Setup,
        (request, stdin): (CommandRequest, Vec<u8>),
        (left, own): (Duration, &Path),
        context: SlotContext<'_>,
    ) -> io::Result<Self> {
        let ends = Cleanup::default();
        let commands = context.runner.command_runner((&setup.policy, &setup.limits), own, &ends);
        let undo = context.cleanup.register(move || ends.undo_all());
        let request = request.within(left);
        let deadline = Instant::now().checked_add(request.limits.timeout.saturating_add(PATIENCE));
        let result = context.wakeups.start("command", move || commands.run(&request, &stdin, None))?;
        Ok(Self { result, deadline, _undo: undo })
    }

    /// Takes the result, once the command has ended.
    pub(crate) fn take(&mut self) -> Option<Result<CommandOutput, CommandRefusal>> {
        let failed = |_| Err(CommandRefusal::Failed("modbox failed while it ran the command".to_owned()));
        self.result.take().map(|result| result.unwrap_or_else(failed))
    }

    /// Returns when the result must be there at the latest.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}
