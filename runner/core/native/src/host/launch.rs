//! The host's end of a launcher: starts it, asks it to kill the tree, and kills the tree itself when the launcher does
//! not.
//!
//! It is shared between the thread that attends a run and the thread that undoes it when a signal ends modbox, so all
//! functions take `&self`.

use std::io::{self, PipeReader, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use modbox_channel::descriptor;
use modbox_worker::{Role, WorkerProcess};

use crate::error::NativeError;
use crate::host::context::NativeContext;
use crate::link::Failure;
use crate::processes::stdin::StdinSource;
use crate::processes::tree::{self, Proc};
use crate::protocol::{LauncherMessage, MESSAGES, Spec};
use crate::step::Step;

/// How long the launcher may take to do what was asked. It needs milliseconds; a module that stopped or starved it must
/// not gain more than this.
pub(crate) const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// How long the host itself goes on killing.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// Launcher that runs.
#[derive(Debug)]
pub(crate) struct Launch {
    worker: WorkerProcess,
}

/// Output streams of the module.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdout: PipeReader,
    pub(crate) stderr: PipeReader,
}

impl Launch {
    /// Starts a launcher, which waits for its [`Spec`], and gives it the module's output streams.
    pub(crate) fn start(cx: &NativeContext) -> Result<(Self, Pipes), NativeError> {
        let path = cx.workers.program();
        let start = |source| NativeError::StartLauncher { path: path.to_owned(), source };
        let worker = cx.workers.start(Role::Launcher).map_err(start)?;
        for set in [UnixStream::set_read_timeout, UnixStream::set_write_timeout] {
            set(worker.socket(), Some(ANSWER_PATIENCE)).map_err(NativeError::Channel)?;
        }
        let (stdout, stdout_writer) = io::pipe().map_err(NativeError::Channel)?;
        let (stderr, stderr_writer) = io::pipe().map_err(NativeError::Channel)?;
        for reader in [&stdout, &stderr] {
            rustix::io::ioctl_fionbio(reader, true).map_err(|error| NativeError::Channel(error.into()))?;
        }
        for writer in [stdout_writer, stderr_writer] {
            descriptor::send(worker.socket(), writer).map_err(NativeError::Instruct)?;
        }
        // With the writers the host's copies of the launcher's ends are dropped.
        Ok((Self { worker }, Pipes { stdout, stderr }))
    }

    /// Sends the launcher its spec and the command's standard input.
    pub(crate) fn send_spec(&self, spec: &Spec, stdin: StdinSource<'_>) -> io::Result<()> {
        MESSAGES.send(self.control(), spec)?;
        if spec.has_stdin { stdin.send(self.control()) } else { Ok(()) }
    }

    /// Reads the launcher's next message, once its socket is readable.
    pub(crate) fn receive(&self) -> io::Result<LauncherMessage> {
        MESSAGES.receive_required(self.control())
    }

    pub(crate) fn control(&self) -> &UnixStream {
        self.worker.socket()
    }

    /// Asks the launcher to kill the tree and reply.
    pub(crate) fn ask_to_kill(&self) {
        // A launcher that cannot be asked is gone or does not read; the wait finds out both.
        let _ = self.control().write_all(b"k");
    }

    /// Kills the tree without the launcher's help, then the launcher.
    ///
    /// The launcher is killed last: while it lives, it adopts all orphans, so that they are found below it.
    pub(crate) fn take_over(&self) {
        let launcher = self.worker.pid();
        self.worker.kill_after(|| {
            if let Ok(proc) = Proc::open() {
                tree::kill_all(|| proc.descendants(launcher), launcher, KILL_PATIENCE);
            }
        });
    }

    /// Returns the processor time of all processes below the launcher, in microseconds, with that of ended ones for which a
    /// process of them has waited.
    ///
    /// # Errors
    ///
    /// `/proc` cannot be listed.
    pub(crate) fn used_cpu_us(&self) -> io::Result<u64> {
        let processes = Proc::open()?.descendants(self.worker.pid())?;
        Ok(processes.iter().map(|process| process.cpu_us).sum())
    }

    /// Kills the rest of a tree whose launcher died: its session, and all descendants. A daemon that started its own
    /// session is no longer found.
    pub(crate) fn kill_session(&self) {
        // The launcher is not yet waited for, so the number of the session is still its own.
        let launcher = self.worker.pid();
        self.worker.hold_pid(|| {
            if let Ok(proc) = Proc::open() {
                tree::kill_all(|| proc.session(launcher), launcher, KILL_PATIENCE);
            }
        });
    }

    /// Waits until the launcher is gone. Returns `None` if `patience` is over first.
    pub(crate) fn wait(&self, patience: Duration) -> Option<ExitStatus> {
        self.worker.wait(patience)
    }

    /// Ends the run: no process of it is left when this returns.
    pub(crate) fn undo(&self) {
        self.ask_to_kill();
        if self.wait(ANSWER_PATIENCE).is_none() {
            self.take_over();
            self.wait(ANSWER_PATIENCE);
        }
    }
}

/// Returns the exit status that a shell would report.
pub(crate) fn shell_code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| Some(128 + status.signal()?))
}

/// Returns the error of a step of the launcher.
pub(crate) fn error_of(Failure { step, errno, subject }: Failure) -> NativeError {
    let source = io::Error::from_raw_os_error(errno);
    let is_changed =
        matches!(errno, libc::ELOOP | libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::EXDEV | libc::ESTALE);
    match step {
        Step::Grant if is_changed => NativeError::GrantChanged { path: subject, source },
        step => NativeError::Launch { step, subject, source },
    }
}
