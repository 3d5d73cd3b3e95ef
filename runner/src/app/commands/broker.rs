//! A broker, seen from the process that asks it: started before that process confines itself, asked by frames over a socket,
//! ended by closing it.

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

/// The first argument that makes modbox a broker. Not for people: without a socket as its standard input it fails at once.
pub const WORD: &str = "__command-broker";

/// How long a broker may take beyond the time of a command: it starts and ends the command's processes.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a broker may take to end, with all that it has started.
const END_PATIENCE: Duration = Duration::from_secs(8);

/// A broker that runs.
pub(in crate::app) struct Broker {
    line: Arc<Line>,
    /// One asks at a time.
    asking: Mutex<()>,
    /// Ends the broker, also when a signal ends this process.
    _undo: UndoGuard,
}

/// The way to a broker.
struct Line {
    socket: File,
    /// At its end when the broker is.
    gone: ChildStdout,
    child: Mutex<Child>,
}

impl Broker {
    /// Starts a broker that knows a policy.
    pub(super) fn start(config: &RunnerConfig, policy: &Policy, limits: &Limits) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let program = config.worker.clone().unwrap_or_else(|| PathBuf::from(modbox_native::THIS_BINARY));
        #[expect(clippy::disallowed_methods, reason = "the one place that starts a broker, which is modbox itself")]
        let mut command = Command::new(program);
        command.arg0("modbox").arg(WORD).env_clear().current_dir("/");
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::null());
        // What a terminal sends to end this process is not for the broker: it ends by itself, when everything is cleaned up.
        command.process_group(0);
        let mut child = command.spawn()?;
        let gone = child.stdout.take().ok_or_else(|| io::Error::other("a broker without streams"))?;
        // As a file it is read and written by the calls that a confined process still has.
        let socket = File::from(OwnedFd::from(ours));
        let line = Arc::new(Line { socket, gone, child: Mutex::new(child) });
        let undone = Arc::clone(&line);
        let undo = config.cleanup.register(move || undone.close());
        let greeting = Greeting {
            policy: policy.clone(),
            limits: *limits,
            temp_dir: config.temp_dir.clone(),
            directory: config.directory.clone(),
        };
        MESSAGES.send(&line.socket, &greeting)?;
        tracing::debug!("started a broker for commands");
        Ok(Self { line, asking: Mutex::new(()), _undo: undo })
    }

    /// Ends the broker. What it runs is gone when this returns.
    pub(in crate::app) fn close(&self) {
        self.line.close();
    }
}

impl Line {
    fn close(&self) {
        // Whoever waits for an answer hears that none comes.
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
        wait(&self.gone, END_PATIENCE);
        // Buried, where that is still allowed; otherwise with this process.
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
        match self.line.ask(request, stdin) {
            Ok(answer) => answer,
            Err(error) => {
                // An answer that comes now would be taken for that to the next question.
                let _ = rustix::net::shutdown(&self.line.socket, Shutdown::Both);
                Err(CommandRefusal::Failed(format!("failed to speak with the process that runs commands: {error}")))
            }
        }
    }
}

/// Waits until something can be read, or there is nothing more to read.
fn wait(descriptor: &impl AsFd, patience: Duration) -> bool {
    let mut descriptors = [PollFd::new(descriptor, PollFlags::IN)];
    let timeout = Timespec::try_from(patience).ok();
    rustix::io::retry_on_intr(|| poll(&mut descriptors, timeout.as_ref())).is_ok_and(|ready| ready > 0)
}
