//! The client of a broker: starts it before this process confines itself, sends it requests over a socket, and ends it
//! by closing the socket.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use modbox_cleanup::UndoGuard;
use modbox_policy::Policy;
use modbox_vocabulary::{CommandOutput, CommandRefusal, CommandRequest, Limits, RunsCommands};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::Shutdown;

use crate::app::commands::wire::{self, Greeting, MESSAGES, STREAMS};
use crate::app::config::RunnerConfig;

/// First argument that makes modbox a broker. Not for users: without a socket as its standard input it fails at once.
pub const WORD: &str = "__command-broker";

/// Time that a broker may take beyond the time of a command, to start and end the command's processes.
const PATIENCE: Duration = Duration::from_secs(15);

/// Time that a broker may take to end, with all processes that it has started.
const END_PATIENCE: Duration = Duration::from_secs(8);

/// Running broker.
pub(in crate::app) struct Broker {
    connection: Arc<BrokerConnection>,
    /// Lock so that one request is sent at a time.
    asking: Mutex<()>,
    /// Cleanup that ends the broker, also when a signal ends this process.
    _undo: UndoGuard,
}

/// Connection to a broker.
struct BrokerConnection {
    socket: File,
    /// Standard output of the broker; it reaches its end when the broker ends.
    stdout: ChildStdout,
    child: Mutex<Child>,
}

impl Broker {
    /// Starts a broker and sends it the policy.
    pub(super) fn start(config: &RunnerConfig, policy: &Policy, limits: &Limits) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let program = config.worker.clone().unwrap_or_else(|| PathBuf::from(modbox_native::THIS_BINARY));
        #[expect(clippy::disallowed_methods, reason = "the one place that starts a broker, which is modbox itself")]
        let mut command = Command::new(program);
        command.arg0("modbox").arg(WORD).env_clear().current_dir("/");
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::null());
        // The broker must not get a terminal's signals to this process: it ends by itself, after its cleanup.
        command.process_group(0);
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("a broker without streams"))?;
        // A `File` uses `read` and `write`, which a confined process may still call.
        let socket = File::from(OwnedFd::from(ours));
        let connection = Arc::new(BrokerConnection { socket, stdout, child: Mutex::new(child) });
        let undone = Arc::clone(&connection);
        let undo = config.cleanup.register(move || undone.close());
        let greeting = Greeting {
            policy: policy.clone(),
            limits: *limits,
            temp_dir: config.temp_dir.clone(),
            directory: config.directory.clone(),
        };
        MESSAGES.send(&connection.socket, &greeting)?;
        tracing::debug!("started a broker for commands");
        Ok(Self { connection, asking: Mutex::new(()), _undo: undo })
    }

    /// Ends the broker. All that it runs has ended when this returns.
    pub(in crate::app) fn close(&self) {
        self.connection.close();
    }
}

impl BrokerConnection {
    fn close(&self) {
        // A thread that waits for an answer gets an error.
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
        wait(&self.stdout, END_PATIENCE);
        // Reaps the child where the process may still do that; otherwise it is reaped after this process ends.
        drop(self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait());
    }

    fn ask(&self, request: &CommandRequest, stdin: &[u8]) -> io::Result<Result<CommandOutput, CommandRefusal>> {
        MESSAGES.send(&self.socket, request)?;
        STREAMS.write(&self.socket, stdin)?;
        if !wait(&self.socket, request.limits.timeout.saturating_add(PATIENCE)) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        wire::receive_answer(&self.socket)
    }
}

impl RunsCommands for Broker {
    fn run(&self, request: &CommandRequest, stdin: &[u8]) -> Result<CommandOutput, CommandRefusal> {
        let _one = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        match self.connection.ask(request, stdin) {
            Ok(answer) => answer,
            Err(error) => {
                // A late answer would be taken for the answer to the next request.
                let _ = rustix::net::shutdown(&self.connection.socket, Shutdown::Both);
                Err(CommandRefusal::Failed(format!("failed to speak with the process that runs commands: {error}")))
            }
        }
    }
}

/// Waits until there is data or the end of the stream; returns false after `patience`.
fn wait(descriptor: &impl AsFd, patience: Duration) -> bool {
    let mut descriptors = [PollFd::new(descriptor, PollFlags::IN)];
    let timeout = Timespec::try_from(patience).ok();
    rustix::io::retry_on_intr(|| poll(&mut descriptors, timeout.as_ref())).is_ok_and(|ready| ready > 0)
}
