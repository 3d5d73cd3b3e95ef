//! The system calls that no safe wrapper offers, but for those of mounting and of reports.
//!
//! Kept in one small file so that all unsafe code of native runs is read in one sitting. Nothing here
//! decides anything.

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

/// `CLONE_INTO_CGROUP`, which is no `int`.
const INTO_CGROUP: u64 = 1 << 33;

/// `CLONE_CLEAR_SIGHAND`, which is none either.
const CLEAR_SIGHAND: u64 = 1 << 32;

/// What processes used together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TreeUsage {
    /// User and system time in microseconds.
    pub(super) cpu_us: u64,
    /// The largest resident set of any one of them, in bytes.
    pub(super) memory_bytes: u64,
}

impl TreeUsage {
    /// Of both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            cpu_us: self.cpu_us.saturating_add(other.cpu_us),
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
        }
    }
}

/// Returns what the reaped descendants of this process used.
pub(super) fn children_usage() -> TreeUsage {
    usage(libc::RUSAGE_CHILDREN)
}

/// Returns what this process used.
pub(super) fn own_usage() -> TreeUsage {
    usage(libc::RUSAGE_SELF)
}

/// `/proc/self/stat` has the times too, but in hundredths of a second, and has no peak memory at all.
#[expect(unsafe_code, reason = "rustix wraps neither getrusage nor wait4")]
fn usage(whose: libc::c_int) -> TreeUsage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes one `rusage` through its second argument, which points to a live local
    // of that type. It fails only for an unknown first argument or a bad address; were it to fail, the
    // zeroes stay, and every field of `rusage` is an integer, for which zero is a valid value.
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

/// Marks every descriptor from `first` on as not to be inherited by what this process starts.
///
/// Whoever started modbox may have left descriptors open for it (a shell's `3<file`); a module must not
/// find them. They are marked and not closed, because this process goes on using its own.
///
/// # Errors
///
/// What the kernel says; [`io::ErrorKind::Unsupported`] or `InvalidInput` before Linux 5.11.
#[expect(unsafe_code, reason = "rustix does not wrap close_range")]
pub(super) fn close_on_exec_from(first: libc::c_uint) -> io::Result<()> {
    // SAFETY: close_range with CLOSE_RANGE_CLOEXEC takes three integers and only sets a flag on
    // descriptors: none is closed, so no owner of a descriptor is invalidated. The raw system call is
    // used because glibc has a wrapper only since 2.34.
    let status = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closes every descriptor from `first` on.
///
/// # Errors
///
/// What the kernel says; [`io::ErrorKind::Unsupported`] before Linux 5.9.
#[expect(unsafe_code, reason = "rustix does not wrap close_range")]
pub(super) fn close_from(first: libc::c_uint) -> io::Result<()> {
    // SAFETY: close_range takes three integers. It closes descriptors without their owners' knowledge; they are those of
    // the process that this one is a copy of, whose code never runs here again.
    let status = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has this process show another command line, as far as that fits into its own, and no environment.
///
/// Both must be where the kernel says that they are. They are gone for this process, too.
#[expect(unsafe_code, reason = "what other processes see of a command line is this process's memory")]
pub(super) fn overwrite_command_line(arguments: Range<usize>, environment: Range<usize>, title: &[u8]) {
    let fits = title.len().min(arguments.len().saturating_sub(1));
    for range in [&arguments, &environment] {
        // SAFETY: the kernel has put the strings of both there, below the stack of the first thread, which is writable and
        // stays. No reference into them is held: the standard library copies what it is asked for, and whoever asks for a
        // variable later finds empty strings, which are none.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(range.start).write_bytes(0, range.len()) };
    }
    // SAFETY: the same place, and no more than is there, with the zero at its end.
    unsafe {
        let start = std::ptr::with_exposed_provenance_mut::<u8>(arguments.start);
        start.copy_from_nonoverlapping(title.as_ptr(), fits);
    }
}

/// Makes this process run before all ordinary ones, but nothing that it starts.
///
/// A nice value would not do: where the kernel groups processes by session for scheduling, it counts
/// only inside the group, and each process of a bomb can be a group of its own.
///
/// # Errors
///
/// What the kernel says: not permitted, unless root asks.
#[expect(unsafe_code, reason = "rustix does not wrap sched_setscheduler")]
pub(super) fn run_before_others() -> io::Result<()> {
    // The kernel's `sched_param` is this number alone; musl's is longer.
    let priority: libc::c_int = 1;
    // SAFETY: sched_setscheduler reads one `int` through its third argument, which points to a live
    // local of that type; zero means the calling thread. The raw system call is used because
    // musl's function of that name only says that there is none.
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

/// Makes a child of this process, in new namespaces where `flags` say so. Returns `None` in the child.
///
/// Only for a process with one thread: the child is then a whole copy of it, in which everything works.
///
/// # Errors
///
/// What the kernel says: not permitted, or too many.
#[expect(unsafe_code, reason = "no library makes a child in namespaces without executing a program")]
pub(super) fn fork(flags: libc::c_int) -> io::Result<Option<Pid>> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    let zero = std::ptr::null::<()>();
    // SAFETY: without a stack of its own and without sharing memory, clone is fork: the child goes on here with a copy of
    // everything. Its parent has one thread, so that no lock of the C library or of the allocator is held by another.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, zero, zero, zero, zero) };
    match i32::try_from(pid) {
        Ok(0) => Ok(None),
        Ok(pid) if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes a child as [`fork`] does, in a control group of version 2 from its birth.
///
/// # Errors
///
/// What the kernel says: not permitted, no such call, or a group that takes no processes.
pub(super) fn fork_into(flags: libc::c_int, group: BorrowedFd<'_>) -> io::Result<Option<Pid>> {
    clone3(u64::from(flags.cast_unsigned()) | INTO_CGROUP, Some(group))
}

/// Makes a child as [`fork`] does, for which signals do what they do by themselves, unless they are ignored: a handler
/// is its parent's, and from the child's birth on would speak for that.
///
/// # Errors
///
/// What the kernel says: no such call, or too many processes.
pub(super) fn fork_without_handlers() -> io::Result<Option<Pid>> {
    clone3(CLEAR_SIGHAND, None)
}

#[expect(unsafe_code, reason = "no library makes a child without executing a program")]
fn clone3(flags: u64, group: Option<BorrowedFd<'_>>) -> io::Result<Option<Pid>> {
    // All its fields are integers, and zero is none.
    // SAFETY: `clone_args` is a plain structure of integers, for which zeroes are valid.
    let mut arguments: libc::clone_args = unsafe { MaybeUninit::zeroed().assume_init() };
    arguments.flags = flags;
    arguments.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    if let Some(group) = group {
        arguments.cgroup = u64::try_from(group.as_raw_fd()).unwrap_or(u64::MAX);
    }
    let size = size_of::<libc::clone_args>();
    // SAFETY: clone3 reads one `clone_args` of the size that it is told; without a stack it is fork, and `fork` says why
    // that is sound here.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, std::ptr::from_ref(&arguments), size) };
    match i32::try_from(pid) {
        Ok(0) => Ok(None),
        Ok(pid) if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once: a child that is a copy must not go back into what its parent was doing.
#[expect(unsafe_code, reason = "std's exit runs what was registered by the parent")]
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: _exit takes an integer and does not return.
    unsafe { libc::_exit(code) }
}

/// Lets signals do in this process what they do by themselves, whatever its parent had set.
#[expect(unsafe_code, reason = "no safe wrapper sets a signal to its default")]
pub(super) fn default_child_signal() {
    // SAFETY: this installs no handler, so no code of ours runs in a signal's context.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}
