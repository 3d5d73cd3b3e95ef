//! Attends a run: empties both pipes, waits for the launcher's reply, and keeps the time.
//!
//! One loop in the calling thread, no threads and no blocking call in it: whatever the module, its
//! children or the launcher do, each turn has a deadline. Output beyond the limit is counted and thrown
//! away, never left in the pipe, so a module that writes too much still runs to its end.

use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use modbox_vocabulary::{Captured, Limits};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::NativeError;
use crate::launch::{Launch, Pipes};
use crate::protocol::Reply;

/// What a pipe holds by default, so mostly read in one go.
const CHUNK: usize = 64 << 10;

/// How long to go on reading when everything that could write is dead: only for what is already in the
/// pipes, and in case something survived and holds them.
const DRAIN_PATIENCE: Duration = Duration::from_secs(1);

/// How long the launcher may take to end everything once it is told to. Then its host does, so that a run ends within a
/// second of its limit on a busy machine, too.
const STOP_PATIENCE: Duration = Duration::from_millis(700);

/// What was seen of a run.
#[derive(Debug)]
pub(super) struct Attended {
    /// What the launcher said, if it lived to say something.
    pub(super) reply: Option<Reply>,
    /// The time was over before it ended.
    pub(super) timed_out: bool,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The module runs.
    Running,
    /// The launcher was asked to kill.
    Stopping,
    /// Everything is dead; only the pipes are to be emptied.
    Draining,
}

/// Attends a run to its end.
pub(super) fn attend(launch: &Launch, pipes: Pipes, limits: &Limits) -> Result<Attended, NativeError> {
    let mut stdout = Stream::new(pipes.stdout, limits.max_output);
    let mut stderr = Stream::new(pipes.stderr, limits.max_output);
    let mut chunk = vec![0; CHUNK];
    let mut phase = Phase::Running;
    // A timeout beyond what the clock can hold is none.
    let mut deadline = Instant::now().checked_add(limits.timeout);
    let (mut reply, mut timed_out) = (None, false);
    while phase != Phase::Draining || stdout.is_open() || stderr.is_open() {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
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
                Phase::Draining => break,
            };
            deadline = Instant::now().checked_add(patience);
        }
        let control = (phase != Phase::Draining).then_some(launch);
        let ready = Ready::wait(control, &stdout, &stderr, deadline).map_err(NativeError::Wait)?;
        if ready.stdout {
            stdout.read(&mut chunk).map_err(NativeError::ReadOutput)?;
        }
        if ready.stderr {
            stderr.read(&mut chunk).map_err(NativeError::ReadOutput)?;
        }
        if ready.control {
            reply = receive(launch)?;
            if reply.is_none() {
                launch.kill_session();
            }
            phase = Phase::Draining;
            deadline = Instant::now().checked_add(DRAIN_PATIENCE);
        }
    }
    Ok(Attended { reply, timed_out, stdout: stdout.captured, stderr: stderr.captured })
}

/// Returns the reply, or `None` when the launcher died without one.
fn receive(launch: &Launch) -> Result<Option<Reply>, NativeError> {
    match launch.receive() {
        Ok(reply) => Ok(Some(reply)),
        Err(error) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => Ok(None),
        Err(error) => Err(NativeError::Reply(error)),
    }
}

/// One output stream, and what was kept of it.
#[derive(Debug)]
struct Stream {
    /// Gone at the end of the stream.
    pipe: Option<PipeReader>,
    captured: Captured,
    max: u64,
}

impl Stream {
    fn new(pipe: PipeReader, max: u64) -> Self {
        Self { pipe: Some(pipe), captured: Captured::default(), max }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Reads once, without waiting.
    fn read(&mut self, chunk: &mut [u8]) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        match pipe.read(chunk) {
            Ok(0) => self.pipe = None,
            Ok(length) => {
                let room = self.max.saturating_sub(self.captured.bytes.len() as u64);
                let kept = length.min(usize::try_from(room).unwrap_or(usize::MAX));
                self.captured.bytes.extend_from_slice(&chunk[..kept]);
                self.captured.total += length as u64;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Which descriptors have something.
#[derive(Debug, Default)]
struct Ready {
    control: bool,
    stdout: bool,
    stderr: bool,
}

impl Ready {
    fn wait(control: Option<&Launch>, stdout: &Stream, stderr: &Stream, deadline: Option<Instant>) -> io::Result<Self> {
        let fds = [
            control.map(|launch| launch.control().as_fd()),
            stdout.pipe.as_ref().map(AsFd::as_fd),
            stderr.pipe.as_ref().map(AsFd::as_fd),
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
        Ok(Self { control: next(fds[0].is_some()), stdout: next(fds[1].is_some()), stderr: next(fds[2].is_some()) })
    }
}
