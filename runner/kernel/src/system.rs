//! The system calls that no safe wrapper offers, and counting threads.
//!
//! Kept in one small file so that all unsafe code of this layer is read in one sitting. Nothing here decides anything.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use crate::KernelError;

/// The process's directory of threads.
const TASKS: &str = "/proc/self/task";

/// How long a thread that was joined may take to vanish. It needs microseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns the version of Landlock's interface.
///
/// # Errors
///
/// A kernel without Landlock (`ENOSYS`), or one that was started without it (`EOPNOTSUPP`).
#[expect(unsafe_code, reason = "no library tells the version")]
pub(super) fn landlock_abi() -> io::Result<u32> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag landlock_create_ruleset reads nothing through its first argument, which must be null,
    // makes nothing and returns a number.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<()>(), 0_usize, VERSION) };
    u32::try_from(abi).map_err(|_| io::Error::last_os_error())
}

/// Returns whether the kernel has filters of system calls with the one answer that ours give.
#[expect(unsafe_code, reason = "no library asks this")]
pub(super) fn has_seccomp() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    let get = libc::SECCOMP_GET_ACTION_AVAIL;
    // SAFETY: seccomp with this operation reads one `u32` through its third argument, which points to a live local.
    unsafe { libc::syscall(libc::SYS_seccomp, get, 0, std::ptr::from_ref(&action)) == 0 }
}

/// Has writing beyond the size limit of files fail, where it would kill the process.
#[expect(unsafe_code, reason = "no safe wrapper sets a signal to be ignored")]
pub(super) fn survive_file_size_limit() {
    // SAFETY: ignoring a signal installs no handler, so no code of ours runs in a signal's context. A handler that was
    // there is not needed: the write fails either way.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Waits until the calling thread is the only one: a thread that was joined is still counted for a moment.
///
/// # Errors
///
/// Threads that stay.
pub(super) fn wait_until_alone() -> Result<(), KernelError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match threads().map_err(KernelError::CountThreads)? {
            1 => return Ok(()),
            count if Instant::now() > deadline => return Err(KernelError::Threads { count }),
            _ => thread::sleep(Duration::from_micros(20)),
        }
    }
}

/// Counts the threads. Their directory has a link for each, so that it need not be listed.
pub(super) fn threads() -> io::Result<u64> {
    match fs::metadata(TASKS)?.nlink().checked_sub(2) {
        Some(count @ 1..) => Ok(count),
        // Not the `/proc` of Linux itself.
        _ => Ok(fs::read_dir(TASKS)?.count() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted() {
        // The tests of this file's crate run in threads of their own, so there are others at any time.
        let listed = fs::read_dir(TASKS).unwrap().count();
        assert!(threads().unwrap() >= 2, "{listed} are listed");
    }
}
