//! The host's end of the starter of commands outside: starts it, and keeps what it tells for the report.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use modbox_channel::descriptor;
use modbox_policy::outside::OutsideGrant;
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_vocabulary::{Denial, GrantSource, OutsideRun, User};
use modbox_worker::{Role, WorkerProcess, Workers};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::error::NativeError;
use crate::host::context::NativeContext;
use crate::outside::environment;
use crate::outside::messages::{OUTSIDE_MESSAGES, OutsideEvent, OutsideSpec};
use crate::outside::operand_files::OperandFiles;
use crate::rooms::room::OutsideRequest;

/// How long a message may take that has begun to arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait for commands that still run when the module is gone. The starter leaves them to themselves after 30 s.
const END_PATIENCE: Duration = Duration::from_secs(40);

/// What is known of the commands outside of a run.
#[derive(Debug, Default)]
pub struct OutsideRecord {
    /// The commands that ran, in the order of their ends.
    pub runs: Vec<OutsideRun>,
    /// The commands that no rule covers.
    pub denials: Vec<Denial>,
    /// Messages for the operator.
    pub notes: Vec<String>,
}

/// Returns the paths that a module may change: those that its policy grants, and its own directory on the machine.
pub(crate) fn written(policy: &Policy, own: &Path) -> Vec<PathGrant> {
    let of_policy = policy.paths().iter().filter(|grant| grant.access == Access::Write).cloned();
    let own = PathGrant {
        host: own.to_owned(),
        shape: Shape::Directory,
        guest: own.display().to_string(),
        access: Access::Write,
        source: GrantSource::named("the run's own directory"),
    };
    of_policy.chain([own]).collect()
}

/// Returns the instructions of a starter.
pub(crate) fn spec(
    (grants, written): (&[OutsideGrant], Vec<PathGrant>),
    user: Option<&User>,
    request: &OutsideRequest,
    files: OperandFiles,
) -> OutsideSpec {
    OutsideSpec {
        grants: grants.to_vec(),
        written,
        user: user.cloned(),
        user_name: request.user.clone(),
        environment: environment::fixed(&request.user, &request.home, &request.environment),
        limit: request.limit,
        inputs: request.inputs.clone(),
        files,
    }
}

/// A started starter.
#[derive(Debug)]
pub(crate) struct OutsideCommands {
    worker: WorkerProcess,
    is_open: bool,
    /// Commands that run.
    running: u64,
    /// Commands that are not listed.
    omitted: u64,
    record: OutsideRecord,
}

impl OutsideCommands {
    /// Starts a starter if commands may run outside of the room. Returns it with the launcher's channel to it.
    /// `tmpdir` is the module's own directory on the machine.
    pub(crate) fn start(cx: &NativeContext, tmpdir: &Path) -> Result<Option<(Self, UnixStream)>, NativeError> {
        let Some((confine, request)) =
            cx.confine.as_ref().and_then(|confine| Some((confine, confine.outside.as_ref()?)))
        else {
            return Ok(None);
        };
        // The module writes into its directory if that is kept.
        let written = written(&confine.policy, tmpdir);
        let spec = spec((confine.policy.outside(), written), cx.user.as_ref(), request, OperandFiles::Room);
        Self::instruct(&cx.workers, &spec).map(Some)
    }

    /// Starts a starter. Returns it with the channel for asks.
    pub(crate) fn instruct(workers: &Workers, spec: &OutsideSpec) -> Result<(Self, UnixStream), NativeError> {
        // Not the process that was forked early: it has the memory of this one.
        let worker = workers.without_early().start(Role::Outside).map_err(NativeError::StartOutside)?;
        let instruct = || -> io::Result<UnixStream> {
            worker.socket().set_read_timeout(Some(PATIENCE))?;
            worker.socket().set_write_timeout(Some(PATIENCE))?;
            let (ours, theirs) = UnixStream::pair()?;
            OUTSIDE_MESSAGES.send(worker.socket(), spec)?;
            descriptor::send(worker.socket(), &theirs)?;
            Ok(ours)
        };
        let channel = instruct().map_err(NativeError::StartOutside)?;
        let (running, omitted, record) = (0, 0, OutsideRecord::default());
        Ok((Self { worker, is_open: true, running, omitted, record }, channel))
    }

    /// Returns the channel on which it tells what it did, until its end.
    pub(crate) fn channel(&self) -> Option<&UnixStream> {
        self.is_open.then(|| self.worker.socket())
    }

    /// Returns whether a command runs.
    pub(crate) fn are_running(&self) -> bool {
        self.is_open && self.running > 0
    }

    /// Receives one message, or the end of the starter.
    pub(crate) fn receive(&mut self) {
        match OUTSIDE_MESSAGES.receive::<OutsideEvent>(self.worker.socket()) {
            Ok(Some(OutsideEvent::Began)) => self.running += 1,
            Ok(Some(OutsideEvent::Ended(run))) => {
                self.running = self.running.saturating_sub(1);
                match self.record.runs.len() < OutsideRun::MAX_LISTED {
                    true => self.record.runs.push(run),
                    false => self.omitted += 1,
                }
            }
            Ok(Some(OutsideEvent::Denied(denial))) => self.record.denials.push(denial),
            Ok(Some(OutsideEvent::Note(note))) => self.record.notes.push(note),
            Ok(None) | Err(_) => self.is_open = false,
        }
    }

    /// Waits for the end of the starter, after that of the launcher. Returns what it has told.
    pub(crate) fn finish(mut self) -> OutsideRecord {
        let deadline = Instant::now() + END_PATIENCE;
        while let Some(channel) = self.channel() {
            let timeout = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
            let mut polled = [PollFd::new(channel, PollFlags::IN)];
            match rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, timeout.as_ref())) {
                Ok(1..) => self.receive(),
                Ok(0) | Err(_) => break,
            }
        }
        let mut record = self.record;
        if self.running > 0 {
            record.notes.push(format!(
                "the process that starts commands outside was gone before {} of them had ended; they go on",
                self.running
            ));
        }
        if self.omitted > 0 {
            record.notes.push(format!("{} more commands ran outside than are listed", self.omitted));
        }
        if self.worker.wait(PATIENCE).is_none() {
            self.worker.kill();
            self.worker.wait(PATIENCE);
        }
        record
    }
}
