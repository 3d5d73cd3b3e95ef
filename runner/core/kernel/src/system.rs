//! The system calls without a safe wrapper, and the count of threads.
//!
//! `process` has the calls that start a process. This file makes no decisions.

use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use crate::error::KernelError;

/// The directory of the process's threads.
const TASKS: &str = "/proc/self/task";

/// How long a joined thread may take to disappear. It needs microseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns the version of Landlock.
///
/// # Errors
///
/// The kernel lacks Landlock (`ENOSYS`), or was started without it (`EOPNOTSUPP`).
#[expect(unsafe_code, reason = "no library returns the version")]
pub(super) fn landlock_abi() -> io::Result<u32> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag, landlock_create_ruleset does not read its first argument, which must be null, creates
    // nothing and returns a number.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<()>(), 0_usize, VERSION) };
    u32::try_from(abi).map_err(|_| io::Error::last_os_error())
}

/// Returns whether the kernel supports the filters' action for system calls.
#[expect(unsafe_code, reason = "no library has this check")]
pub(super) fn has_seccomp() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    let get = libc::SECCOMP_GET_ACTION_AVAIL;
    // SAFETY: with this operation, seccomp reads one `u32` through its third argument, which points to a live local.
    unsafe { libc::syscall(libc::SYS_seccomp, get, 0, std::ptr::from_ref(&action)) == 0 }
}

/// Makes writes beyond the size limit of files fail, instead of killing the process.
#[expect(unsafe_code, reason = "no safe wrapper sets a signal to be ignored")]
pub(super) fn survive_file_size_limit() {
    // SAFETY: ignoring a signal installs no handler, so no code of ours runs in a signal's context. An earlier handler
    // is not needed: the write fails in both cases.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Lets only a fatal signal interrupt a caller whose report was received. Otherwise programs with many signals make no
/// progress. Since Linux 5.19.
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;

/// Installs a filter that reports calls, and returns its listener, and whether only fatal signals interrupt a caller.
/// `no_new_privs` must be set.
#[expect(unsafe_code, reason = "no library installs a filter that reports")]
pub(super) fn install_listener(program: &[seccompiler::sock_filter]) -> io::Result<(OwnedFd, bool)> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    // Both are the kernel's `sock_filter`.
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
    let install = |flags: libc::c_ulong| {
        let flags = flags | libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // SAFETY: seccomp reads one `sock_fprog`, which points to as many instructions as its length field says; both
        // live as long as the call, and nothing is written to them.
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, std::ptr::from_ref(&program)) }
    };
    let mut fd = install(WAIT_KILLABLE);
    let is_killable = fd >= 0;
    if !is_killable {
        fd = install(0);
    }
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just made this descriptor for the caller, and no other value owns it.
    Ok((unsafe { OwnedFd::from_raw_fd(fd) }, is_killable))
}

/// Waits until the calling thread is the only one. A joined thread is still counted for a moment.
///
/// # Errors
///
/// Other threads stay.
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

/// Counts the threads. Their directory has one link for each, so it need not be listed.
pub(super) fn threads() -> io::Result<u64> {
    match fs::metadata(TASKS)?.nlink().checked_sub(2) {
        Some(count @ 1..) => Ok(count),
        // Not the `/proc` of Linux.
        _ => Ok(fs::read_dir(TASKS)?.count() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted() {
        // Other tests of this crate run in other threads, so there may be more than one.
        let listed = fs::read_dir(TASKS).unwrap().count();
        assert!(threads().unwrap() >= 2, "{listed} are listed");
    }
}
