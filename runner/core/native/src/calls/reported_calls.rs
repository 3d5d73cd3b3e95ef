//! The calls that a filter reports, by number: those that name a path or an address, and those that the launcher counts
//! because the kernel does not.
//!
//! This file does not look at the arguments; see `observe`.

use modbox_kernel::ReportedCalls;
use seccompiler::sock_filter;

use crate::calls::report_filter::{self, Asks, Choice, Half, Test, Verdict};

/// Flags of opening a file for changes.
pub(crate) const WRITES: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;

/// Effect of a call, with the indexes of its arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallEffect {
    /// Opens a path, with these flags.
    Open { directory: Option<usize>, path: usize, flags: usize },
    /// Runs a program, with these words.
    Execute { directory: Option<usize>, path: usize, words: usize },
    /// Takes the rights of other users.
    Identify,
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
    /// Whether the module is observed: calls that a room would refuse for other reasons are reported, too.
    pub(crate) observed: bool,
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
    (libc::SYS_execve, CallEffect::Execute { directory: None, path: 0, words: 1 }),
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

/// Calls of an observed module beside the others. In a room, its user has no rights of others.
const OBSERVED: &[(i64, CallEffect)] = &[
    (libc::SYS_execveat, CallEffect::Execute { directory: at(0), path: 1, words: 2 }),
    (libc::SYS_setgroups, CallEffect::Identify),
    (libc::SYS_setuid, CallEffect::Identify),
    (libc::SYS_setgid, CallEffect::Identify),
    (libc::SYS_setresuid, CallEffect::Identify),
    (libc::SYS_setresgid, CallEffect::Identify),
    (libc::SYS_setreuid, CallEffect::Identify),
    (libc::SYS_setregid, CallEffect::Identify),
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
    pub(crate) const OBSERVED: Self = Self { namespaces: true, memory: true, reads: true, observed: true };

    /// The scope for a module in a room.
    pub(crate) fn of_room(namespaces: bool, memory: bool, reads: bool) -> Self {
        Self { namespaces, memory, reads, observed: false }
    }

    /// Returns all calls that may be reported, with their effects.
    pub(crate) fn calls(self) -> impl Iterator<Item = &'static (i64, CallEffect)> {
        let none: &[(i64, CallEffect)] = &[];
        let starts = if self.namespaces { none } else { STARTS };
        let system_v = if self.namespaces && !self.memory { SYSTEM_V } else { none };
        let shared = if self.memory { none } else { SHARED };
        let attributes = if self.namespaces { ATTRIBUTES } else { none };
        let looks = if self.reads { LOOKS } else { none };
        let observed = if self.observed { OBSERVED } else { none };
        CALLS
            .iter()
            .chain(observed)
            .chain(LEGACY_CALLS)
            .chain(looks)
            .chain(attributes)
            .chain(starts)
            .chain(system_v)
            .chain(shared)
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
        report_filter::filter(self.calls().map(|(number, effect)| {
            let choice = self.tests(*number, *effect);
            (u32::try_from(*number).unwrap_or(u32::MAX), choice)
        }))
    }

    /// Returns the tests that decide whether a call is reported.
    fn tests(self, number: i64, effect: CallEffect) -> Choice {
        let report = |half, asks| Test { half, asks, verdict: Verdict::Report };
        let allow = |half, asks| Test { half, asks, verdict: Verdict::Allow };
        let bits = i32::cast_unsigned;
        let (tests, otherwise) = match (number, effect) {
            (_, CallEffect::Open { flags, .. }) if !self.reads => {
                let flags = Half::Lower(flags);
                let tests = vec![
                    report(flags, Asks::AnyOf(bits(WRITES))),
                    // A list, which is refused on the way to a grant, and whose error need not name the directory.
                    report(flags, Asks::AnyOf(bits(libc::O_DIRECTORY))),
                    allow(flags, Asks::AnyOf(bits(libc::O_CLOEXEC))),
                ];
                (tests, Verdict::Report)
            }
            (_, CallEffect::Lock { .. }) => {
                (vec![report(Half::Lower(1), Asks::AnyOf(bits(libc::LOCK_EX)))], Verdict::Allow)
            }
            (_, CallEffect::Lease { .. }) => {
                (vec![report(Half::Lower(1), Asks::Is(bits(libc::F_SETLEASE)))], Verdict::Allow)
            }
            // Without an address it sends to the address that the socket is connected to.
            (libc::SYS_sendto, _) => (
                [Half::Lower(4), Half::Upper(4)].map(|half| report(half, Asks::AnyOf(u32::MAX))).to_vec(),
                Verdict::Allow,
            ),
            // With this flag the call usually has no path, only a descriptor.
            (libc::SYS_newfstatat, _) => {
                (vec![allow(Half::Lower(3), Asks::AnyOf(bits(libc::AT_EMPTY_PATH)))], Verdict::Report)
            }
            // Other memory belongs to the process or to a file. The kernel also takes `MAP_SHARED_VALIDATE`, which has the
            // bit of `MAP_SHARED`.
            (libc::SYS_mmap, _) => {
                let shared = bits(libc::MAP_SHARED | libc::MAP_ANONYMOUS);
                (vec![report(Half::Lower(3), Asks::AllOf(shared))], Verdict::Allow)
            }
            _ => (Vec::new(), Verdict::Report),
        };
        Choice { tests, otherwise }
    }
}

#[cfg(test)]
mod tests {
    use crate::calls::report_filter::verdict;

    use super::*;

    const CONFINED: ReportScope = ReportScope { namespaces: true, memory: false, reads: false, observed: false };

    #[track_caller]
    fn check(scope: ReportScope, number: i64, arguments: &[(usize, u64)], expect: Verdict) {
        let mut all = [0; 6];
        arguments.iter().for_each(|(index, value)| all[*index] = *value);
        let number = u32::try_from(number).unwrap();
        assert_eq!(verdict(&scope.choice(), number, all), expect, "{number} {arguments:x?}");
    }

    #[test]
    fn opens_for_changes_are_reported_and_those_of_loaders_are_not() {
        let open = |flags: i32| [(2, u64::from(flags.cast_unsigned()))];
        for (flags, expect) in [
            (libc::O_RDONLY, Verdict::Report),
            (libc::O_RDONLY | libc::O_CLOEXEC, Verdict::Allow),
            (libc::O_WRONLY | libc::O_CLOEXEC, Verdict::Report),
            (libc::O_CREAT | libc::O_CLOEXEC, Verdict::Report),
            (libc::O_DIRECTORY | libc::O_CLOEXEC, Verdict::Report),
        ] {
            check(CONFINED, libc::SYS_openat, &open(flags), expect);
            check(ReportScope::OBSERVED, libc::SYS_openat, &open(flags), Verdict::Report);
        }
    }

    #[test]
    fn calls_are_reported_by_their_arguments() {
        let shared = u64::from((libc::MAP_SHARED | libc::MAP_ANONYMOUS).cast_unsigned());
        for (number, index, value, expect) in [
            (libc::SYS_flock, 1, libc::LOCK_EX as u64, Verdict::Report),
            (libc::SYS_flock, 1, libc::LOCK_SH as u64, Verdict::Allow),
            (libc::SYS_fcntl, 1, libc::F_SETLEASE as u64, Verdict::Report),
            (libc::SYS_fcntl, 1, libc::F_GETFL as u64, Verdict::Allow),
            (libc::SYS_sendto, 4, 0, Verdict::Allow),
            (libc::SYS_sendto, 4, 1, Verdict::Report),
            (libc::SYS_sendto, 4, 1 << 32, Verdict::Report),
            (libc::SYS_mmap, 3, shared, Verdict::Report),
            (libc::SYS_mmap, 3, shared | 1, Verdict::Report),
            (libc::SYS_mmap, 3, libc::MAP_ANONYMOUS as u64, Verdict::Allow),
            (libc::SYS_mmap, 3, libc::MAP_SHARED as u64, Verdict::Allow),
            (libc::SYS_connect, 0, 0, Verdict::Report),
            (libc::SYS_read, 0, 0, Verdict::Allow),
            (libc::SYS_newfstatat, 3, 0, Verdict::Allow),
        ] {
            check(CONFINED, number, &[(index, value)], expect);
        }
        check(ReportScope::OBSERVED, libc::SYS_newfstatat, &[(3, 0)], Verdict::Report);
        check(ReportScope::OBSERVED, libc::SYS_newfstatat, &[(3, libc::AT_EMPTY_PATH as u64)], Verdict::Allow);
        check(ReportScope::OBSERVED, libc::SYS_mmap, &[(3, shared)], Verdict::Allow);
    }
}
