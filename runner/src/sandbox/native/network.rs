//! The room's own network, in which there is nothing: made by a thread, while the file system of the room is made.
//!
//! For the kernel it is the most work of all namespaces. That the thread is gone before anything else is done with this
//! process, which has one thread again then, is the caller's part: [`Network::enter`] waits for it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread::{self, JoinHandle};

use rustix::fs::{Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

/// What the thread needs of its stack is less than a page.
const STACK: usize = 64 << 10;

/// The calling thread's own namespace, by whichever `/proc` there is: in the room's own it is found as well.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network in the making.
#[derive(Debug)]
pub(super) struct Network(JoinHandle<io::Result<OwnedFd>>);

impl Network {
    /// Begins to make one.
    ///
    /// # Errors
    ///
    /// No thread.
    pub(super) fn begin() -> io::Result<Self> {
        thread::Builder::new().stack_size(STACK).spawn(make).map(Self)
    }

    /// Moves this process into it, once it is there.
    ///
    /// # Errors
    ///
    /// A kernel that gives none.
    pub(super) fn enter(self) -> io::Result<()> {
        let made = self.0.join().map_err(|_| io::Error::other("the thread that makes the network ended"))??;
        Ok(rustix::thread::move_into_link_name_space(made.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

/// Makes one for the calling thread, and returns what others enter it by.
#[expect(unsafe_code, reason = "sharing is ended by a call that could also end that of descriptors")]
fn make() -> io::Result<OwnedFd> {
    // SAFETY: with this flag the thread leaves nothing but the network of its process; its descriptors stay shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
    Ok(rustix::fs::open(OWN, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}
