//! Attends runs in a worker, from the worker's start to each outcome, and waits for it meanwhile.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use modbox_kernel::KernelConfinement;
use modbox_vocabulary::{CommandOutput, CommandRefusal, CommandRequest, CommandService, Limits, Outcome, Timing};

use crate::error::WasmError;
use crate::worker::client::{GuestEvent, GuestWorker};
use crate::worker::progress::RunProgress;

/// How long a worker may take to load code and to confine itself. It takes milliseconds, on a machine that is not out
/// of memory.
pub const START_PATIENCE: Duration = Duration::from_secs(20);

/// A run that was attended to its end.
#[derive(Debug)]
pub struct AttendedRun {
    /// How the guest ended.
    pub outcome: Outcome,
    /// Confinement of the worker.
    pub reached: KernelConfinement,
    /// How long the worker took to load the code.
    pub loading: Timing,
}

/// Why a run did not take place.
#[derive(Debug)]
pub enum AttendError {
    /// The guest could not be started.
    Start(WasmError),
    /// The worker reached only this confinement, which is below the accepted level.
    Unconfined(KernelConfinement),
}

impl From<WasmError> for AttendError {
    fn from(error: WasmError) -> Self {
        Self::Start(error)
    }
}

/// A worker that has started.
#[derive(Debug)]
pub struct StartedWorker {
    /// Its confinement.
    pub reached: KernelConfinement,
    /// How long it took to load the code.
    pub loading: Timing,
}

/// How a run ended in a worker that may serve another one.
#[derive(Debug)]
pub enum RunEnd {
    /// The run has ended, and the worker waits for the next one.
    Ended(Outcome),
    /// The guest could not be started, and the worker waits for the next run.
    NotStarted(WasmError),
    /// The worker has ended or must end: it is late, or was taken over by its guest.
    Over(Outcome),
}

/// Attends a worker that was [set up](GuestWorker::set_up) and given one [run](GuestWorker::run), and runs the guest's
/// commands meanwhile. `least` is the lowest accepted level of confinement; `None` for a worker that is not confined.
///
/// # Errors
///
/// The guest could not be started. Every result of the guest itself is an outcome, also that its worker was lost.
pub fn attend(
    worker: &mut GuestWorker,
    limits: &Limits,
    least: Option<u8>,
    commands: Option<&dyn CommandService>,
) -> Result<AttendedRun, AttendError> {
    let StartedWorker { reached, loading } = attend_start(worker, least)?;
    let outcome = match attend_run(worker, limits, &reached, commands)? {
        RunEnd::Ended(outcome) | RunEnd::Over(outcome) => outcome,
        RunEnd::NotStarted(error) => return Err(error.into()),
    };
    Ok(AttendedRun { outcome, reached, loading })
}

/// Waits until a worker that was [set up](GuestWorker::set_up) is confined. `least` is as for [`attend`].
///
/// # Errors
///
/// The worker cannot be used.
pub fn attend_start(worker: &mut GuestWorker, least: Option<u8>) -> Result<StartedWorker, AttendError> {
    let mut start = Start { deadline: Instant::now() + START_PATIENCE, loading: Timing::default() };
    let reached = start.wait(worker, least)?;
    Ok(StartedWorker { reached, loading: start.loading })
}

/// Attends a [run](GuestWorker::run) in a worker that has started, and runs the guest's commands meanwhile.
///
/// # Errors
///
/// The channel fails. Every result of the guest itself is an outcome, also that its worker was lost.
pub fn attend_run(
    worker: &mut GuestWorker,
    limits: &Limits,
    reached: &KernelConfinement,
    commands: Option<&dyn CommandService>,
) -> Result<RunEnd, WasmError> {
    let mut progress = RunProgress::new(limits);
    let last = loop {
        match worker.next_event(progress.deadline()).map_err(WasmError::Worker)? {
            Some(GuestEvent::Printed(stream, bytes)) => progress.print(stream, &bytes),
            Some(GuestEvent::RefusedCall(number)) => progress.refuse(number),
            // The limits of the request are the worker's words. So no command starts after the run's time is up.
            Some(GuestEvent::Command(request, stdin)) if !progress.left().is_zero() => {
                let request = request.within(progress.left());
                let answer = run_command(commands, &request, &stdin, worker);
                answer.iter().for_each(|output| progress.pause(output.paused));
                worker.answer(answer).map_err(WasmError::Worker)?;
            }
            last => break last,
        }
    };
    worker.take_refused_calls().for_each(|number| progress.refuse(number));
    Ok(match last {
        Some(GuestEvent::Ended(outcome)) => RunEnd::Ended(progress.ended(*outcome, reached)),
        Some(GuestEvent::NotStarted(error)) => RunEnd::NotStarted(error),
        Some(GuestEvent::Command(..)) | None => {
            worker.kill();
            RunEnd::Over(progress.late(reached))
        }
        // A worker that breaks the protocol has been taken over by its guest.
        Some(_) => {
            worker.kill_unless_closed();
            RunEnd::Over(progress.lost(worker.reap(), reached))
        }
    })
}

/// Wait for a worker to start.
struct Start {
    deadline: Instant,
    loading: Timing,
}

impl Start {
    fn wait(&mut self, worker: &mut GuestWorker, least: Option<u8>) -> Result<KernelConfinement, AttendError> {
        loop {
            match worker.next_event(Some(self.deadline)).map_err(WasmError::Worker)? {
                Some(GuestEvent::Loaded(timing)) => self.loading = timing,
                Some(GuestEvent::NotLoaded(error) | GuestEvent::NotStarted(error)) => return Err(error.into()),
                Some(GuestEvent::NotConfined(cause)) => return Err(WasmError::NotConfined(cause).into()),
                Some(GuestEvent::Confined(reached)) => {
                    return match least {
                        Some(least) if reached.level < least => Err(AttendError::Unconfined(reached)),
                        _ => Ok(reached),
                    };
                }
                event => return Err(not_started(worker, event.as_ref()).into()),
            }
        }
    }
}

fn not_started(worker: &mut GuestWorker, event: Option<&GuestEvent>) -> WasmError {
    let cause = match event {
        Some(GuestEvent::Closed) => {
            let status = worker.reap();
            let how = status.map_or_else(|| "it does not end".to_owned(), |status| status.to_string());
            io::Error::other(format!("it ended while it started: {how}"))
        }
        Some(_) => io::ErrorKind::InvalidData.into(),
        None => io::ErrorKind::TimedOut.into(),
    };
    WasmError::Worker(cause)
}

fn run_command(
    commands: Option<&dyn CommandService>,
    request: &CommandRequest,
    stdin: &[u8],
    worker: &GuestWorker,
) -> Result<CommandOutput, CommandRefusal> {
    match commands {
        Some(commands) => commands.run(request, stdin, Some(worker.as_fd())),
        // The worker denies all commands itself when none is granted; so it has been taken over by its guest.
        None => Err(modbox_policy::run::denied(&request.program, &request.arguments)),
    }
}
