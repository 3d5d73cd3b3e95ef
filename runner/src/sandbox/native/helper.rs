//! A second thread of a room's first process, for what takes long while the first one makes the file system: the room's
//! own network, in which there is nothing, and the copies of the base's small files.
//!
//! For the kernel a network is the most work of all namespaces. That the thread is gone before anything else is done with
//! this process, which has one thread again then, is the caller's part: [`Helper::enter_network`] waits for it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use rustix::fs::{Mode, OFlags, Stat};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use crate::sandbox::native::link::Failure;
use crate::sandbox::native::protocol::Step;
use crate::sandbox::native::stage;

/// What the thread needs of its stack is less than a quarter of it.
const STACK: usize = 64 << 10;

/// How many files are handed over at once: waking the thread takes about as long as copying one.
const BATCH: usize = 8;

/// The calling thread's own namespace, by whichever `/proc` there is: in the room's own it is found as well.
const OWN: &str = "/proc/thread-self/ns/net";

/// The thread.
#[derive(Debug)]
pub(super) struct Helper {
    thread: JoinHandle<Result<OwnedFd, Failure>>,
    files: Sender<Vec<BaseFile>>,
}

impl Helper {
    /// Begins to make a network.
    ///
    /// # Errors
    ///
    /// No thread.
    pub(super) fn begin() -> io::Result<Self> {
        let (files, copied) = channel();
        let thread = thread::Builder::new().stack_size(STACK).spawn(move || work(&copied))?;
        Ok(Self { thread, files })
    }

    /// Moves this process into the network, once that and all copies are there.
    ///
    /// # Errors
    ///
    /// A kernel that gives no network, or a file that cannot be copied.
    pub(super) fn enter_network(self) -> Result<(), Failure> {
        drop(self.files);
        let failed = |error: io::Error| Failure::new(Step::Namespaces, &error);
        let made = self.thread.join().map_err(|_| failed(io::Error::other("the helping thread ended")))??;
        rustix::thread::move_into_link_name_space(made.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|errno| failed(errno.into()))
    }
}

fn work(files: &Receiver<Vec<BaseFile>>) -> Result<OwnedFd, Failure> {
    let network = make_network().map_err(|error| Failure::new(Step::Namespaces, &error))?;
    files.iter().flatten().try_for_each(|file| file.copy().map_err(Failure::with(Step::Grant, &file.at)))?;
    Ok(network)
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

/// The files of the base on their way into the room: the thread copies them, where there is one.
#[derive(Debug)]
pub(super) struct Copies<'h> {
    helper: Option<&'h Helper>,
    batch: Vec<BaseFile>,
}

impl<'h> Copies<'h> {
    pub(super) fn new(helper: Option<&'h Helper>) -> Self {
        Self { helper, batch: Vec::new() }
    }

    /// Has a file copied, sooner or later.
    ///
    /// # Errors
    ///
    /// One that cannot be copied, if that is known already.
    pub(super) fn add(&mut self, file: BaseFile) -> io::Result<()> {
        if self.helper.is_none() {
            return file.copy();
        }
        self.batch.push(file);
        if self.batch.len() >= BATCH {
            self.hand_over();
        }
        Ok(())
    }

    /// Hands over the rest.
    pub(super) fn finish(mut self) {
        self.hand_over();
    }

    fn hand_over(&mut self) {
        if let Some(helper) = self.helper {
            // A thread that is gone has failed, which is heard when it is waited for.
            let _ = helper.files.send(std::mem::take(&mut self.batch));
        }
    }
}
