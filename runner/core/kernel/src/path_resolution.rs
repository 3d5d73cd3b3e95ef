//! Whether the kernel resolves paths beneath a directory: the call `openat2`, on which every grant of a path rests.
//!
//! There is no other way to resolve them: any that a kernel without the call could take is weaker, and a process that renames
//! files beside the module must not be able to choose it.

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use crate::error::KernelError;

/// Checks that the kernel resolves paths beneath a directory.
///
/// # Errors
///
/// The kernel is older than Linux 5.6, or a filter refuses the call.
pub fn check_path_resolution() -> Result<(), KernelError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(CWD, "/", flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    opened.map(drop).map_err(|errno| KernelError::PathResolution(errno.into()))
}
