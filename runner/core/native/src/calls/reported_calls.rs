//! The calls that a filter reports, by number: those that name a path or an address, and those that the launcher counts
//! because the kernel does not.
//!
//! This file does not look at the arguments; see `observe`.

use modbox_kernel::ReportedCalls;
use seccompiler::sock_filter;

/// Flags of opening a file for changes.
pub(crate) const WRITES: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;

/// Effect of a call, with the indexes of its arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallEffect {
    /// Opens a path, with these flags.
    Open { directory: Option<usize>, path: usize, flags: usize },
    /// Runs a program.
    Execute { path: usize },
    /// Looks at a path. For `access`, the index of the mode that is asked about.
    Look { directory: Option<usize>, path: usize, mode: Option<usize> },
    /// Makes a link, or a special file.
    MakeLink { directory: Option<usize>, path: usize },
    /// Makes a directory.
    MakeDirectory { directory: Option<usize>, path: usize },
    /// Renames a path to another.
    Rename { from: (Option<usize>, usize), to: (Option<usize>, usize) },
    /// Changes an existing path.
    Change { directory: Option<usize>, path: usize },
    /// Removes a path.
    Remove { directory: Option<usize>, path: usize },
    /// Creates a new path.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only `creat` does so, which x86-64 alone has"))]
    Make { directory: Option<usize>, path: usize },
    /// Connects or sends to an address.
    Connect { address: usize, length: usize },
    /// Binds an address of this machine.
    Bind,
    /// Starts a process or thread.
    Start,
    /// Makes memory that belongs to no process.
    Allocate,
    /// Locks a file exclusively.
    Lock { descriptor: usize },
    /// Takes a lease of a file.
    Lease { descriptor: usize },
    /// Gives an open file an owner.
    GiveOpen,
}

/// What decides which calls are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReportScope {
    /// Whether a PID namespace bounds processes, and an IPC namespace holds queues and shared memory.
    pub(crate) namespaces: bool,
    /// Whether a control group counts the memory of all processes together.
    pub(crate) memory: bool,
    /// Whether looks at paths and reading are reported: `stat`, and opening files for reading only with `O_CLOEXEC`.
    pub(crate) reads: bool,
}

/// Calls that start processes and threads. Without a PID namespace, the kernel does not end all of them at once.
#[cfg(target_arch = "x86_64")]
const STARTS: &[(i64, CallEffect)] =
    &[(libc::SYS_clone, CallEffect::Start), (libc::SYS_fork, CallEffect::Start), (libc::SYS_vfork, CallEffect::Start)];
#[cfg(not(target_arch = "x86_64"))]
const STARTS: &[(i64, CallEffect)] = &[(libc::SYS_clone, CallEffect::Start)];

/// Calls that make shared memory, semaphores and queues, which no process of the module has to map.
const SYSTEM_V: &[(i64, CallEffect)] = &[
    (libc::SYS_shmget, CallEffect::Allocate),
    (libc::SYS_semget, CallEffect::Allocate),
    (libc::SYS_msgget, CallEffect::Allocate),
];

/// Shared memory without a file. Its pages stay when a process gives up its own view of them.
const SHARED: &[(i64, CallEffect)] = &[(libc::SYS_mmap, CallEffect::Allocate)];

const fn at(directory: usize) -> Option<usize> {
    Some(directory)
}

const CALLS: &[(i64, CallEffect)] = &[
    (libc::SYS_openat, CallEffect::Open { directory: at(0), path: 1, flags: 2 }),
    (libc::SYS_execve, CallEffect::Execute { path: 0 }),
    (libc::SYS_connect, CallEffect::Connect { address: 1, length: 2 }),
    (libc::SYS_sendto, CallEffect::Connect { address: 4, length: 5 }),
    (libc::SYS_bind, CallEffect::Bind),
    (libc::SYS_mkdirat, CallEffect::MakeDirectory { directory: at(0), path: 1 }),
    (libc::SYS_symlinkat, CallEffect::MakeLink { directory: at(1), path: 2 }),
    (libc::SYS_linkat, CallEffect::MakeLink { directory: at(2), path: 3 }),
    (libc::SYS_mknodat, CallEffect::MakeLink { directory: at(0), path: 1 }),
    (libc::SYS_unlinkat, CallEffect::Remove { directory: at(0), path: 1 }),
    (libc::SYS_renameat2, CallEffect::Rename { from: (at(0), 1), to: (at(2), 3) }),
    (libc::SYS_truncate, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_flock, CallEffect::Lock { descriptor: 0 }),
    (libc::SYS_fcntl, CallEffect::Lease { descriptor: 0 }),
    (libc::SYS_setxattr, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_lsetxattr, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_removexattr, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_lremovexattr, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_getxattr, CallEffect::Look { directory: None, path: 0, mode: None }),
    (libc::SYS_lgetxattr, CallEffect::Look { directory: None, path: 0, mode: None }),
    (libc::SYS_listxattr, CallEffect::Look { directory: None, path: 0, mode: None }),
    (libc::SYS_llistxattr, CallEffect::Look { directory: None, path: 0, mode: None }),
    (libc::SYS_faccessat, CallEffect::Look { directory: at(0), path: 1, mode: Some(2) }),
    (libc::SYS_faccessat2, CallEffect::Look { directory: at(0), path: 1, mode: Some(2) }),
    (libc::SYS_statfs, CallEffect::Look { directory: None, path: 0, mode: None }),
    (libc::SYS_chdir, CallEffect::Look { directory: None, path: 0, mode: None }),
    (libc::SYS_statx, CallEffect::Look { directory: at(0), path: 1, mode: None }),
];

/// Calls that look at a path, of which programs make hundreds while they load themselves.
#[cfg(target_arch = "x86_64")]
const LOOKS: &[(i64, CallEffect)] = &[
    (libc::SYS_newfstatat, CallEffect::Look { directory: at(0), path: 1, mode: None }),
    (libc::SYS_stat, CallEffect::Look { directory: None, path: 0, mode: None }),
    (libc::SYS_lstat, CallEffect::Look { directory: None, path: 0, mode: None }),
];
#[cfg(not(target_arch = "x86_64"))]
const LOOKS: &[(i64, CallEffect)] =
    &[(libc::SYS_newfstatat, CallEffect::Look { directory: at(0), path: 1, mode: None })];

/// Calls that set modes, times and owners. Without namespaces they are refused, and the launcher makes them; see
/// `attribute_calls`. In namespaces an owner needs a grant; see `owners`.
const ATTRIBUTES: &[(i64, CallEffect)] = &[
    (libc::SYS_fchmodat, CallEffect::Change { directory: at(0), path: 1 }),
    (libc::SYS_fchownat, CallEffect::Change { directory: at(0), path: 1 }),
    (libc::SYS_fchown, CallEffect::GiveOpen),
    (libc::SYS_utimensat, CallEffect::Change { directory: at(0), path: 1 }),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, CallEffect::Change { directory: None, path: 0 }),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chown, CallEffect::Change { directory: None, path: 0 }),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_lchown, CallEffect::Change { directory: None, path: 0 }),
];

/// Calls that only x86-64 has.
#[cfg(target_arch = "x86_64")]
const LEGACY_CALLS: &[(i64, CallEffect)] = &[
    (libc::SYS_open, CallEffect::Open { directory: None, path: 0, flags: 1 }),
    (libc::SYS_creat, CallEffect::Make { directory: None, path: 0 }),
    (libc::SYS_mkdir, CallEffect::MakeDirectory { directory: None, path: 0 }),
    (libc::SYS_symlink, CallEffect::MakeLink { directory: None, path: 1 }),
    (libc::SYS_link, CallEffect::MakeLink { directory: None, path: 1 }),
    (libc::SYS_mknod, CallEffect::MakeLink { directory: None, path: 0 }),
    (libc::SYS_unlink, CallEffect::Remove { directory: None, path: 0 }),
    (libc::SYS_rmdir, CallEffect::Remove { directory: None, path: 0 }),
    (libc::SYS_rename, CallEffect::Rename { from: (None, 0), to: (None, 1) }),
    (libc::SYS_renameat, CallEffect::Rename { from: (at(0), 1), to: (at(2), 3) }),
    (libc::SYS_access, CallEffect::Look { directory: None, path: 0, mode: Some(1) }),
    (libc::SYS_utime, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_utimes, CallEffect::Change { directory: None, path: 0 }),
];

#[cfg(not(target_arch = "x86_64"))]
const LEGACY_CALLS: &[(i64, CallEffect)] =
    &[(libc::SYS_renameat, CallEffect::Rename { from: (at(0), 1), to: (at(2), 3) })];

impl ReportScope {
    /// The scope for an observed module, which is not confined: all uses of paths and addresses.
    pub(crate) const OBSERVED: Self = Self { namespaces: true, memory: true, reads: true };

    /// Returns all calls that may be reported, with their effects.
    pub(crate) fn calls(self) -> impl Iterator<Item = &'static (i64, CallEffect)> {
        let none: &[(i64, CallEffect)] = &[];
        let starts = if self.namespaces { none } else { STARTS };
        let system_v = if self.namespaces && !self.memory { SYSTEM_V } else { none };
        let shared = if self.memory { none } else { SHARED };
        let attributes = if self.namespaces { ATTRIBUTES } else { none };
        let looks = if self.reads { LOOKS } else { none };
        CALLS.iter().chain(LEGACY_CALLS).chain(looks).chain(attributes).chain(starts).chain(system_v).chain(shared)
    }

    /// Returns the effect of an allowed call that is reported, or `None` for a refused one.
    pub(crate) fn effect_of(self, number: i64) -> Option<CallEffect> {
        self.calls().find(|(call, _)| *call == number).map(|(_, effect)| *effect)
    }

    /// Returns the choice of calls that are reported, in addition to the refused ones.
    pub(crate) fn reported(self) -> ReportedCalls {
        let numbers = self.calls().map(|(number, _)| u32::try_from(*number).unwrap_or(u32::MAX)).collect();
        ReportedCalls { numbers, choice: self.choice() }
    }

    /// Returns the part of a filter that reports these calls. The part before it refuses other ABIs, with other numbers.
    fn choice(self) -> Vec<sock_filter> {
        const LOAD: u16 = 0x20;
        const AND: u16 = 0x54;
        const JUMP_EQUAL: u16 = 0x15;
        const JUMP_SET: u16 = 0x45;
        const RETURN: u16 = 0x06;
        const REPORT: u32 = libc::SECCOMP_RET_USER_NOTIF;
        const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
        // Offset of the lower half of the second argument.
        const SECOND: u32 = 16 + 8;
        // Offsets of the fourth argument, and of the lower and the upper half of the fifth.
        const FOURTH: u32 = 16 + 3 * 8;
        const FIFTH: [u32; 2] = [16 + 4 * 8, 16 + 4 * 8 + 4];
        let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
        let mut program = vec![step(LOAD, 0, 0, 0)];
        for (number, effect) in self.calls() {
            let is_mmap = *number == libc::SYS_mmap;
            let is_sendto = *number == libc::SYS_sendto;
            let is_stat = *number == libc::SYS_newfstatat;
            let number = u32::try_from(*number).unwrap_or(u32::MAX);
            if let CallEffect::Open { flags, .. } = effect
                && !self.reads
            {
                let flags = u32::try_from(16 + 8 * flags).unwrap_or(u32::MAX);
                program.push(step(JUMP_EQUAL, 0, 6, number));
                program.push(step(LOAD, 0, 0, flags));
                program.push(step(JUMP_SET, 2, 0, WRITES.cast_unsigned()));
                // A list, which is refused on the way to a grant, and whose error need not name the directory.
                program.push(step(JUMP_SET, 1, 0, libc::O_DIRECTORY.cast_unsigned()));
                program.push(step(JUMP_SET, 1, 0, libc::O_CLOEXEC.cast_unsigned()));
                program.push(step(RETURN, 0, 0, REPORT));
                program.push(step(RETURN, 0, 0, ALLOW));
            } else if let CallEffect::Lock { .. } | CallEffect::Lease { .. } = effect {
                let is_lease = matches!(effect, CallEffect::Lease { .. });
                program.push(step(JUMP_EQUAL, 0, 4, number));
                program.push(step(LOAD, 0, 0, SECOND));
                program.push(match is_lease {
                    true => step(JUMP_EQUAL, 0, 1, libc::F_SETLEASE.cast_unsigned()),
                    false => step(JUMP_SET, 0, 1, libc::LOCK_EX.cast_unsigned()),
                });
                program.push(step(RETURN, 0, 0, REPORT));
                program.push(step(RETURN, 0, 0, ALLOW));
            } else if is_sendto {
                // Without an address it sends to the address that the socket is connected to.
                program.push(step(JUMP_EQUAL, 0, 6, number));
                program.push(step(LOAD, 0, 0, FIFTH[0]));
                program.push(step(JUMP_EQUAL, 0, 3, 0));
                program.push(step(LOAD, 0, 0, FIFTH[1]));
                program.push(step(JUMP_EQUAL, 0, 1, 0));
                program.push(step(RETURN, 0, 0, ALLOW));
                program.push(step(RETURN, 0, 0, REPORT));
            } else if is_stat {
                // With this flag the call usually has no path, only a descriptor.
                program.push(step(JUMP_EQUAL, 0, 4, number));
                program.push(step(LOAD, 0, 0, FOURTH));
                program.push(step(JUMP_SET, 0, 1, libc::AT_EMPTY_PATH.cast_unsigned()));
                program.push(step(RETURN, 0, 0, ALLOW));
                program.push(step(RETURN, 0, 0, REPORT));
            } else if is_mmap {
                // Other memory belongs to the process or to a file. The kernel also takes `MAP_SHARED_VALIDATE`, which
                // has the bit of `MAP_SHARED`.
                let shared = (libc::MAP_SHARED | libc::MAP_ANONYMOUS).cast_unsigned();
                program.push(step(JUMP_EQUAL, 0, 5, number));
                program.push(step(LOAD, 0, 0, FOURTH));
                program.push(step(AND, 0, 0, shared));
                program.push(step(JUMP_EQUAL, 0, 1, shared));
                program.push(step(RETURN, 0, 0, REPORT));
                program.push(step(RETURN, 0, 0, ALLOW));
            } else {
                program.push(step(JUMP_EQUAL, 0, 1, number));
                program.push(step(RETURN, 0, 0, REPORT));
            }
        }
        program.push(step(RETURN, 0, 0, ALLOW));
        program
    }
}
