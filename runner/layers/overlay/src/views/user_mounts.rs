//! The process that makes and keeps the overlays of an ordinary user, in namespaces of its own, and the requests to it.
//!
//! Only there may a user mount, and only there can a mount be made read-only later. The process sends the descriptors,
//! attaches and freezes the overlays when it is asked to, and ends with its socket. It does not look at what is written,
//! and runs nothing. Workers of the run join its namespaces, so that they reach the overlays by paths.

use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use modbox_channel::{Framing, descriptor};
use modbox_worker::{Role, WorkerProcess, Workers};
use rustix::io::Errno;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::changes::overlay_marks::OverlayMarks;
use crate::quota::Quota;
use crate::tree_root::TreeRoot;
use crate::views::mount::OverlayMount;

/// How long an answer, and the end of the process, take at most.
const PATIENCE: Duration = Duration::from_secs(5);

/// Framing of requests and answers.
const MESSAGES: Framing = Framing::new(64 << 10);

/// Request of the monitor. Overlays are numbered in the order in which they were made.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    /// Makes an overlay over a directory.
    Make {
        /// Its path without links.
        path: PathBuf,
        /// Its file system and its number there.
        identity: (u64, u64),
        /// Upper bounds of what is written.
        quota: Quota,
    },
    /// Attaches an overlay to an empty directory.
    Attach(usize, PathBuf),
    /// Makes an overlay read-only.
    Freeze(usize),
}

/// Answer to a request: the error of the kernel, if there was one.
type Answer = Result<(), i32>;

/// The process, as the monitor has it. It ends with this value.
#[derive(Debug)]
pub(crate) struct UserMounts {
    worker: WorkerProcess,
    /// Number of overlays. Locked from a request to its answer.
    made: Mutex<usize>,
}

/// Directories of an overlay that was made.
#[derive(Debug)]
pub(crate) struct MadeOverlay {
    pub(crate) number: usize,
    /// The merged view.
    pub(crate) view: TreeRoot,
    /// The directory with what was written.
    pub(crate) upper: TreeRoot,
    /// The overlay's own directory.
    pub(crate) work: TreeRoot,
}

impl UserMounts {
    /// Starts the process.
    ///
    /// # Errors
    ///
    /// The kernel refuses a process. Whether this user has namespaces is known with the first overlay.
    pub(crate) fn start(workers: &Workers) -> io::Result<Self> {
        let worker = workers.start(Role::Mounts)?;
        worker.socket().set_read_timeout(Some(PATIENCE))?;
        Ok(Self { worker, made: Mutex::new(0) })
    }

    /// Returns the process, whose namespaces other processes of this user can join.
    pub(crate) fn process(&self) -> Pid {
        self.worker.pid()
    }

    /// Makes an overlay over an open directory that is at a path.
    ///
    /// # Errors
    ///
    /// This user has no namespaces, or the kernel makes no overlay in them.
    pub(crate) fn make(&self, path: &Path, lower: &TreeRoot, quota: Quota) -> io::Result<MadeOverlay> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        self.exchange(&Request::Make { path: path.to_owned(), identity: identity(lower)?, quota })?;
        let receive = || descriptor::receive(self.worker.socket()).map(TreeRoot::new);
        let overlay = MadeOverlay { number: *made, view: receive()?, upper: receive()?, work: receive()? };
        *made += 1;
        Ok(overlay)
    }

    /// Attaches an overlay to an empty directory in the namespaces of the process.
    pub(crate) fn attach(&self, number: usize, at: &Path) -> io::Result<()> {
        let _made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        self.exchange(&Request::Attach(number, at.to_owned()))
    }

    /// Makes an overlay read-only for every holder of a descriptor.
    ///
    /// # Errors
    ///
    /// A file stays open for writing, or the process has ended.
    pub(crate) fn freeze(&self, number: usize) -> io::Result<()> {
        let _made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        self.exchange(&Request::Freeze(number))
    }

    fn exchange(&self, request: &Request) -> io::Result<()> {
        let socket = self.worker.socket();
        MESSAGES.send(socket, request)?;
        let answer: Answer = MESSAGES.receive_required(socket)?;
        answer.map_err(io::Error::from_raw_os_error)
    }
}

impl Drop for UserMounts {
    fn drop(&mut self) {
        // Also seen where another process has a copy of this end. The other direction stays open: its end is that of the
        // process.
        if self.worker.socket().shutdown(Shutdown::Write).is_err() || self.worker.wait(PATIENCE).is_none() {
            self.worker.kill();
            let _ = self.worker.wait(PATIENCE);
        }
    }
}

/// Serves requests, in the process for them, until the monitor closes its end.
///
/// # Errors
///
/// This user has no namespaces, or the monitor does not follow the protocol.
pub fn serve(socket: &UnixStream) -> io::Result<()> {
    modbox_kernel::enter_user_mounts()?;
    let mut overlays: Vec<OverlayMount> = Vec::new();
    while let Some(request) = MESSAGES.receive::<Request>(socket)? {
        let made = overlays.len();
        let done = perform(&request, &mut overlays);
        let code = |error: &io::Error| error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
        let answer: Answer = done.as_ref().copied().map_err(code);
        MESSAGES.send(socket, &answer)?;
        if let Some(overlay) = overlays.get(made) {
            for directory in [&overlay.view, &overlay.upper, &overlay.work] {
                descriptor::send(socket, directory.as_fd())?;
            }
        }
    }
    Ok(())
}

fn perform(request: &Request, overlays: &mut Vec<OverlayMount>) -> io::Result<()> {
    let numbered = |number: usize| overlays.get(number).ok_or(Errno::INVAL);
    match request {
        Request::Make { path, identity, quota } => {
            let lower = open_same(path, *identity)?;
            let made = OverlayMount::new(&lower, *quota, OverlayMarks::User).map_err(|(_, error)| error)?;
            overlays.push(made);
            Ok(())
        }
        Request::Attach(number, at) => numbered(*number)?.attach(at),
        Request::Freeze(number) => numbered(*number)?.freeze(),
    }
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
