//! The calls that a room's filter reports: those that name a path or an address, by number.
//!
//! This file does not look at the names; see `observe`.

use modbox_kernel::ReportedCalls;
use seccompiler::sock_filter;

/// Flags of opening a file for changes.
pub(super) const WRITES: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;

/// Effect of a call, with the indexes of its arguments.
#[derive(Debug, Clone, Copy)]
pub(super) enum CallEffect {
    /// Opens a path, with these flags.
    Open { directory: Option<usize>, path: usize, flags: usize },
    /// Runs a program.
    Execute { path: usize },
    /// Looks at a path. For `access`, the index of the mode that is asked about.
    Look { directory: Option<usize>, path: usize, mode: Option<usize> },
    /// Makes a directory.
    MakeDirectory { directory: Option<usize>, path: usize },
    /// Renames a path to another.
    Rename { from: (Option<usize>, usize), to: (Option<usize>, usize) },
    /// Changes or removes an existing path.
    Change { directory: Option<usize>, path: usize },
    /// Removes a path.
    Remove { directory: Option<usize>, path: usize },
    /// Creates a new path.
    Make { directory: Option<usize>, path: usize },
    /// Connects or sends to an address.
    Connect { address: usize, length: usize },
    /// Binds an address of this machine.
    Bind,
}

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
    (libc::SYS_symlinkat, CallEffect::Make { directory: at(1), path: 2 }),
    (libc::SYS_linkat, CallEffect::Make { directory: at(2), path: 3 }),
    (libc::SYS_mknodat, CallEffect::Make { directory: at(0), path: 1 }),
    (libc::SYS_unlinkat, CallEffect::Remove { directory: at(0), path: 1 }),
    (libc::SYS_renameat2, CallEffect::Rename { from: (at(0), 1), to: (at(2), 3) }),
    (libc::SYS_truncate, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_fchmodat, CallEffect::Change { directory: at(0), path: 1 }),
    (libc::SYS_fchownat, CallEffect::Change { directory: at(0), path: 1 }),
    (libc::SYS_utimensat, CallEffect::Change { directory: at(0), path: 1 }),
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

/// Calls that only x86-64 has.
#[cfg(target_arch = "x86_64")]
const LEGACY_CALLS: &[(i64, CallEffect)] = &[
    (libc::SYS_open, CallEffect::Open { directory: None, path: 0, flags: 1 }),
    (libc::SYS_creat, CallEffect::Make { directory: None, path: 0 }),
    (libc::SYS_mkdir, CallEffect::MakeDirectory { directory: None, path: 0 }),
    (libc::SYS_symlink, CallEffect::Make { directory: None, path: 1 }),
    (libc::SYS_link, CallEffect::Make { directory: None, path: 1 }),
    (libc::SYS_mknod, CallEffect::Make { directory: None, path: 0 }),
    (libc::SYS_unlink, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_rmdir, CallEffect::Remove { directory: None, path: 0 }),
    (libc::SYS_rename, CallEffect::Rename { from: (None, 0), to: (None, 1) }),
    (libc::SYS_renameat, CallEffect::Rename { from: (at(0), 1), to: (at(2), 3) }),
    (libc::SYS_access, CallEffect::Look { directory: None, path: 0, mode: Some(1) }),
    (libc::SYS_chmod, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_chown, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_lchown, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_utime, CallEffect::Change { directory: None, path: 0 }),
    (libc::SYS_utimes, CallEffect::Change { directory: None, path: 0 }),
];

#[cfg(not(target_arch = "x86_64"))]
const LEGACY_CALLS: &[(i64, CallEffect)] =
    &[(libc::SYS_renameat, CallEffect::Rename { from: (at(0), 1), to: (at(2), 3) })];

/// Returns all calls that may be reported, with their effects.
pub(super) fn calls() -> impl Iterator<Item = &'static (i64, CallEffect)> {
    CALLS.iter().chain(LEGACY_CALLS)
}

/// Returns the choice of calls that are reported, in addition to the refused ones.
pub(super) fn reported() -> ReportedCalls {
    let numbers = calls().map(|(number, _)| u32::try_from(*number).unwrap_or(u32::MAX)).collect();
    ReportedCalls { numbers, choice: choice() }
}

/// Returns the part of a filter that reports the calls in [`calls`]. The part before it refuses other ABIs, with other
/// numbers.
fn choice() -> Vec<sock_filter> {
    const LOAD: u16 = 0x20;
    const JUMP_EQUAL: u16 = 0x15;
    const JUMP_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    // Offsets of the lower and the upper half of a call's fifth argument.
    const FIFTH: [u32; 2] = [16 + 4 * 8, 16 + 4 * 8 + 4];
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let mut program = vec![step(LOAD, 0, 0, 0)];
    for (number, effect) in calls() {
        let number = u32::try_from(*number).unwrap_or(u32::MAX);
        if let CallEffect::Open { flags, .. } = effect {
            let flags = u32::try_from(16 + 8 * flags).unwrap_or(u32::MAX);
            program.push(step(JUMP_EQUAL, 0, 5, number));
            program.push(step(LOAD, 0, 0, flags));
            program.push(step(JUMP_SET, 1, 0, WRITES.cast_unsigned()));
            program.push(step(JUMP_SET, 1, 0, libc::O_CLOEXEC.cast_unsigned()));
            program.push(step(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF));
            program.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
        } else if i64::from(number) == libc::SYS_sendto {
            // Without an address it sends to the address that the socket is connected to.
            program.push(step(JUMP_EQUAL, 0, 6, number));
            program.push(step(LOAD, 0, 0, FIFTH[0]));
            program.push(step(JUMP_EQUAL, 0, 3, 0));
            program.push(step(LOAD, 0, 0, FIFTH[1]));
            program.push(step(JUMP_EQUAL, 0, 1, 0));
            program.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
            program.push(step(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF));
        } else {
            program.push(step(JUMP_EQUAL, 0, 1, number));
            program.push(step(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF));
        }
    }
    program.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
    program
}
