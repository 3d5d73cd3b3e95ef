//! System calls without a safe wrapper, except those of mounts and reports.
//!
//! They are in one small file so that the unsafe code of native runs is read in one sitting. This file makes no
//! decisions.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

/// `CLONE_INTO_CGROUP`, which does not fit into an `int`.
const INTO_CGROUP: u64 = 1 << 33;

/// Resources used by several processes together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TreeUsage {
    /// User and system time in microseconds.
    pub(super) cpu_us: u64,
    /// Largest resident set of one process, in bytes.
    pub(super) memory_bytes: u64,
}

impl TreeUsage {
    /// Adds the use of `other`.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            cpu_us: self.cpu_us.saturating_add(other.cpu_us),
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
        }
    }
}

/// Returns the use of the reaped descendants of this process.
pub(super) fn children_usage() -> TreeUsage {
    usage(libc::RUSAGE_CHILDREN)
}

/// Returns the use of this process.
pub(super) fn own_usage() -> TreeUsage {
    usage(libc::RUSAGE_SELF)
}

/// Reads the use with getrusage. `/proc/self/stat` has the times too, but in hundredths of a second, and lacks peak
/// memory.
#[expect(unsafe_code, reason = "rustix wraps neither getrusage nor wait4")]
fn usage(whose: libc::c_int) -> TreeUsage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes one `rusage` through its second argument, which points to a live local of that type. It
    // fails only for an unknown first argument or a bad address; after a failure the zeroes stay, and every field of
    // `rusage` is an integer, for which zero is a valid value.
    let usage = unsafe {
        libc::getrusage(whose, usage.as_mut_ptr());
        usage.assume_init()
    };
    let micros = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        seconds.saturating_mul(1_000_000).saturating_add(u64::try_from(time.tv_usec).unwrap_or(0))
    };
    TreeUsage {
        cpu_us: micros(usage.ru_utime).saturating_add(micros(usage.ru_stime)),
        memory_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
    }
}

/// Gives this process real-time priority over all ordinary processes. Its children do not inherit it.
///
/// A nice value is not enough: where the kernel groups processes by session for scheduling, it counts only inside the
/// group, and each process of a fork bomb can be a group of its own.
///
/// # Errors
///
/// The kernel's error: not permitted, unless the user is root.
#[expect(unsafe_code, reason = "rustix does not wrap sched_setscheduler")]
pub(super) fn run_before_others() -> io::Result<()> {
    // The kernel's `sched_param` is only this number; musl's is longer.
    let priority: libc::c_int = 1;
    // SAFETY: sched_setscheduler reads one `int` through its third argument, which points to a live local of that type;
    // zero means the calling thread. The raw system call is used because musl's function of that name only returns
    // ENOSYS.
    let status = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_RR | libc::SCHED_RESET_ON_FORK,
            std::ptr::from_ref(&priority),
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Forks this process, with new namespaces where `flags` request them. Returns `None` in the child.
///
/// The process must have one thread: the child is then a whole copy of it, in which everything works.
///
/// # Errors
///
/// The kernel's error: not permitted, or too many processes or namespaces.
#[expect(unsafe_code, reason = "no library makes a child in namespaces without executing a program")]
pub(super) fn fork(flags: libc::c_int) -> io::Result<Option<Pid>> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    let zero = std::ptr::null::<()>();
    // SAFETY: without a new stack and without shared memory, clone is fork: the child continues here with a copy of
    // everything. Its parent has one thread, so no other thread holds a lock of the C library or of the allocator.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, zero, zero, zero, zero) };
    match i32::try_from(pid) {
        Ok(0) => Ok(None),
        Ok(pid) if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Forks as [`fork`] does, with the child in a control group of version 2 from its start.
///
/// # Errors
///
/// The kernel's error: not permitted, unknown call, or a group that takes no processes.
pub(super) fn fork_into(flags: libc::c_int, group: BorrowedFd<'_>) -> io::Result<Option<Pid>> {
    clone3(u64::from(flags.cast_unsigned()) | INTO_CGROUP, group)
}

#[expect(unsafe_code, reason = "no library makes a child without executing a program")]
fn clone3(flags: u64, group: BorrowedFd<'_>) -> io::Result<Option<Pid>> {
    // SAFETY: `clone_args` is a plain structure of integers, for which zeroes are valid and mean "none".
    let mut arguments: libc::clone_args = unsafe { MaybeUninit::zeroed().assume_init() };
    arguments.flags = flags;
    arguments.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    arguments.cgroup = u64::try_from(group.as_raw_fd()).unwrap_or(u64::MAX);
    let size = size_of::<libc::clone_args>();
    // SAFETY: clone3 reads one `clone_args` of the given size; without a stack it is fork, and `fork` explains why that
    // is sound here.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, std::ptr::from_ref(&arguments), size) };
    match i32::try_from(pid) {
        Ok(0) => Ok(None),
        Ok(pid) if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once, because a forked child must not return into its parent's work.
#[expect(unsafe_code, reason = "std's exit runs what was registered by the parent")]
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: _exit takes an integer and does not return.
    unsafe { libc::_exit(code) }
}

/// Closes all descriptors from a number on, in a forked child that goes on without what its parent has opened.
#[expect(unsafe_code, reason = "no safe wrapper closes descriptors that others own")]
pub(super) fn close_from(first: u32) {
    // SAFETY: close_range takes integers. The child does not return into code that owns one of the descriptors.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
}

/// Restores the default action of SIGCHLD in this process.
#[expect(unsafe_code, reason = "no safe wrapper sets a signal to its default")]
pub(super) fn default_child_signal() {
    // SAFETY: this installs no handler, so no code of ours runs in a signal's context.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}
