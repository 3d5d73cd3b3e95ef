//! Flags of a file, as `chattr` sets them.
//!
//! No module can change them: its system calls for that are refused. So flags only have to stay when a file is replaced.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::IFlags;
use rustix::io::Errno;

/// Flags that a new file gets from the file that it replaces. Files with the flags against changes are never replaced;
/// the other flags say how a file system stores the file.
const KEPT: IFlags = IFlags::SECURE_REMOVAL
    .union(IFlags::UNRM)
    .union(IFlags::COMPRESSED)
    .union(IFlags::SYNC)
    .union(IFlags::NODUMP)
    .union(IFlags::NOATIME)
    .union(IFlags::JOURNALING)
    .union(IFlags::NOTAIL)
    .union(IFlags::NOCOW);

/// Returns the flags of a file; none on a file system without flags.
pub(crate) fn read(file: impl AsFd) -> IFlags {
    rustix::fs::ioctl_getflags(file).unwrap_or(IFlags::empty())
}

/// Gives a new, empty file the flags of another.
///
/// # Errors
///
/// Fails when the file system or this user may not set one of them.
pub(crate) fn keep(file: impl AsFd, flags: IFlags) -> io::Result<()> {
    let own = read(&file);
    let wanted = own.difference(KEPT).union(flags.intersection(KEPT));
    if wanted == own {
        return Ok(());
    }
    rustix::fs::ioctl_setflags(file, wanted)
        .map_err(|errno: Errno| io::Error::other(format!("failed to keep its flags: {}", io::Error::from(errno))))
}
