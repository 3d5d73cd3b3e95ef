//! The host's end of a launcher: starts it, asks it to kill the tree, and kills the tree itself when the launcher does
//! not.
//!
//! It is shared between the thread that attends a run and the thread that undoes it when a signal ends modbox, so all
//! functions take `&self`.

use std::io::{self, PipeReader, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitOptions};

use crate::protocol::{MESSAGES, Reply, Spec};
use crate::tree::{self, Proc};
use crate::{Launcher, NativeContext, NativeError, THIS_BINARY, copy, launcher, stdin};

/// How long the launcher may take to do what was asked. It needs milliseconds; a module that stopped or starved it must
/// not gain more than this.
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// How long the host itself goes on killing.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// Lock that is held while a file is written that will be executed, and while a process is started. A process that is
/// being started holds all descriptors of its parent until it executes. If a module's file were still open for writing
/// in it, executing that file would fail with "Text file busy".
static FILES_OR_PROCESSES: Mutex<()> = Mutex::new(());

pub(super) fn exclude_processes() -> MutexGuard<'static, ()> {
    FILES_OR_PROCESSES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Started launcher.
#[derive(Debug)]
pub(super) struct Launch {
    /// Locked while the process is signalled or waited for, so that its pid cannot be reused in between.
    child: Mutex<Child>,
    pid: Pid,
    control: UnixStream,
    /// Whether it already has its [`Spec`].
    has_spec: bool,
}

/// Process of a launcher, which is waited for once.
#[derive(Debug)]
struct Child {
    pid: Pid,
    /// Exit status, once it is known.
    status: Option<ExitStatus>,
}

impl Child {
    fn wait(&mut self, options: WaitOptions) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            let ended = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(self.pid), options))?;
            self.status = ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw()));
        }
        Ok(self.status)
    }

    fn kill(&self) {
        // After a wait the pid may belong to another process.
        if self.status.is_none() {
            let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        }
    }
}

/// Output streams of the module.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdout: PipeReader,
    pub(super) stderr: PipeReader,
}

impl Launch {
    /// Starts a launcher. Unless it is a fork, it waits for its [`Spec`].
    pub(super) fn start(cx: &NativeContext, spec: &mut Spec, stdin: &[u8]) -> Result<(Self, Pipes), NativeError> {
        let (control, launchers_end) = UnixStream::pair().map_err(NativeError::Channel)?;
        for set in [UnixStream::set_read_timeout, UnixStream::set_write_timeout] {
            set(&control, Some(ANSWER_PATIENCE)).map_err(NativeError::Channel)?;
        }
        let (stdout, stdout_writer) = io::pipe().map_err(NativeError::Channel)?;
        let (stderr, stderr_writer) = io::pipe().map_err(NativeError::Channel)?;
        for reader in [&stdout, &stderr] {
            rustix::io::ioctl_fionbio(reader, true).map_err(|error| NativeError::Channel(error.into()))?;
        }
        let streams = [launchers_end.into(), stdout_writer.into(), stderr_writer.into()];
        let (pid, has_spec) = {
            let _no_file_is_being_written = exclude_processes();
            match &cx.launcher {
                Launcher::Own => {
                    spec.find_groups();
                    match copy::launcher(&streams, spec, stdin) {
                        Some(pid) => (pid, true),
                        None => (spawn(Path::new(THIS_BINARY), streams)?, false),
                    }
                }
                Launcher::Program(path) => (spawn(path, streams)?, false),
            }
        };
        // Both streams are dropped here, and with them the host's copies of the launcher's ends.
        Ok((Self { child: Mutex::new(Child { pid, status: None }), pid, control, has_spec }, Pipes { stdout, stderr }))
    }

    /// Sends the launcher its spec and the command's standard input, unless it already has them.
    pub(super) fn send_spec(&self, spec: &mut Spec, stdin: &[u8]) -> io::Result<()> {
        if self.has_spec {
            return Ok(());
        }
        // While the launcher starts.
        spec.find_groups();
        MESSAGES.send(&self.control, &*spec)?;
        if spec.has_stdin { stdin::send(&self.control, stdin) } else { Ok(()) }
    }

    /// Reads the launcher's reply, once its socket is readable.
    pub(super) fn receive(&self) -> io::Result<Reply> {
        MESSAGES.receive_required(&self.control)
    }

    pub(super) fn control(&self) -> &UnixStream {
        &self.control
    }

    /// Asks the launcher to kill the tree and reply.
    pub(super) fn ask_to_kill(&self) {
        // A launcher that cannot be asked is gone or does not read; the wait finds out both.
        let _ = (&self.control).write_all(b"k");
    }

    /// Kills the tree without the launcher's help, then the launcher.
    ///
    /// The launcher is killed last: while it lives, it adopts all orphans, so that they are found below it.
    pub(super) fn take_over(&self) {
        let mut child = self.lock();
        if let Ok(None) = child.wait(WaitOptions::NOHANG)
            && let Ok(proc) = Proc::open()
        {
            tree::kill_all(|| proc.descendants(self.pid), self.pid, KILL_PATIENCE);
        }
        child.kill();
    }

    /// Kills the rest of a tree whose launcher died: its session, and all descendants. A daemon that started its own
    /// session is no longer found.
    pub(super) fn kill_session(&self) {
        // The lock is held and the launcher is not yet waited for, so the number of the session is still its own.
        let _child = self.lock();
        if let Ok(proc) = Proc::open() {
            tree::kill_all(|| proc.session(self.pid), self.pid, KILL_PATIENCE);
        }
    }

    /// Waits until the launcher is gone. Returns `None` if `patience` is over first.
    pub(super) fn wait(&self, patience: Duration) -> Option<ExitStatus> {
        // The kernel closes the launcher's end of the socket when the launcher exits in any way.
        let mut descriptors = [PollFd::new(&self.control, PollFlags::empty())];
        let timeout = Timespec::try_from(patience).ok();
        match rustix::io::retry_on_intr(|| rustix::event::poll(&mut descriptors, timeout.as_ref())) {
            Ok(0) | Err(_) => None,
            Ok(_) => self.lock().wait(WaitOptions::empty()).ok().flatten(),
        }
    }

    /// Ends the run: no process of it is left when this returns.
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

/// Starts a program as a launcher.
fn spawn(path: &Path, [input, output, errors]: copy::Streams) -> Result<Pid, NativeError> {
    #[expect(clippy::disallowed_methods, reason = "the one place that starts a program as the launcher")]
    let mut command = Command::new(path);
    command.arg0("modbox").arg(launcher::WORD).env_clear();
    command.stdin(input).stdout(output).stderr(errors);
    let child = command.spawn().map_err(|source| NativeError::StartLauncher { path: path.to_owned(), source })?;
    Ok(Pid::from_child(&child))
}

/// Returns the exit status that a shell would report.
pub(super) fn shell_code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| Some(128 + status.signal()?))
}
