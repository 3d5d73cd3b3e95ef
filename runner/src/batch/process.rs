//! A worker, seen from the batch: started, fed, listened to, killed.

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

/// How long beyond its limits a job may take until its worker is killed: the worker itself ends it well before.
const GRACE: Duration = Duration::from_millis(200);

/// How long a worker may take to start, beside compiling.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// The most jobs that a worker is sent ahead, when its jobs are short.
const AHEAD: usize = 32;

/// How long answers gather in the pipes of workers with plenty to do. To be woken by every answer costs two process
/// switches for each job; on one processor a batch of short jobs takes half as long again. Workers write answers one by one
/// all the same, so that none is lost with its worker.
const GATHER: Duration = Duration::from_micros(500);

/// Jobs that take less than this are short.
const SHORT: Duration = Duration::from_millis(2);

/// How often a worker that is ending is looked at: it may be one that hangs.
const REAP_TRIES: u32 = 50;

/// The same of one that has nothing to do. It ends at once where it gets a turn, and what it has made stays behind where
/// it is killed before.
const IDLE_REAP_TRIES: u32 = 2500;

const REAP_PAUSE: Duration = Duration::from_millis(2);

/// Read at once.
const CHUNK: usize = 64 << 10;

/// A job that waits for a worker or is with one.
#[derive(Debug)]
pub(super) struct Pending {
    /// Its place among all lines.
    pub(super) number: u64,
    pub(super) id: modbox_python_json::Value,
    pub(super) line: Vec<u8>,
    pub(super) setup: Arc<Setup>,
    /// The line that it leaves in the audit log, once it was sent to a worker.
    pub(super) audit: Option<PendingRecord>,
}

/// A running worker.
pub(super) struct Worker {
    pub(super) setup: Arc<Setup>,
    /// What it was sent and has not answered, the oldest first: that one runs.
    pub(super) jobs: VecDeque<Pending>,
    child: Arc<Mutex<Child>>,
    input: Option<ChildStdin>,
    output: ChildStdout,
    outgoing: Vec<u8>,
    incoming: Incoming,
    ready: bool,
    /// When it started on what it does now.
    since: Instant,
    /// How long the last jobs took, smoothed.
    pace: Duration,
    pub(super) idle_since: Instant,
    /// Kills the process when it is dropped.
    _undo: UndoGuard,
}

/// What a worker had to say.
pub(super) enum Heard {
    /// Nothing new, or nothing that is whole.
    Nothing,
    /// It closed its output: it is ending.
    Gone,
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
    /// A process that cannot be started.
    pub(super) fn start(
        program: &Path,
        surroundings: &Surroundings,
        setup: Arc<Setup>,
        cleanup: &Cleanup,
    ) -> io::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts workers")]
        let mut command = Command::new(program);
        command.arg(worker::WORD).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
        // A run makes more small blocks of some sizes than the C library keeps at hand by default.
        command.env("GLIBC_TUNABLES", "glibc.malloc.tcache_count=127");
        // What a terminal sends to stop the batch is not for its workers: they finish.
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

    /// Gives it a job.
    pub(super) fn send(&mut self, job: Pending) {
        if self.jobs.is_empty() && self.ready {
            self.since = Instant::now();
        }
        FRAMES.push(&mut self.outgoing, &job.line).expect("a line is shorter than the longest frame");
        self.jobs.push_back(job);
    }

    /// Writes what it takes. A worker that is gone is noticed when its output ends.
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

    /// Reads what it says and hands every answer on, with the job that it answers.
    pub(super) fn listen(&mut self, mut answer: impl FnMut(Pending, &[u8])) -> Heard {
        let mut chunk = [0; CHUNK];
        loop {
            let count = match self.output.read(&mut chunk) {
                Ok(0) => return Heard::Gone,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Heard::Nothing,
                Err(_) => return Heard::Gone,
            };
            self.incoming.extend(&chunk[..count]);
            if self.take_in(Instant::now(), &mut answer).is_err() {
                return Heard::Gone;
            }
            if count < chunk.len() {
                return Heard::Nothing;
            }
        }
    }

    /// Takes in the frames that arrived.
    ///
    /// # Errors
    ///
    /// A frame that is too long, or an answer to nothing.
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
            // Several that arrived together were done one after another.
            let took = (now - self.since) / answered;
            self.pace = if self.pace == Duration::MAX { took } else { (self.pace * 7 + took) / 8 };
            (self.since, self.idle_since) = (now, now);
        }
        Ok(())
    }

    /// Returns whether it is sent another job before it has answered the ones that it has. A worker with short jobs has
    /// several, so that it does not wait for the next one.
    pub(super) fn has_room(&self) -> bool {
        self.jobs.len() < if self.pace < SHORT { AHEAD } else { 1 }
    }

    /// Returns when it has to have answered.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let limits = &self.setup.limits;
        match (self.ready, self.jobs.is_empty()) {
            (true, true) => None,
            (true, false) => Some(self.since + limits.timeout + GRACE),
            (false, _) => Some(self.since + limits.compile_time * 3 + START_PATIENCE),
        }
    }

    /// Whether what it does now is the module's doing, not starting.
    pub(super) fn is_ready(&self) -> bool {
        self.ready
    }

    /// Waits for one that is ending by itself, and returns how it ended. Whoever only closed its output is killed.
    pub(super) fn reap(&mut self) -> Option<ExitStatus> {
        ended(&self.child, REAP_TRIES)
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

/// Ends a worker. It is asked first, so that it removes what its run left on the disk. Whoever would have it end sooner, as
/// a second signal does, need not wait for this.
fn kill(child: &Mutex<Child>, tries: u32) {
    if ask(&mut lock(child)) && ended(child, tries).is_some() {
        return;
    }
    let mut child = lock(child);
    // Neither fails but for a process that is gone already.
    drop(child.kill());
    drop(child.wait());
}

/// Asks a process to end. Returns whether it was still there.
fn ask(child: &mut Child) -> bool {
    let is_there = matches!(child.try_wait(), Ok(None));
    if is_there {
        // It was not waited for yet, so the number is still its own.
        let _ = rustix::process::kill_process(Pid::from_child(child), Signal::TERM);
    }
    is_there
}

fn ended(child: &Mutex<Child>, tries: u32) -> Option<ExitStatus> {
    for _ in 0..tries {
        if let Ok(Some(status)) = lock(child).try_wait() {
            return Some(status);
        }
        std::thread::sleep(REAP_PAUSE);
    }
    None
}
