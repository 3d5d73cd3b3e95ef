//! The monitor's handle of a worker process.
//!
//! The thread that works with a worker shares it with the thread that ends it when a signal ends modbox, so all
//! functions take `&self`.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitOptions};

use crate::program::WORD;
use crate::role::{ASSIGNMENTS, Assignment, MountsOf, Role};
use crate::spawn_lock::exclude_spawns;
use crate::thread_mounts;

/// Longest file `stat` of a process that is read; it has some hundred bytes.
const MAX_STAT: u64 = 4096;

/// A started worker. Dropping it closes its socket, and leaves the process to end by itself.
#[derive(Debug)]
pub struct WorkerProcess {
    /// Locked while the process is signalled or waited for, so that its id cannot be reused in between.
    child: Mutex<Child>,
    pid: Pid,
    socket: UnixStream,
    /// Whether it is a fork of this process, and not a program of its own.
    is_forked: bool,
}

/// Process that is waited for once.
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
}

/// Reads the processor time in a file `stat` of `/proc`: its 14th and 15th field, in ticks. The second field is the program's name,
/// which may have any characters in it.
fn processor_time_in(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>().ok()?;
    let per_second = rustix::param::clock_ticks_per_second();
    Some(Duration::from_micros(ticks.saturating_mul(1_000_000) / per_second.max(1)))
}

/// Side on which a process is after it was forked.
#[derive(Debug)]
pub enum Forked {
    /// The process that forked, with the worker.
    Monitor(WorkerProcess),
    /// The worker. With an error it has no socket, and must end.
    Worker(io::Result<()>),
}

/// Makes the worker's end of the channel its standard input, and closes everything but the standard streams.
fn keep_only(ours: UnixStream, theirs: UnixStream) -> io::Result<()> {
    rustix::stdio::dup2_stdin(&theirs)?;
    // The next call closes both.
    let _ = (ours.into_raw_fd(), theirs.into_raw_fd());
    modbox_kernel::close_descriptors_from(3)
}

impl WorkerProcess {
    /// Forks this process. The worker's socket is its standard input, and it has no other descriptors than the standard
    /// streams.
    ///
    /// The worker has the memory of this process. So call this first in `main`, before anything is read that a worker
    /// must not have.
    ///
    /// # Errors
    ///
    /// This process has more than one thread, or the kernel refuses a process or a socket. Errors of the worker are in
    /// [`Forked::Worker`], so that a worker never goes on as a monitor.
    pub fn fork() -> io::Result<Forked> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok(match modbox_kernel::fork()? {
            Some(pid) => Forked::Monitor(Self { is_forked: true, ..Self::new(pid, ours) }),
            None => Forked::Worker(keep_only(ours, theirs)),
        })
    }

    /// Starts a modbox program as a worker, without any variable of the environment.
    ///
    /// # Errors
    ///
    /// The program is not there, or the kernel refuses a process or a socket.
    pub fn spawn(program: &Path) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        #[expect(clippy::disallowed_methods, reason = "the one place that starts workers")]
        let mut command = Command::new(program);
        command.arg0("modbox").arg(WORD).env_clear();
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let _no_file_is_being_written = exclude_spawns();
        let child = command.spawn()?;
        Ok(Self::new(Pid::from_child(&child), ours))
    }

    fn new(pid: Pid, socket: UnixStream) -> Self {
        Self { child: Mutex::new(Child { pid, status: None }), pid, socket, is_forked: false }
    }

    /// Gives the worker its role, and the mounts of a process or else of this thread.
    ///
    /// # Errors
    ///
    /// The worker has ended.
    pub(crate) fn assign(&self, role: Role, mounts_of: Option<Pid>) -> io::Result<()> {
        let mounts_of = match mounts_of {
            Some(process) => Some(MountsOf::Process(process.as_raw_nonzero().get().unsigned_abs())),
            None if self.is_forked => thread_mounts::of_this_thread().map(MountsOf::Thread),
            None => None,
        };
        ASSIGNMENTS.send(&self.socket, &Assignment { role, monitor: std::process::id(), mounts_of })
    }

    /// Returns the monitor's end of the channel.
    #[must_use]
    pub fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Returns the process id. It stays the worker's own until [`Self::wait`] or [`Self::kill`] has seen its end.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns the processor time that all threads of the worker have used until now. The kernel counts it in hundredths of a
    /// second.
    ///
    /// # Errors
    ///
    /// The worker was waited for, or `/proc` cannot be read.
    pub fn processor_time(&self) -> io::Result<Duration> {
        let child = self.lock();
        if child.status.is_some() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut stat = String::new();
        let file = File::open(format!("/proc/{}/stat", self.pid.as_raw_nonzero()))?;
        file.take(MAX_STAT).read_to_string(&mut stat)?;
        processor_time_in(&stat).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Waits until the worker has ended. Returns `None` if `patience` is over first.
    pub fn wait(&self, patience: Duration) -> Option<ExitStatus> {
        // The kernel closes the worker's end of the socket when the worker ends in any way.
        let mut descriptors = [PollFd::new(&self.socket, PollFlags::empty())];
        let timeout = Timespec::try_from(patience).ok();
        match rustix::io::retry_on_intr(|| rustix::event::poll(&mut descriptors, timeout.as_ref())) {
            Ok(0) | Err(_) => None,
            Ok(_) => self.lock().wait(WaitOptions::empty()).ok().flatten(),
        }
    }

    /// Kills the worker. Does not wait for its end.
    pub fn kill(&self) {
        self.kill_after(|| ());
    }

    /// Calls `action` if the worker still runs, then kills the worker. Meanwhile its process id cannot be reused.
    pub fn kill_after(&self, action: impl FnOnce()) {
        let mut child = self.lock();
        if let Ok(None) = child.wait(WaitOptions::NOHANG) {
            action();
        }
        // After a wait the id may belong to another process.
        if child.status.is_none() {
            let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        }
    }

    /// Calls `action` while the worker is not waited for, so that its process id is its own even after its end.
    pub fn hold_pid(&self, action: impl FnOnce()) {
        let _child = self.lock();
        action();
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_behind_any_name() {
        let ticks = rustix::param::clock_ticks_per_second();
        let stat = format!("7 (a) 1 (b) S 1 7 7 0 -1 4194304 95 0 0 0 {ticks} {ticks} 0 0 20 0 1 0 99 1 1");
        assert_eq!(processor_time_in(&stat), Some(Duration::from_secs(2)));
        for damaged in ["", "7 (a", "7 (a) S 1 7 7 0 -1 4194304 95 0 0 0 x 1"] {
            assert_eq!(processor_time_in(damaged), None, "{damaged}");
        }
    }
}
