//! seccomp user notifications ("reports"); libc has no wrapper.
//!
//! A filter makes the kernel hold a call until the process with the filter's listener answers. Allowed calls are only
//! watched: their answer is "go on". Refused calls are reported so that they can be named: their answer is an error. If
//! nothing answers any more, the kernel refuses the call.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Call that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report {
    pub(super) id: u64,
    /// The calling thread.
    pub(super) thread: u32,
    pub(super) number: i64,
    pub(super) arguments: [u64; 6],
}

/// Refuses the call.
#[expect(unsafe_code, reason = "no library answers reports")]
pub(super) fn refuse(listener: BorrowedFd<'_>, report: &Report) {
    let mut answer = libc::seccomp_notif_resp { id: report.id, val: 0, error: -libc::EPERM, flags: 0 };
    // SAFETY: the request reads one `seccomp_notif_resp`. It fails only when the thread is gone.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, std::ptr::from_mut(&mut answer)) };
}

/// Receives a report that is waiting.
#[expect(unsafe_code, reason = "no library reads reports")]
pub(super) fn take(listener: BorrowedFd<'_>) -> io::Result<Report> {
    let mut report = std::mem::MaybeUninit::<libc::seccomp_notif>::zeroed();
    // SAFETY: the request writes one `seccomp_notif`, which must be zeroed before; all its fields are integers.
    let report = unsafe {
        if libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, report.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        report.assume_init()
    };
    let data = report.data;
    Ok(Report { id: report.id, thread: report.pid, number: i64::from(data.nr), arguments: data.args })
}

/// Lets the call go on.
#[expect(unsafe_code, reason = "no library answers reports")]
pub(super) fn go_on(listener: BorrowedFd<'_>, report: &Report) {
    let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or_default();
    let mut answer = libc::seccomp_notif_resp { id: report.id, val: 0, error: 0, flags };
    // SAFETY: the request reads one `seccomp_notif_resp`. It fails only when the thread is gone.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, std::ptr::from_mut(&mut answer)) };
}

/// Reads memory of another process, up to the first unmapped page. Returns the number of bytes read.
#[expect(unsafe_code, reason = "no library reads the memory of another process")]
pub(super) fn read_memory(thread: u32, address: u64, into: &mut [u8]) -> usize {
    let Ok(pid) = i32::try_from(thread) else { return 0 };
    let Ok(address) = usize::try_from(address) else { return 0 };
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: into.len() };
    // SAFETY: process_vm_readv writes at most `into.len()` bytes to `into`; the remote address is only looked up in the
    // other process.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).unwrap_or(0)
}
