//! The monitor's end of a guest worker: sends orders, receives events, and ends the worker.
//!
//! Nothing here blocks but [`GuestWorker::next_event`], which has a deadline. A caller with many workers polls them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use modbox_channel::{Incoming, Parcel, descriptor};
use modbox_cleanup::{Cleanup, UndoGuard};
use modbox_kernel::KernelConfinement;
use modbox_policy::Owners;
use modbox_vocabulary::{CommandOutput, CommandRefusal, CommandRequest, Outcome, Timing};
use modbox_worker::{Role, WorkerProcess, Workers};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::engine::Instances;
use crate::error::WasmError;
use crate::worker::messages::{GuestOrder, GuestSetup, OutputStream, REPLIES, REQUESTS, Reply, Request};
use crate::worker::refused_calls::RefusedCalls;

/// Bytes per read.
const CHUNK: usize = 64 << 10;

/// How long a worker may take to end after its channel was closed, or after it was killed.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// Maximum number of refused calls that are taken at the end of a run. A worker that its guest has taken over makes them
/// without end.
const LAST_CALLS: usize = 64;

/// A worker process that runs guests of one module.
#[derive(Debug)]
pub struct GuestWorker {
    process: Arc<WorkerProcess>,
    incoming: Incoming,
    outgoing: Vec<u8>,
    is_closed: bool,
    refused: RefusedCalls,
    /// A refused call that is not taken yet.
    call: Option<i64>,
    /// The owners whose files may have set-id bits.
    own: Owners,
    /// Kills the process when a signal ends modbox, and when it is dropped.
    _undo: UndoGuard,
}

/// Message of a worker.
#[derive(Debug)]
pub enum GuestEvent {
    /// The code is loaded.
    Loaded(Timing),
    /// The code cannot be loaded, and the worker ends.
    NotLoaded(WasmError),
    /// The worker is confined. If the level is too low, the worker ends without running a guest.
    Confined(KernelConfinement),
    /// The worker cannot be confined for this reason, and ends.
    NotConfined(String),
    /// The kernel refused the worker a system call with this number.
    RefusedCall(i64),
    /// The guest printed.
    Printed(OutputStream, Vec<u8>),
    /// The guest wants to run a command with this standard input, and waits for the answer.
    Command(Box<CommandRequest>, Vec<u8>),
    /// A worker of plugins sent a message.
    Plugins(Vec<u8>),
    /// The run has ended. The outcome has no output: that was printed before.
    Ended(Box<Outcome>),
    /// The guest could not be started.
    NotStarted(WasmError),
    /// The worker has closed its channel: it has ended, or is about to.
    Closed,
}

impl GuestWorker {
    /// Starts a worker with compiled code.
    ///
    /// # Errors
    ///
    /// The process cannot be started.
    pub fn start(workers: &Workers, code: &File, instances: Instances, cleanup: &Cleanup) -> io::Result<Self> {
        let process = Arc::new(workers.start(Role::Guest)?);
        let killed = Arc::clone(&process);
        let undo = cleanup.register(move || {
            killed.kill();
            killed.wait(END_PATIENCE);
        });
        let mut load = Vec::new();
        REQUESTS.push_parcel(&mut load, &Request::Load(instances), &[])?;
        let mut socket = process.socket();
        socket.write_all(&load)?;
        descriptor::send(process.socket(), code)?;
        process.socket().set_nonblocking(true)?;
        let (incoming, outgoing) = (Incoming::new(REPLIES), Vec::new());
        let refused = RefusedCalls::Awaited(None);
        Ok(Self {
            process,
            incoming,
            outgoing,
            is_closed: false,
            refused,
            call: None,
            own: Owners::Some(Vec::new()),
            _undo: undo,
        })
    }

    /// Queues the settings of all runs; the worker confines itself. This comes before the first run.
    ///
    /// # Errors
    ///
    /// The message is too long.
    pub fn set_up(&mut self, setup: GuestSetup) -> io::Result<()> {
        self.own = setup.policy.owners();
        self.push(&Request::SetUp(Box::new(setup)), &[])
    }

    /// Queues a run.
    ///
    /// # Errors
    ///
    /// The message is too long.
    pub fn run(&mut self, order: GuestOrder) -> io::Result<()> {
        let (stdin, files) = (order.stdin.clone(), order.files.clone());
        let attached: Vec<&[u8]> =
            [stdin.as_slice()].into_iter().chain(files.iter().map(|file| &*file.contents)).collect();
        self.push(&Request::Run(Box::new(order)), &attached)
    }

    /// Queues the answer to a command.
    ///
    /// # Errors
    ///
    /// The message is too long.
    pub fn answer(&mut self, answer: Result<CommandOutput, CommandRefusal>) -> io::Result<()> {
        match answer {
            Ok(mut output) => {
                let [stdout, stderr] =
                    [&mut output.stdout, &mut output.stderr].map(|stream| std::mem::take(&mut stream.bytes));
                self.push(&Request::Answer(Box::new(Ok(output))), &[&stdout, &stderr])
            }
            refused => self.push(&Request::Answer(Box::new(refused)), &[]),
        }
    }

    /// Queues a message for a worker of plugins.
    ///
    /// # Errors
    ///
    /// The message is too long.
    pub fn tell_plugins(&mut self, message: &[u8]) -> io::Result<()> {
        self.push(&Request::Plugins, &[message])
    }

    /// Returns the processor time that all threads of the worker have used.
    ///
    /// # Errors
    ///
    /// The worker has ended.
    pub fn processor_time(&self) -> io::Result<Duration> {
        self.process.processor_time()
    }

    fn push(&mut self, request: &Request, attached: &[&[u8]]) -> io::Result<()> {
        REQUESTS.push_parcel(&mut self.outgoing, request, attached)
    }

    /// Writes as much as the channel takes. Ignores that the worker has ended: reading notices that.
    pub fn flush(&mut self) {
        let mut written = 0;
        while written < self.outgoing.len() {
            let mut socket = self.process.socket();
            match socket.write(&self.outgoing[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => written = self.outgoing.len(),
            }
        }
        self.outgoing.drain(..written);
    }

    /// Returns whether [`Self::flush`] has something to write.
    #[must_use]
    pub fn wants_to_write(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Reads once of what has arrived, and answers one refused call, without waiting. A worker that sends without end so
    /// keeps no caller from its deadlines.
    pub fn read(&mut self) {
        // Looked for first, so that what the worker sent before the call is taken before the call.
        let has_call = self.call.is_none() && self.refused.has_call();
        self.read_channel();
        if has_call {
            self.call = self.refused.answer(&self.own);
        }
    }

    fn read_channel(&mut self) {
        let mut chunk = [0; CHUNK];
        let read = match self.refused.are_awaited() {
            true => descriptor::read_with(self.process.socket(), &mut chunk),
            // Closes descriptors.
            false => rustix::io::retry_on_intr(|| rustix::io::read(self.process.socket(), &mut chunk))
                .map(|count| (count, None)),
        };
        let read = read.map(|(count, descriptor)| {
            self.refused.keep(descriptor);
            count
        });
        match read {
            Ok(0) => self.is_closed = true,
            Ok(count) => self.incoming.extend(&chunk[..count]),
            Err(rustix::io::Errno::AGAIN) => {}
            Err(_) => self.is_closed = true,
        }
    }

    /// Takes the next event that was [read](Self::read).
    pub fn take_event(&mut self) -> Option<GuestEvent> {
        let event = match self.incoming.take() {
            Ok(Some(frame)) => event(frame).unwrap_or(GuestEvent::Closed),
            Ok(None) => {
                let call = self.call.take().map(GuestEvent::RefusedCall);
                return call.or_else(|| self.is_closed.then_some(GuestEvent::Closed));
            }
            Err(_) => GuestEvent::Closed,
        };
        if matches!(event, GuestEvent::Confined(_)) {
            self.refused.begin();
        }
        Some(event)
    }

    /// Refuses the system calls that wait at the end of a run, and returns their numbers: threads may have made them
    /// while another one ended the run.
    pub fn take_refused_calls(&mut self) -> impl Iterator<Item = i64> {
        std::iter::from_fn(|| self.call.take().or_else(|| self.refused.answer(&self.own))).take(LAST_CALLS)
    }

    /// Returns the descriptor to poll for refused calls, in addition to the channel.
    #[must_use]
    pub fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.refused.listener()
    }

    /// Waits for the next event; returns `None` at the deadline.
    ///
    /// # Errors
    ///
    /// The kernel cannot wait.
    pub fn next_event(&mut self, deadline: Option<Instant>) -> io::Result<Option<GuestEvent>> {
        loop {
            if self.wants_to_write() {
                self.flush();
            }
            if let Some(event) = self.take_event() {
                return Ok(Some(event));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let wanted = if self.wants_to_write() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            let mut polled = vec![PollFd::new(self, wanted)];
            polled.extend(self.listener().map(|listener| PollFd::from_borrowed_fd(listener, PollFlags::IN)));
            rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, timeout.as_ref()))?;
            self.read();
        }
    }

    /// Kills the worker.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Kills a worker that breaks the protocol. One that has closed its channel ends by itself, and its exit status says
    /// how.
    pub fn kill_unless_closed(&self) {
        if !self.is_closed {
            self.process.kill();
        }
    }

    /// Waits for the end of a worker that has closed its channel, and kills one that does not end.
    pub fn reap(&mut self) -> Option<ExitStatus> {
        self.process.wait(END_PATIENCE).or_else(|| {
            self.process.kill();
            self.process.wait(END_PATIENCE)
        })
    }
}

impl AsFd for GuestWorker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.process.socket().as_fd()
    }
}

fn event(frame: &[u8]) -> io::Result<GuestEvent> {
    let parcel = Parcel::<Reply>::decode(frame)?;
    Ok(match parcel {
        Parcel { message: Reply::Loaded(timing), .. } => GuestEvent::Loaded(timing),
        Parcel { message: Reply::NotLoaded(failure), .. } => GuestEvent::NotLoaded(failure.into()),
        Parcel { message: Reply::Confined(reached), .. } => GuestEvent::Confined(reached),
        Parcel { message: Reply::NotConfined(cause), .. } => GuestEvent::NotConfined(cause),
        Parcel { message: Reply::Ended(outcome), .. } => GuestEvent::Ended(outcome),
        Parcel { message: Reply::NotStarted(failure), .. } => GuestEvent::NotStarted(failure.into()),
        parcel => match parcel.with_one()? {
            (Reply::Printed(stream), bytes) => GuestEvent::Printed(stream, bytes),
            (Reply::Plugins, message) => GuestEvent::Plugins(message),
            (Reply::Command(request), stdin) => GuestEvent::Command(Box::new(request), stdin),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        },
    })
}
