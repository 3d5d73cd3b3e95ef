//! `modbox:host/process`: commands that a guest runs. The [`CommandService`] implementation decides outside of the
//! guest's process which commands are granted. This module bounds each request, passes on what is left of the run's
//! limits, and charges the command's use to the run.

use std::sync::Arc;
use std::time::Duration;

use modbox_policy::run::denied;
use modbox_scratch::RunDir;
use modbox_vocabulary::{
    CommandEnd, CommandOutput, CommandRefusal, CommandRequest, CommandService, Denial, Limits, LostChange,
};
use wasmtime::component::{HasData, Linker};

use crate::bindings::modbox::host::process::{self, Captured, Command, Ending, Error, Output};
use crate::files::Ledger;
use crate::run_clock::RunClock;

/// The interface, without its version.
pub(super) const INTERFACE: &str = "modbox:host/process";

/// Most bytes of a command, with its arguments and its input. The engine passes little more in one call.
const MAX_COMMAND: usize = 2 << 20;

/// The commands of one run.
pub(super) struct Commands {
    runs: Option<Arc<dyn CommandService>>,
    ledger: Arc<Ledger>,
    /// The directory of the run, with the guest's `/tmp`.
    run_dir: Arc<RunDir>,
    clock: Arc<RunClock>,
}

impl Commands {
    /// Creates the commands of a run. Without `runs`, every command is denied.
    pub(super) fn new(
        runs: Option<Arc<dyn CommandService>>,
        ledger: Arc<Ledger>,
        run_dir: Arc<RunDir>,
        clock: Arc<RunClock>,
    ) -> Self {
        Self { runs, ledger, run_dir, clock }
    }

    fn run_command(&self, command: Command) -> Result<CommandOutput, CommandRefusal> {
        if length(&command) > MAX_COMMAND {
            return Err(CommandRefusal::TooLong);
        }
        let Command { program, arguments, environment, directory, input, umask, timeout } = command;
        let Some(runs) = &self.runs else { return Err(denied(&program, &arguments)) };
        let (left, patience) = (self.clock.left(), timeout.map(Duration::from_millis));
        let limits =
            Limits { timeout: patience.map_or(left, |patience| left.min(patience)), ..self.ledger.remaining() };
        // The command may leave files there.
        self.run_dir.mark_used();
        let temporary = self.run_dir.tmp().ok();
        let request = CommandRequest { program, arguments, environment, directory, umask, temporary, limits, patience };
        let ran = runs.run(&request, &input, None);
        if let Ok(output) = &ran {
            self.clock.pause(output.paused);
        }
        ran
    }
}

impl process::Host for Commands {
    fn run(&mut self, command: Command) -> wasmtime::Result<Result<Output, Error>> {
        Ok(match self.run_command(command) {
            Ok(output) => {
                self.ledger.spend(&output);
                output.denials.listed().iter().for_each(|denial| self.deny(denial));
                // The run fails in any case; the guest learns of it before it goes on.
                match output.lost.is_empty() {
                    true => Ok(to_output(output)),
                    false => Err(Error::Failed(LostChange::message(&output.lost))),
                }
            }
            Err(CommandRefusal::Denied(denial)) => {
                self.deny(&denial);
                Err(Error::Denied(denial.allow))
            }
            Err(CommandRefusal::NotFound) => Err(Error::NotFound),
            Err(CommandRefusal::NotExecutable) => Err(Error::NotExecutable),
            Err(CommandRefusal::NoDirectory) => Err(Error::NoDirectory),
            Err(CommandRefusal::TooLong) => Err(Error::TooLong),
            Err(CommandRefusal::Failed(why)) => Err(Error::Failed(why)),
        })
    }
}

impl Commands {
    fn deny(&self, denial: &Denial) {
        let Denial { capability, subject, operation, allow } = denial;
        self.ledger.deny_as(*capability, subject, *operation, || allow.clone());
    }
}

fn length(command: &Command) -> usize {
    let words = command.arguments.iter().chain(&command.directory).chain([&command.program]);
    let variables = command.environment.iter().flat_map(|(name, value)| [name, value]);
    // Each string also takes a pointer.
    let words = words.chain(variables).map(|word| word.len().saturating_add(8));
    words.fold(command.input.len(), usize::saturating_add)
}

fn to_output(output: CommandOutput) -> Output {
    let captured = |stream: modbox_vocabulary::CapturedOutput| Captured { bytes: stream.bytes, length: stream.total };
    let number = |number: i32| u32::try_from(number).unwrap_or(u32::MAX);
    let ending = match output.end {
        CommandEnd::Exited(status) => Ending::Exited(number(status)),
        CommandEnd::Signalled(signal) => Ending::Signalled(number(signal)),
        CommandEnd::TimedOut => Ending::TimedOut,
        CommandEnd::Limit(hit) => Ending::Limit(hit.kind.as_str().to_owned()),
    };
    Output { ending, stdout: captured(output.stdout), stderr: captured(output.stderr) }
}

/// Type that names [`Commands`] to the linker.
struct Process;

impl HasData for Process {
    type Data<'a> = &'a mut Commands;
}

/// Links the interface. `commands` returns the commands of the run from the store's data.
pub(super) fn add_process<T: 'static>(
    linker: &mut Linker<T>,
    commands: fn(&mut T) -> &mut Commands,
) -> wasmtime::Result<()> {
    process::add_to_linker::<T, Process>(linker, commands)
}
