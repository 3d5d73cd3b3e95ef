//! The host's end of a launcher: starts it, tells it to kill, and when it does not, does its work.
//!
//! Shared between the thread that attends a run and whoever undoes it when a signal ends modbox, so all
//! of it works through `&self`.

use std::io::{self, PipeReader, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Pid;

use crate::sandbox::native::protocol::{self, Reply, Spec};
use crate::sandbox::native::tree::{self, Proc};
use crate::sandbox::native::{NativeContext, NativeError, launcher};

/// How long the launcher may take to do what it was told. It needs milliseconds; a module that stopped
/// or starved it must not win more than this.
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// How long the host itself goes on killing.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// Held while a file is written that will be executed, and while a process is started. A process that
/// is just being started holds all descriptors of its parent until it executes; were a module's file
/// still open for writing in it, executing that file would fail with "Text file busy".
static FILES_OR_PROCESSES: Mutex<()> = Mutex::new(());

pub(super) fn exclude_processes() -> MutexGuard<'static, ()> {
    FILES_OR_PROCESSES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A started launcher.
#[derive(Debug)]
pub(super) struct Launch {
    /// Locked while the process is signalled or waited for, so that its number cannot have become
    /// another process's in between.
    child: Mutex<Child>,
    pid: Pid,
    control: UnixStream,
}

/// The module's output streams.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdout: PipeReader,
    pub(super) stderr: PipeReader,
}

impl Launch {
    /// Starts a launcher, which waits for its [`Spec`].
    pub(super) fn start(cx: &NativeContext) -> Result<(Self, Pipes), NativeError> {
        let (control, launchers_end) = UnixStream::pair().map_err(NativeError::Channel)?;
        for set in [UnixStream::set_read_timeout, UnixStream::set_write_timeout] {
            set(&control, Some(ANSWER_PATIENCE)).map_err(NativeError::Channel)?;
        }
        let (stdout, stdout_writer) = io::pipe().map_err(NativeError::Channel)?;
        let (stderr, stderr_writer) = io::pipe().map_err(NativeError::Channel)?;
        for reader in [&stdout, &stderr] {
            rustix::io::ioctl_fionbio(reader, true).map_err(|error| NativeError::Channel(error.into()))?;
        }
        #[expect(clippy::disallowed_methods, reason = "the one place that starts the launcher")]
        let mut command = Command::new(&cx.launcher);
        command.arg0("modbox").arg(launcher::WORD).env_clear();
        command.stdin(std::os::fd::OwnedFd::from(launchers_end)).stdout(stdout_writer).stderr(stderr_writer);
        let spawned = {
            let _no_file_is_being_written = exclude_processes();
            command.spawn()
        };
        let child = spawned.map_err(|source| NativeError::StartLauncher { path: cx.launcher.clone(), source })?;
        let pid = Pid::from_child(&child);
        // The command goes out of scope here, and with it the host's copies of the launcher's ends.
        Ok((Self { child: Mutex::new(child), pid, control }, Pipes { stdout, stderr }))
    }

    /// Tells the launcher what to start.
    pub(super) fn send(&self, spec: &Spec) -> io::Result<()> {
        protocol::send(&self.control, spec)
    }

    /// Gives the launcher what the module is to find on its standard input, as announced in the [`Spec`].
    pub(super) fn feed(&self, stdin: &[u8]) -> io::Result<()> {
        match (&self.control).write_all(stdin) {
            // It failed before it read this far, and has said why.
            Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => Ok(()),
            fed => fed,
        }
    }

    /// Reads what the launcher has to say, once its socket is readable.
    pub(super) fn receive(&self) -> io::Result<Reply> {
        protocol::receive(&self.control)
    }

    pub(super) fn control(&self) -> &UnixStream {
        &self.control
    }

    /// Asks the launcher to kill the tree and answer.
    pub(super) fn ask_to_kill(&self) {
        // When it cannot be told, it is gone or does not read; both are found out by waiting.
        let _ = (&self.control).write_all(b"k");
    }

    /// Kills the tree without the launcher's help, then the launcher.
    ///
    /// The launcher goes last: while it lives all orphans come to it and can be found below it.
    pub(super) fn take_over(&self) {
        let mut child = self.lock();
        if let Ok(None) = child.try_wait()
            && let Ok(proc) = Proc::open()
        {
            tree::kill_all(|| proc.descendants(self.pid), self.pid, KILL_PATIENCE);
        }
        let _ = child.kill();
    }

    /// Kills what can be found of a tree whose launcher died: its session, and all below that. A daemon
    /// that made a session of its own is not found any more.
    pub(super) fn kill_session(&self) {
        // Locked, and the launcher not yet waited for: the number of the session is still its own.
        let _child = self.lock();
        if let Ok(proc) = Proc::open() {
            tree::kill_all(|| proc.session(self.pid), self.pid, KILL_PATIENCE);
        }
    }

    /// Waits until the launcher is gone, or returns `None` when patience ends first.
    pub(super) fn wait(&self, patience: Duration) -> Option<ExitStatus> {
        // Its end of the socket closes when it goes, however it goes.
        let mut descriptors = [PollFd::new(&self.control, PollFlags::empty())];
        let timeout = Timespec::try_from(patience).ok();
        match rustix::io::retry_on_intr(|| rustix::event::poll(&mut descriptors, timeout.as_ref())) {
            Ok(0) | Err(_) => None,
            Ok(_) => self.lock().wait().ok(),
        }
    }

    /// Ends the run: nothing of it is left when this returns.
    pub(super) fn undo(&self) {
        self.ask_to_kill();
        if self.wait(ANSWER_PATIENCE).is_none() {
            self.take_over();
            self.wait(ANSWER_PATIENCE);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a status as a shell would.
pub(super) fn shell_code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| Some(128 + status.signal()?))
}
