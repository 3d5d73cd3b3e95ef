//! The batch's side of a worker process: starts it, sends it jobs, reads its answers and kills it.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use modbox_channel::Incoming;
use modbox_cleanup::{Cleanup, UndoGuard};
use rustix::process::{Pid, Signal};

use crate::app::audit::PendingRecord;
use crate::batch::setup::{FRAMES, Greeting, Setup, Surroundings};
use crate::batch::worker;

/// Time beyond its limits that a job gets before its worker is killed. Normally the worker ends the job well before.
const GRACE: Duration = Duration::from_millis(200);

/// Time that a worker gets to start, in addition to compiling.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// Maximum number of jobs sent to a worker in advance when its jobs are short.
const AHEAD: usize = 32;

/// How long the batch lets answers gather in the pipes while all workers have plenty of jobs. Waking up for every
/// answer costs two process switches for each job; on one processor a batch of short jobs would take 1.5 times as long.
/// Workers still write each answer at once, so that no answer is lost with its worker.
const GATHER: Duration = Duration::from_micros(500);

/// A job that takes less than this is short.
const SHORT: Duration = Duration::from_millis(2);

/// How often the batch checks whether an ending worker has ended. The worker may hang, so the number is small.
const REAP_TRIES: u32 = 50;

/// The same for an idle worker. It ends as soon as the scheduler runs it; if it is killed before that, its temporary
/// files stay behind. So this number is large.
const IDLE_REAP_TRIES: u32 = 2500;

/// Pause between two checks.
const REAP_PAUSE: Duration = Duration::from_millis(2);

/// Bytes per read.
const CHUNK: usize = 64 << 10;

/// A job that waits for a worker or was sent to one.
#[derive(Debug)]
pub(super) struct Pending {
    /// Position among all jobs.
    pub(super) number: u64,
    pub(super) id: modbox_python_json::Value,
    pub(super) line: Vec<u8>,
    pub(super) setup: Arc<Setup>,
    /// The reserved audit line, once the job was sent to a worker.
    pub(super) audit: Option<PendingRecord>,
}

/// A running worker.
pub(super) struct Worker {
    pub(super) setup: Arc<Setup>,
    /// Jobs that were sent and not answered, oldest first. The first one is running.
    pub(super) jobs: VecDeque<Pending>,
    child: Arc<Mutex<Child>>,
    input: Option<ChildStdin>,
    output: ChildStdout,
    outgoing: Vec<u8>,
    incoming: Incoming,
    ready: bool,
    /// When the worker started its current activity: starting up, or the first of `jobs`.
    since: Instant,
    /// Smoothed duration of the last jobs.
    pace: Duration,
    pub(super) idle_since: Instant,
    /// Kills the process when it is dropped.
    _undo: UndoGuard,
}

/// State of a worker's output stream after reading.
pub(super) enum OutputState {
    /// The stream is open and has no further complete answer.
    Open,
    /// The worker closed the stream or broke the protocol: it is ending.
    Closed,
}

/// Waits for a moment while all busy workers have plenty to do; see [`GATHER`].
pub(super) fn let_answers_gather(workers: &[Worker]) {
    let mut jobs = workers.iter().map(|worker| worker.jobs.len()).filter(|jobs| *jobs > 0).peekable();
    if jobs.peek().is_some() && jobs.all(|jobs| jobs > AHEAD / 2) {
        thread::sleep(GATHER);
    }
}

impl Worker {
    /// Starts a worker for a setup.
    ///
    /// # Errors
    ///
    /// The process cannot be started.
    pub(super) fn start(
        program: &Path,
        surroundings: &Surroundings,
        setup: Arc<Setup>,
        cleanup: &Cleanup,
    ) -> io::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts workers")]
        let mut command = Command::new(program);
        command.arg(worker::WORD).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
        // A run allocates more small blocks of some sizes than glibc caches per thread by default.
        command.env("GLIBC_TUNABLES", "glibc.malloc.tcache_count=127");
        // Puts the worker into another process group, so that Ctrl-C in a terminal reaches only the batch and running
        // jobs can finish.
        command.process_group(0);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a worker without streams");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let child = Arc::new(Mutex::new(child));
        let undone = Arc::clone(&child);
        let undo = cleanup.register(move || kill(&undone, REAP_TRIES));
        rustix::io::ioctl_fionbio(&input, true)?;
        rustix::io::ioctl_fionbio(&output, true)?;
        let greeting = Greeting {
            surroundings: surroundings.clone(),
            path: setup.module.path().to_owned(),
            kind: setup.kind.clone(),
            policy: setup.policy.clone(),
            limits: setup.limits,
            parent: std::process::id(),
        };
        let mut outgoing = Vec::new();
        FRAMES.send(&mut outgoing, &greeting)?;
        FRAMES.push(&mut outgoing, setup.module.bytes().map_err(io::Error::other)?)?;
        let now = Instant::now();
        Ok(Self {
            setup,
            jobs: VecDeque::new(),
            child,
            input: Some(input),
            output,
            outgoing,
            incoming: Incoming::new(FRAMES),
            ready: false,
            since: now,
            pace: Duration::MAX,
            idle_since: now,
            _undo: undo,
        })
    }

    /// Queues a job for this worker; [`flush`](Self::flush) writes it.
    pub(super) fn send(&mut self, job: Pending) {
        if self.jobs.is_empty() && self.ready {
            self.since = Instant::now();
        }
        FRAMES.push(&mut self.outgoing, &job.line).expect("a line is shorter than the longest frame");
        self.jobs.push_back(job);
    }

    /// Writes as much as the pipe takes. Ignores that the worker has ended: reading its output notices that.
    pub(super) fn flush(&mut self) {
        let Some(input) = &mut self.input else { return };
        let mut written = 0;
        while written < self.outgoing.len() {
            match input.write(&self.outgoing[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => written = self.outgoing.len(),
            }
        }
        self.outgoing.drain(..written);
    }

    /// Reads the worker's output, and calls `answer` with each answered job and its answer.
    pub(super) fn listen(&mut self, mut answer: impl FnMut(Pending, &[u8])) -> OutputState {
        let mut chunk = [0; CHUNK];
        loop {
            let count = match self.output.read(&mut chunk) {
                Ok(0) => return OutputState::Closed,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return OutputState::Open,
                Err(_) => return OutputState::Closed,
            };
            self.incoming.extend(&chunk[..count]);
            if self.take_in(Instant::now(), &mut answer).is_err() {
                return OutputState::Closed;
            }
            if count < chunk.len() {
                return OutputState::Open;
            }
        }
    }

    /// Handles the complete frames that have arrived.
    ///
    /// # Errors
    ///
    /// A frame is too long, or answers no job.
    fn take_in(&mut self, now: Instant, mut answer: impl FnMut(Pending, &[u8])) -> io::Result<()> {
        let mut answered = 0;
        while let Some(payload) = self.incoming.take()? {
            if !self.ready {
                (self.ready, self.since) = (true, now);
                continue;
            }
            answer(self.jobs.pop_front().ok_or(io::ErrorKind::InvalidData)?, payload);
            answered += 1;
        }
        if answered > 0 {
            // Answers that arrived together come from jobs that ran one after another.
            let took = (now - self.since) / answered;
            self.pace = if self.pace == Duration::MAX { took } else { (self.pace * 7 + took) / 8 };
            (self.since, self.idle_since) = (now, now);
        }
        Ok(())
    }

    /// Returns whether the worker can be sent another job now. A worker with short jobs is sent several in advance, so
    /// that it never waits for the next one.
    pub(super) fn has_room(&self) -> bool {
        self.jobs.len() < if self.pace < SHORT { AHEAD } else { 1 }
    }

    /// Returns when the worker must have answered at the latest; `None` while it is idle.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let limits = &self.setup.limits;
        match (self.ready, self.jobs.is_empty()) {
            (true, true) => None,
            (true, false) => Some(self.since + limits.timeout + GRACE),
            (false, _) => Some(self.since + limits.compile_time * 3 + START_PATIENCE),
        }
    }

    /// Returns whether the worker has started up, so that a failure from now on is the module's.
    pub(super) fn is_ready(&self) -> bool {
        self.ready
    }

    /// Waits for a worker that is ending, and returns its exit status. Returns `None` for one that closed its output
    /// and goes on; dropping it kills it.
    pub(super) fn reap(&mut self) -> Option<ExitStatus> {
        wait_for_exit(&self.child, REAP_TRIES)
    }

    pub(super) fn wants_to_write(&self) -> bool {
        !self.outgoing.is_empty()
    }

    pub(super) fn input(&self) -> Option<BorrowedFd<'_>> {
        self.input.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.ready && self.jobs.is_empty() {
            kill(&self.child, IDLE_REAP_TRIES);
        }
    }
}

fn lock(child: &Mutex<Child>) -> std::sync::MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a worker: sends SIGTERM, so that it removes its temporary files, then SIGKILL. The lock is not held during the
/// wait, so that another thread, as after a second signal, can end the worker sooner.
fn kill(child: &Mutex<Child>, tries: u32) {
    if terminate(&mut lock(child)) && wait_for_exit(child, tries).is_some() {
        return;
    }
    let mut child = lock(child);
    // Both fail only when the process has ended already.
    drop(child.kill());
    drop(child.wait());
}

/// Sends SIGTERM to a process. Returns whether the process still existed.
fn terminate(child: &mut Child) -> bool {
    let is_there = matches!(child.try_wait(), Ok(None));
    if is_there {
        // The process was not reaped yet, so its id cannot belong to another process.
        let _ = rustix::process::kill_process(Pid::from_child(child), Signal::TERM);
    }
    is_there
}

fn wait_for_exit(child: &Mutex<Child>, tries: u32) -> Option<ExitStatus> {
    for _ in 0..tries {
        if let Ok(Some(status)) = lock(child).try_wait() {
            return Some(status);
        }
        std::thread::sleep(REAP_PAUSE);
    }
    None
}
