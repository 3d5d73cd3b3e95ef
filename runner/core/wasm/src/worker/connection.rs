//! The worker's end of the channel: receives requests, sends replies, and asks the monitor to run commands.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use modbox_channel::{Parcel, descriptor};
use modbox_kernel::KernelConfinement;
use modbox_vocabulary::{CommandOutput, CommandRefusal, CommandRequest, CommandService};

use crate::engine::Instances;
use crate::plugins::{MAX_PLUGIN_MESSAGE, PluginChannel};
use crate::worker::messages::{OutputStream, REPLIES, REQUESTS, Reply, Request};

/// Size of the input buffer in bytes, so that one call reads several short runs.
const BUFFER: usize = 64 << 10;

/// Bytes of an ordinary reply. Longer ones make the buffer grow.
const ORDINARY: usize = 512;

/// Channel to the monitor.
#[derive(Debug)]
pub(super) struct Connection {
    /// Files and not sockets, because a confined process may only read and write.
    input: Mutex<Input>,
    output: Mutex<File>,
}

#[derive(Debug)]
struct Input {
    stream: BufReader<File>,
    /// Requests that arrived while the worker waited for the answer to a command.
    waiting: VecDeque<Parcel<Request>>,
}

impl Connection {
    /// Receives the first message, with the descriptor of the code. Returns `None` if the monitor needs no worker.
    ///
    /// # Errors
    ///
    /// The message is another one, or the channel fails.
    pub(super) fn open(socket: UnixStream) -> io::Result<Option<(Self, Instances, File)>> {
        let Some(frame) = REQUESTS.read(&socket)? else { return Ok(None) };
        let Request::Load(instances) = Parcel::decode(&frame)?.message else { return Err(unexpected()) };
        let code = File::from(descriptor::receive(&socket)?);
        let output = File::from(OwnedFd::from(socket.try_clone()?));
        let stream = BufReader::with_capacity(BUFFER, File::from(OwnedFd::from(socket)));
        let input = Mutex::new(Input { stream, waiting: VecDeque::new() });
        Ok(Some((Self { input, output: Mutex::new(output) }, instances, code)))
    }

    /// Receives the next request. Returns `None` when the monitor has closed its end.
    pub(super) fn receive(&self) -> io::Result<Option<Parcel<Request>>> {
        let mut input = self.lock_input();
        match input.waiting.pop_front() {
            Some(request) => Ok(Some(request)),
            None => input.receive(),
        }
    }

    pub(super) fn send(&self, reply: &Reply, attached: &[&[u8]]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(ORDINARY);
        REPLIES.push_parcel(&mut frame, reply, attached)?;
        self.lock_output().write_all(&frame)
    }

    /// Sends that this process is confined, with the listener of its filter. Closes the listener: from then on no guest
    /// can use it.
    pub(super) fn send_confined(&self, reached: KernelConfinement, listener: Option<OwnedFd>) -> io::Result<()> {
        let reply = Reply::Confined(reached);
        let Some(listener) = listener else { return self.send(&reply, &[]) };
        let mut frame = Vec::new();
        REPLIES.push_parcel(&mut frame, &reply, &[])?;
        descriptor::send_with(&*self.lock_output(), &frame, &listener)
    }

    /// Sends bytes that the guest has printed. A failure means that the monitor has ended, and the kernel then kills
    /// this process.
    pub(super) fn print(&self, stream: OutputStream, bytes: &[u8]) {
        let _ = self.send(&Reply::Printed(stream), &[bytes]);
    }

    fn ask(&self, request: &CommandRequest, stdin: &[u8]) -> io::Result<Result<CommandOutput, CommandRefusal>> {
        self.send(&Reply::Command(request.clone()), &[stdin])?;
        let mut input = self.lock_input();
        loop {
            let parcel = input.receive()?.ok_or(io::ErrorKind::UnexpectedEof)?;
            match parcel {
                Parcel { message: Request::Answer(answer), attached } => return with_output(*answer, attached),
                other => input.waiting.push_back(other),
            }
        }
    }

    fn lock_output(&self) -> MutexGuard<'_, File> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_input(&self) -> MutexGuard<'_, Input> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Input {
    fn receive(&mut self) -> io::Result<Option<Parcel<Request>>> {
        REQUESTS.read(&mut self.stream)?.map(|frame| Parcel::decode(&frame)).transpose()
    }
}

/// Puts the bytes of a command's output back into its answer.
fn with_output(
    mut answer: Result<CommandOutput, CommandRefusal>,
    attached: Vec<Vec<u8>>,
) -> io::Result<Result<CommandOutput, CommandRefusal>> {
    if let Ok(output) = &mut answer {
        let [stdout, stderr] = <[Vec<u8>; 2]>::try_from(attached).map_err(|_| unexpected())?;
        (output.stdout.bytes, output.stderr.bytes) = (stdout, stderr);
    }
    Ok(answer)
}

pub(super) fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the monitor sent another message than expected")
}

impl PluginChannel for Connection {
    fn receive(&self) -> Option<Vec<u8>> {
        match self.receive() {
            Ok(Some(parcel)) => match parcel.with_one() {
                Ok((Request::Plugins, message)) => Some(message),
                _ => None,
            },
            _ => None,
        }
    }

    fn send(&self, message: &[u8]) -> bool {
        message.len() <= MAX_PLUGIN_MESSAGE && self.send(&Reply::Plugins, &[message]).is_ok()
    }
}

impl CommandService for Connection {
    fn run(
        &self,
        request: &CommandRequest,
        stdin: &[u8],
        _guest: Option<BorrowedFd<'_>>,
    ) -> Result<CommandOutput, CommandRefusal> {
        let failed = |error| CommandRefusal::Failed(format!("failed to ask the monitor to run the command: {error}"));
        self.ask(request, stdin).unwrap_or_else(|error| Err(failed(error)))
    }
}
