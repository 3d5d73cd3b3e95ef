//! Mounts of a thread of the monitor, for a worker that was forked before the thread had them.
//!
//! A worker that is started later has the mounts of the thread that starts it anyway.

use std::io;
use std::os::fd::AsFd as _;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, gettid, move_into_link_name_space};

/// Returns the id of this thread if its mounts are not those of the process.
pub(crate) fn of_this_thread() -> Option<u32> {
    let link = |path: &str| rustix::fs::readlinkat(CWD, path, Vec::new()).ok();
    let own = link("/proc/thread-self/ns/mnt");
    let is_own = own.is_some() && own != link("/proc/self/ns/mnt");
    is_own.then(|| gettid().as_raw_nonzero().get().unsigned_abs())
}

/// Gives this process the mounts of a thread of the monitor.
///
/// # Errors
///
/// The thread has ended, or this process may not enter its mounts.
pub(crate) fn enter(monitor: u32, thread: u32) -> io::Result<()> {
    let path = format!("/proc/{monitor}/task/{thread}/ns/mnt");
    let mounts = rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_without_mounts_of_its_own_is_told() {
        assert_eq!(of_this_thread(), None);
        let inside = std::thread::spawn(|| modbox_kernel::PrivateMounts::enter().map(|_| of_this_thread())).join();
        // Only root can have mounts of its own.
        if let Ok(Ok(thread)) = inside {
            assert!(thread.is_some());
        }
    }
}
