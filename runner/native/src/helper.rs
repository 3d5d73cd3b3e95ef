//! A second thread of a room's first process, for work that takes long while the first thread makes the file system. It
//! makes the room's own network, which is empty; then it helps to copy the base's small files.
//!
//! Of all namespaces a network is the most work for the kernel. The caller must wait for the thread's end, by
//! [`Helper::enter_network`], before it does anything that needs a process with one thread.

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

/// Stack size; the thread uses less than a quarter of it.
const STACK: usize = 64 << 10;

/// Path of the calling thread's network namespace. It works in every `/proc`, also in the room's own.
const NETWORK_NAMESPACE: &str = "/proc/thread-self/ns/net";

/// Thread that makes the network.
#[derive(Debug)]
pub(super) struct Helper {
    thread: JoinHandle<io::Result<OwnedFd>>,
}

impl Helper {
    /// Starts the thread, which makes a network and then copies files.
    ///
    /// # Errors
    ///
    /// Fails when no thread can be started.
    pub(super) fn begin(copies: &Arc<Copies>) -> io::Result<Self> {
        let copies = Arc::clone(copies);
        let work = move || {
            let network = make_network()?;
            copies.make();
            Ok(network)
        };
        thread::Builder::new().stack_size(STACK).spawn(work).map(|thread| Self { thread })
    }

    /// Waits for the thread, and moves this process into the network.
    ///
    /// # Errors
    ///
    /// Fails when the kernel gives no network.
    pub(super) fn enter_network(self) -> io::Result<()> {
        let made = self.thread.join().map_err(|_| io::Error::other("the helping thread ended"))??;
        Ok(rustix::thread::move_into_link_name_space(made.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

/// Makes a network for the calling thread, and returns a descriptor by which other threads enter it.
#[expect(unsafe_code, reason = "sharing is ended by a call that could also end that of descriptors")]
fn make_network() -> io::Result<OwnedFd> {
    // SAFETY: with this flag the thread only stops sharing the network of its process; its descriptors stay shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
    Ok(rustix::fs::open(NETWORK_NAMESPACE, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// File of the base, and its place in the room.
#[derive(Debug)]
pub(super) struct BaseFile {
    pub(super) at: PathBuf,
    pub(super) file: OwnedFd,
    pub(super) stat: Stat,
    pub(super) directory: Arc<OwnedFd>,
}

impl BaseFile {
    /// Copies the file, unless its name exists: a granted file takes precedence.
    fn copy(&self) -> io::Result<()> {
        let Some(name) = self.at.file_name() else { return Ok(()) };
        match stage::copy_base(&self.file, &self.stat, &self.directory, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            copied => copied,
        }
    }
}

/// Queue of base files to copy into the room.
#[derive(Debug, Default)]
pub(super) struct Copies {
    waiting: Mutex<Vec<BaseFile>>,
    failed: Mutex<Option<Failure>>,
}

impl Copies {
    /// Adds a file to the queue.
    pub(super) fn add(&self, file: BaseFile) {
        locked(&self.waiting).push(file);
    }

    /// Copies files until the queue is empty. Another thread may still be copying its last file then.
    pub(super) fn make(&self) {
        loop {
            // The lock is held only for the pop, so that both threads copy.
            let Some(file) = locked(&self.waiting).pop() else { return };
            if let Err(error) = file.copy() {
                locked(&self.failed).get_or_insert(Failure::with(Step::Grant, &file.at)(error));
            }
        }
    }

    /// Returns the first failure. Call it when no thread copies any more.
    ///
    /// # Errors
    ///
    /// Fails when a file could not be copied.
    pub(super) fn result(&self) -> Result<(), Failure> {
        locked(&self.failed).take().map_or(Ok(()), Err)
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
