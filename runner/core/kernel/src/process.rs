//! System calls on processes and descriptors that no safe wrapper offers, for modbox's own processes.

use std::io;

use rustix::process::Pid;

use crate::system;

/// Forks this process. Returns `None` in the child.
///
/// # Errors
///
/// This process has more than one thread: the child would lack the others, and they may hold locks. Or the kernel
/// refuses another process.
#[expect(unsafe_code, reason = "no safe wrapper forks")]
pub fn fork() -> io::Result<Option<Pid>> {
    if system::threads()? != 1 {
        return Err(io::Error::other("a process with several threads is not forked"));
    }
    // SAFETY: fork has no precondition but that the child of a process with several threads calls only
    // async-signal-safe functions. This process has one thread, so the child is a whole copy in which everything works.
    match unsafe { libc::fork() } {
        0 => Ok(None),
        pid if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once, because a forked child must not return into its parent's work.
#[expect(unsafe_code, reason = "std's exit runs what was registered by the parent")]
pub(super) fn end_fork() -> ! {
    // SAFETY: _exit takes an integer and does not return.
    unsafe { libc::_exit(0) }
}

/// Closes every descriptor from `first` on.
///
/// For a process that has just begun, and owns none of them: its parent or its caller left them open.
///
/// # Errors
///
/// The kernel's error; [`io::ErrorKind::Unsupported`] before Linux 5.9.
pub fn close_descriptors_from(first: u32) -> io::Result<()> {
    close_range(first, 0)
}

/// Marks every descriptor from `first` on as close-on-exec, so that programs which this process starts do not get it.
///
/// # Errors
///
/// The kernel's error; [`io::ErrorKind::Unsupported`] or `InvalidInput` before Linux 5.11.
pub fn hide_descriptors_from(first: u32) -> io::Result<()> {
    close_range(first, libc::CLOSE_RANGE_CLOEXEC)
}

/// Makes this process the leader of a new session, unless it leads one. In a session of its own, a process has no terminal
/// and gets no signals from one.
///
/// # Errors
///
/// This process leads a process group of another session.
pub fn start_session() -> io::Result<()> {
    let refused = match rustix::process::setsid() {
        Ok(_) => return Ok(()),
        Err(refused) => refused,
    };
    if session() == std::process::id() as libc::pid_t { Ok(()) } else { Err(refused.into()) }
}

/// Returns the number of this process's session; 0 if the process that leads it is not in this PID namespace.
#[expect(unsafe_code, reason = "rustix takes the number for one that is not 0")]
fn session() -> libc::pid_t {
    // SAFETY: getsid takes and returns a number.
    unsafe { libc::getsid(0) }
}

#[expect(unsafe_code, reason = "rustix does not wrap close_range")]
fn close_range(first: u32, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: close_range takes three integers. With CLOSE_RANGE_CLOEXEC it only sets a flag. Without it, the callers
    // state that no value of this process owns the descriptors. The raw system call is used because glibc has a wrapper
    // only since 2.34.
    let status = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
