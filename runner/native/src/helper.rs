//! A second thread of a room's first process, for what takes long while the first one makes the file system: the room's
//! own network, in which there is nothing. When it has made that, it helps to copy the base's small files.
//!
//! For the kernel a network is the most work of all namespaces. That the thread is gone before anything else is done with
//! this process, which has one thread again then, is the caller's part: [`Helper::enter_network`] waits for it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::fs::{Mode, OFlags, Stat};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use crate::link::Failure;
use crate::protocol::Step;
use crate::stage;

/// What the thread needs of its stack is less than a quarter of it.
const STACK: usize = 64 << 10;

/// The calling thread's own namespace, by whichever `/proc` there is: in the room's own it is found as well.
const OWN: &str = "/proc/thread-self/ns/net";

/// The thread, and what it and its process do together.
#[derive(Debug)]
pub(super) struct Helper {
    thread: JoinHandle<io::Result<OwnedFd>>,
}

impl Helper {
    /// Begins to make a network, and then to copy files.
    ///
    /// # Errors
    ///
    /// No thread.
    pub(super) fn begin(copies: &Arc<Copies>) -> io::Result<Self> {
        let copies = Arc::clone(copies);
        let work = move || {
            let network = make_network()?;
            copies.make();
            Ok(network)
        };
        thread::Builder::new().stack_size(STACK).spawn(work).map(|thread| Self { thread })
    }

    /// Moves this process into the network, once that and all copies are there.
    ///
    /// # Errors
    ///
    /// A kernel that gives no network.
    pub(super) fn enter_network(self) -> io::Result<()> {
        let made = self.thread.join().map_err(|_| io::Error::other("the helping thread ended"))??;
        Ok(rustix::thread::move_into_link_name_space(made.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

/// Makes one for the calling thread, and returns what others enter it by.
#[expect(unsafe_code, reason = "sharing is ended by a call that could also end that of descriptors")]
fn make_network() -> io::Result<OwnedFd> {
    // SAFETY: with this flag the thread leaves nothing but the network of its process; its descriptors stay shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
    Ok(rustix::fs::open(OWN, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// A file of the base, and where in the room it is to be.
#[derive(Debug)]
pub(super) struct BaseFile {
    pub(super) at: PathBuf,
    pub(super) file: OwnedFd,
    pub(super) stat: Stat,
    pub(super) directory: Arc<OwnedFd>,
}

impl BaseFile {
    /// Copies it, unless something is there: that was granted, and is what the module is to see.
    fn copy(&self) -> io::Result<()> {
        let Some(name) = self.at.file_name() else { return Ok(()) };
        match stage::copy_base(&self.file, &self.stat, &self.directory, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            copied => copied,
        }
    }
}

/// The files of the base on their way into the room.
#[derive(Debug, Default)]
pub(super) struct Copies {
    waiting: Mutex<Vec<BaseFile>>,
    failed: Mutex<Option<Failure>>,
}

impl Copies {
    /// Has a file copied, sooner or later.
    pub(super) fn add(&self, file: BaseFile) {
        locked(&self.waiting).push(file);
    }

    /// Copies what waits, until nothing does. Another thread may still be at its last one then.
    pub(super) fn make(&self) {
        loop {
            // No longer than that, so that both threads copy.
            let Some(file) = locked(&self.waiting).pop() else { return };
            if let Err(error) = file.copy() {
                locked(&self.failed).get_or_insert(Failure::with(Step::Grant, &file.at)(error));
            }
        }
    }

    /// Returns what went wrong, when no thread copies any more.
    ///
    /// # Errors
    ///
    /// A file that could not be copied.
    pub(super) fn result(&self) -> Result<(), Failure> {
        locked(&self.failed).take().map_or(Ok(()), Err)
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
