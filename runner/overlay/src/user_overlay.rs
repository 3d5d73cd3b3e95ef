//! The overlay of an ordinary user, and the process that makes and keeps it in namespaces of its own.
//!
//! Only there may a user mount, and only there can the mount be made read-only later. The process sends the descriptors,
//! freezes the overlay when it is asked to, and ends with its socket. It does not look at what is written.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use modbox_channel::descriptor;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};

use crate::mount::{OverlayMount, StepError};
use crate::overlay_marks::OverlayMarks;
use crate::quota::Quota;
use crate::tree_root::TreeRoot;

/// Answer that a step was made. Other answers are the kernel's errors.
const MADE: i32 = 0;

/// How long an answer takes at most.
const PATIENCE: Duration = Duration::from_secs(5);

/// First descriptor that is not one of the standard streams.
const FIRST: u32 = 3;

/// An overlay that another process keeps.
#[derive(Debug)]
pub(crate) struct UserOverlay {
    /// The merged view.
    pub(crate) view: TreeRoot,
    /// The directory with what was written.
    pub(crate) upper: TreeRoot,
    /// The overlay's own directory.
    pub(crate) work: TreeRoot,
    keeper: Keeper,
}

/// The process. It ends with this value.
#[derive(Debug)]
struct Keeper {
    socket: UnixStream,
    process: Pid,
}

impl UserOverlay {
    /// Makes an overlay over an open directory that is at a path.
    ///
    /// # Errors
    ///
    /// This process has several threads, this user has no namespaces, or the kernel makes no overlay in them.
    pub(crate) fn new(path: &Path, lower: &TreeRoot, quota: Quota) -> Result<Self, StepError> {
        let failed = |cause| ("make an overlay in namespaces", cause);
        let keeper = Keeper::start(path, lower, quota).map_err(failed)?;
        keeper.answer().map_err(failed)?;
        let receive = || descriptor::receive(&keeper.socket).map(TreeRoot::new).map_err(failed);
        let (view, upper, work) = (receive()?, receive()?, receive()?);
        Ok(Self { view, upper, work, keeper })
    }

    /// Makes the view read-only for every holder of a descriptor.
    ///
    /// # Errors
    ///
    /// A file stays open for writing, or the process has ended.
    pub(crate) fn freeze(&self) -> io::Result<()> {
        (&self.keeper.socket).write_all(&[0])?;
        self.keeper.answer()
    }
}

impl Keeper {
    fn start(path: &Path, lower: &TreeRoot, quota: Quota) -> io::Result<Self> {
        let (socket, there) = UnixStream::pair()?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let identity = identity(lower)?;
        let process = modbox_kernel::start_who_mounts(|| {
            // What cannot be sent is missed by the other end.
            let _ = keep(&there, path, identity, quota);
        })?;
        Ok(Self { socket, process })
    }

    fn answer(&self) -> io::Result<()> {
        let mut answer = [0; size_of::<i32>()];
        (&self.socket).read_exact(&mut answer)?;
        match i32::from_ne_bytes(answer) {
            MADE => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Also seen where another process has a copy of this end.
        if self.socket.shutdown(Shutdown::Both).is_ok() {
            let _ = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(self.process), WaitOptions::empty()));
        }
    }
}

/// Makes the overlay and keeps it, in the process for it. The socket becomes its standard input, and no other descriptor
/// of the process that it is a copy of stays open.
fn keep(there: &UnixStream, path: &Path, identity: (u64, u64), quota: Quota) -> io::Result<()> {
    // A signal from the terminal is for the process that it is a copy of.
    rustix::process::setsid()?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(there)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    modbox_kernel::close_descriptors_from(FIRST)?;
    // Their numbers are free now, and can be those of others.
    std::mem::forget(null);
    let made = open_same(path, identity)
        .and_then(|lower| OverlayMount::new(&lower, quota, OverlayMarks::User).map_err(|(_, error)| error));
    send(made.as_ref().map(|_| ()))?;
    let mount = made?;
    for directory in [&mount.view, &mount.upper, &mount.work] {
        descriptor::send(rustix::stdio::stdin(), directory.as_fd())?;
    }
    while rustix::io::retry_on_intr(|| rustix::io::read(rustix::stdio::stdin(), &mut [0]))? > 0 {
        send(mount.freeze().as_ref().copied())?;
    }
    Ok(())
}

/// Sends the result of a step.
fn send(result: Result<(), &io::Error>) -> io::Result<()> {
    let answer = match result {
        Ok(()) => MADE,
        Err(error) => error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()),
    };
    rustix::io::write(rustix::stdio::stdin(), &answer.to_ne_bytes())?;
    Ok(())
}

/// Opens the directory through a mount of this namespace: the kernel makes no overlay over one of another.
fn open_same(path: &Path, wanted: (u64, u64)) -> io::Result<TreeRoot> {
    let opened = TreeRoot::open(path)?;
    if identity(&opened)? == wanted { Ok(opened) } else { Err(Errno::STALE.into()) }
}

fn identity(directory: &TreeRoot) -> io::Result<(u64, u64)> {
    let stat = rustix::fs::fstat(directory)?;
    Ok((stat.st_dev, stat.st_ino))
}
