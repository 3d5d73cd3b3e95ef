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

/// Starts a fork of this process in a user namespace and a mount namespace of its own, in which it may mount. It does
/// `work` and ends. It is the same user and group there, and no other exists. If its identity is refused, it only ends.
///
/// # Errors
///
/// This process has more than one thread, or the kernel or the machine's configuration refuses the namespaces.
#[expect(unsafe_code, reason = "no safe wrapper makes a child in namespaces")]
pub fn start_who_mounts(work: impl FnOnce()) -> io::Result<Pid> {
    if system::threads()? != 1 {
        return Err(io::Error::other("a process with several threads is not forked"));
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let flags = libc::c_long::from(libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::SIGCHLD);
    let zero = std::ptr::null::<()>();
    // SAFETY: without a new stack and without shared memory, clone is fork: the child continues here with a copy of
    // everything. This process has one thread, so no other holds a lock of the C library or of the allocator.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, zero, zero, zero, zero) };
    if pid == 0 {
        // A panic must not return into the parent's work either.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if take_identity(user, group).is_ok() {
                work();
            }
        }));
        end_fork();
    }
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
    pid.ok_or_else(io::Error::last_os_error)
}

/// Maps this user and group into the user namespace of this process.
fn take_identity(user: u32, group: u32) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))
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

#[expect(unsafe_code, reason = "rustix does not wrap close_range")]
fn close_range(first: u32, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: close_range takes three integers. With CLOSE_RANGE_CLOEXEC it only sets a flag. Without it, the callers
    // state that no value of this process owns the descriptors. The raw system call is used because glibc has a wrapper
    // only since 2.34.
    let status = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
