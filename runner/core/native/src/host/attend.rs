//! Attends a run: empties both pipes, waits for the launcher's reply, and enforces the timeout.
//!
//! It is one loop in the calling thread, without threads or blocking calls: whatever the module, its children or the
//! launcher do, each turn has a deadline. Output beyond the limit is counted and discarded, never left in the pipe, so
//! that a module that writes too much still runs to its end.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use modbox_vocabulary::{CapturedOutput, Limits};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::error::NativeError;
use crate::host::launch::{Launch, Pipes};
use crate::host::outside_commands::OutsideCommands;
use crate::host::stream::{CHUNK, Stream};
use crate::protocol::{InForce, LauncherMessage, Reply};

/// How long to go on reading when all writers are dead: for output that is already in the pipes, and in case a
/// surviving process holds them open.
pub(crate) const DRAIN_PATIENCE: Duration = Duration::from_secs(1);

/// The same where processes of the module may stay and hold the pipes open.
const STAYING_PATIENCE: Duration = Duration::from_millis(20);

/// How long the launcher may take to kill everything on request. After that the host kills, so that a run ends within a
/// second of its limit on a busy machine, too.
const STOP_PATIENCE: Duration = Duration::from_millis(700);

/// Record of a run as the host saw it.
#[derive(Debug)]
pub(crate) struct RunRecord {
    /// Confinement with which the module began; `None` if it did not begin.
    pub(crate) began: Option<InForce>,
    /// Reply of the launcher; `None` if it died without one.
    pub(crate) reply: Option<Reply>,
    /// Whether the timeout ended the run.
    pub(crate) timed_out: bool,
    pub(crate) stdout: CapturedOutput,
    pub(crate) stderr: CapturedOutput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The module runs.
    Running,
    /// The launcher was asked to kill.
    Stopping,
    /// Everything is dead; only the pipes have to be emptied.
    Draining,
}

/// Time at which a phase is over.
#[derive(Debug)]
struct Deadline {
    /// `None` beyond the range of the clock.
    at: Option<Instant>,
    /// Since when it stands still.
    stands_since: Option<Instant>,
}

impl Deadline {
    fn after(patience: Duration) -> Self {
        Self { at: Instant::now().checked_add(patience), stands_since: None }
    }

    /// Makes the deadline stand still, or go on by the time it stood.
    fn stand(&mut self, stands: bool) {
        if stands {
            self.stands_since.get_or_insert_with(Instant::now);
        } else if let Some(since) = self.stands_since.take() {
            self.at = self.at.and_then(|at| at.checked_add(since.elapsed()));
        }
    }

    /// Returns when to look again, if time alone can end the phase.
    fn awaited(&self) -> Option<Instant> {
        self.at.filter(|_| self.stands_since.is_none())
    }

    fn is_over(&self) -> bool {
        self.awaited().is_some_and(|at| Instant::now() >= at)
    }
}

/// Attends a run to its end. The timeout stands still while a command outside runs. `stays` says whether processes of the module may
/// stay, which may hold its output open.
pub(crate) fn attend(
    launch: &Launch,
    pipes: Pipes,
    limits: &Limits,
    stays: bool,
    mut outside: Option<&mut OutsideCommands>,
) -> Result<RunRecord, NativeError> {
    let mut stdout = Stream::new(pipes.stdout, limits.max_output);
    let mut stderr = Stream::new(pipes.stderr, limits.max_output);
    let mut chunk = vec![0; CHUNK];
    let mut phase = Phase::Running;
    let mut deadline = Deadline::after(limits.timeout);
    let (mut began, mut reply, mut timed_out) = (None, None, false);
    while phase != Phase::Draining || stdout.is_open() || stderr.is_open() {
        deadline.stand(phase == Phase::Running && outside.as_ref().is_some_and(|outside| outside.are_running()));
        if deadline.is_over() {
            let patience = match phase {
                Phase::Running => {
                    launch.ask_to_kill();
                    (phase, timed_out) = (Phase::Stopping, true);
                    STOP_PATIENCE
                }
                Phase::Stopping => {
                    launch.take_over();
                    phase = Phase::Draining;
                    DRAIN_PATIENCE
                }
                Phase::Draining => {
                    // A process that was left may hold them open; what it has written until now counts.
                    for stream in [&mut stdout, &mut stderr] {
                        stream.read_rest(&mut chunk).map_err(NativeError::ReadOutput)?;
                    }
                    break;
                }
            };
            deadline = Deadline::after(patience);
        }
        let control = (phase != Phase::Draining).then_some(launch);
        let channel = outside.as_ref().and_then(|outside| outside.channel());
        let ready = Ready::wait(control, &stdout, &stderr, channel, deadline.awaited()).map_err(NativeError::Wait)?;
        if let Some(outside) = outside.as_mut().filter(|_| ready.outside) {
            outside.receive();
        }
        if ready.stdout {
            stdout.read(&mut chunk).map_err(NativeError::ReadOutput)?;
        }
        if ready.stderr {
            stderr.read(&mut chunk).map_err(NativeError::ReadOutput)?;
        }
        if ready.control {
            match receive(launch)? {
                Some(LauncherMessage::Began(in_force)) => {
                    began = Some(in_force);
                    continue;
                }
                Some(LauncherMessage::Over(last)) => reply = Some(last),
                None => launch.kill_session(),
            }
            phase = Phase::Draining;
            deadline = Deadline::after(if stays { STAYING_PATIENCE } else { DRAIN_PATIENCE });
        }
    }
    Ok(RunRecord { began, reply, timed_out, stdout: stdout.captured, stderr: stderr.captured })
}

/// Returns the next message, or `None` when the launcher died without one.
fn receive(launch: &Launch) -> Result<Option<LauncherMessage>, NativeError> {
    match launch.receive() {
        Ok(message) => Ok(Some(message)),
        Err(error) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => Ok(None),
        Err(error) => Err(NativeError::Reply(error)),
    }
}

/// Descriptors that are ready to be read.
#[derive(Debug, Default)]
struct Ready {
    control: bool,
    stdout: bool,
    stderr: bool,
    outside: bool,
}

impl Ready {
    fn wait(
        control: Option<&Launch>,
        stdout: &Stream,
        stderr: &Stream,
        outside: Option<&UnixStream>,
        deadline: Option<Instant>,
    ) -> io::Result<Self> {
        let fds = [
            control.map(|launch| launch.control().as_fd()),
            stdout.pipe.as_ref().map(AsFd::as_fd),
            stderr.pipe.as_ref().map(AsFd::as_fd),
            outside.map(AsFd::as_fd),
        ];
        let mut polled: Vec<PollFd<'_>> =
            fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        let timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match rustix::event::poll(&mut polled, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Self::default()),
            Err(error) => return Err(error.into()),
        }
        let mut results = polled.iter().map(|fd| !fd.revents().is_empty());
        let mut next = |asked: bool| asked && results.next().unwrap_or(false);
        let [control, stdout, stderr, outside] = fds.map(|fd| next(fd.is_some()));
        Ok(Self { control, stdout, stderr, outside })
    }
}
