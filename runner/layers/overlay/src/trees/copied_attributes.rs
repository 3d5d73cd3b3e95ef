//! Copies mode, owner, extended attributes and times from one entry to another.

use std::io;
use std::os::fd::AsFd;

use modbox_vocabulary::time::settable_times;
use rustix::fs::{Gid, Mode, Uid, XattrFlags};

use crate::changes::entry_reader;

/// Copies all attributes of an open directory to another.
///
/// # Errors
///
/// The owner, the mode or the times cannot be set. Attributes that the other file system cannot hold are left out.
pub(crate) fn copy_all(from: impl AsFd, to: impl AsFd) -> io::Result<()> {
    let stat = rustix::fs::fstat(&from)?;
    rustix::fs::fchown(&to, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)))?;
    copy_xattrs(&from, &to)?;
    rustix::fs::fchmod(&to, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
    Ok(rustix::fs::futimens(&to, &settable_times(&stat))?)
}

/// Copies extended attributes between open files or directories. Returns whether all could be copied.
///
/// # Errors
///
/// The attributes cannot be read.
pub(crate) fn copy_xattrs(from: impl AsFd, to: impl AsFd) -> io::Result<bool> {
    let mut all = true;
    for (name, value) in entry_reader::xattrs(from)? {
        all &= rustix::fs::fsetxattr(&to, &*name, &value, XattrFlags::empty()).is_ok();
    }
    Ok(all)
}
