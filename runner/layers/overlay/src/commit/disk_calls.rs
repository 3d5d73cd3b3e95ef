//! All calls of a commit that change the file system, each behind its fault point.
//!
//! Names are always relative to an opened directory, and no call follows a symbolic link at the end. This file does not
//! know what a commit is.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::{Errno, Result};

use super::fault::{Call, Fault};

/// Calls behind fault points.
#[derive(Clone, Copy)]
pub(super) struct DiskCalls<'a> {
    fault: &'a dyn Fault,
}

impl std::fmt::Debug for DiskCalls<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskCalls").finish_non_exhaustive()
    }
}

impl<'a> DiskCalls<'a> {
    /// Returns calls that ask `fault` first.
    pub(super) fn new(fault: &'a dyn Fault) -> Self {
        Self { fault }
    }

    pub(super) fn make_file(self, dir: impl AsFd, name: &OsStr) -> Result<File> {
        self.fault.before(Call::Make)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(0o600)).map(File::from)
    }

    pub(super) fn make_directory(self, dir: impl AsFd, name: &OsStr) -> Result<OwnedFd> {
        self.fault.before(Call::Make)?;
        rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(0o700))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(dir, name, flags, Mode::empty())
    }

    pub(super) fn make_symlink(self, target: &OsStr, dir: impl AsFd, name: &OsStr) -> Result<()> {
        self.fault.before(Call::Make)?;
        rustix::fs::symlinkat(target, dir, name)
    }

    pub(super) fn link(self, from: impl AsFd, name: &OsStr, to: impl AsFd, new_name: &OsStr) -> Result<()> {
        self.fault.before(Call::Link)?;
        rustix::fs::linkat(from, name, to, new_name, AtFlags::empty())
    }

    pub(super) fn clone_content(self, from: &File, to: &File) -> Result<()> {
        self.fault.before(Call::Write)?;
        rustix::fs::ioctl_ficlone(to, from)
    }

    pub(super) fn copy_range(self, from: &File, to: &File, offset: u64, length: u64) -> Result<usize> {
        self.fault.before(Call::Write)?;
        let (mut read_at, mut write_at) = (offset, offset);
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(1 << 30);
        rustix::fs::copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), length)
    }

    pub(super) fn write_at(self, to: &File, bytes: &[u8], offset: u64) -> Result<usize> {
        self.fault.before(Call::Write)?;
        rustix::io::pwrite(to, bytes, offset)
    }

    pub(super) fn set_length(self, file: &File, length: u64) -> Result<()> {
        self.fault.before(Call::Write)?;
        rustix::fs::ftruncate(file, length)
    }

    pub(super) fn append(self, file: &File, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            self.fault.before(Call::Write)?;
            let written = rustix::io::write(file, rest)?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    pub(super) fn set_owner(self, dir: impl AsFd, name: &OsStr, uid: u32, gid: u32) -> Result<()> {
        self.fault.before(Call::Attribute)?;
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        rustix::fs::chownat(dir, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)
    }

    pub(super) fn set_mode(self, file: impl AsFd, mode: u32) -> Result<()> {
        self.fault.before(Call::Attribute)?;
        rustix::fs::fchmod(file, Mode::from_raw_mode(mode))
    }

    pub(super) fn open_up(self, dir: impl AsFd, name: &OsStr) -> Result<()> {
        self.fault.before(Call::Attribute)?;
        rustix::fs::chmodat(dir, name, Mode::from_raw_mode(0o700), AtFlags::empty())
    }

    pub(super) fn set_modified(self, dir: impl AsFd, name: &OsStr, modified: i128) -> Result<()> {
        self.fault.before(Call::Attribute)?;
        let time = timespec(modified);
        let times = Timestamps { last_access: time, last_modification: time };
        rustix::fs::utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW)
    }

    pub(super) fn set_file_modified(self, file: impl AsFd, modified: i128) -> Result<()> {
        self.fault.before(Call::Attribute)?;
        let time = timespec(modified);
        rustix::fs::futimens(file, &Timestamps { last_access: time, last_modification: time })
    }

    pub(super) fn set_xattr(self, file: impl AsFd, name: &str, value: &[u8]) -> Result<()> {
        self.fault.before(Call::Attribute)?;
        rustix::fs::fsetxattr(file, name, value, XattrFlags::empty())
    }

    pub(super) fn remove_xattr(self, file: impl AsFd, name: &str) -> Result<()> {
        self.fault.before(Call::Attribute)?;
        match rustix::fs::fremovexattr(file, name) {
            Err(Errno::NODATA | Errno::NOTSUP) => Ok(()),
            other => other,
        }
    }

    /// Renames within a directory to a free name, also where the file system has no such call.
    pub(super) fn rename_free(self, dir: impl AsFd, name: &OsStr, new_name: &OsStr) -> Result<()> {
        self.move_free(dir.as_fd(), name, dir.as_fd(), new_name)
    }

    pub(super) fn move_free(self, from: impl AsFd, name: &OsStr, to: impl AsFd, new_name: &OsStr) -> Result<()> {
        self.fault.before(Call::Rename)?;
        match rustix::fs::renameat_with(&from, name, &to, new_name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL) => {}
            other => return other,
        }
        match rustix::fs::linkat(&from, name, &to, new_name, AtFlags::empty()) {
            Ok(()) => rustix::fs::unlinkat(from, name, AtFlags::empty()),
            Err(Errno::EXIST) => Err(Errno::EXIST),
            // A directory has one name. What replaces it in this moment can only be an empty one.
            Err(_) if rustix::fs::statat(&to, new_name, AtFlags::SYMLINK_NOFOLLOW).is_ok() => Err(Errno::EXIST),
            Err(_) => rustix::fs::renameat(from, name, to, new_name),
        }
    }

    pub(super) fn exchange(self, dir: impl AsFd, one: &OsStr, other: &OsStr) -> Result<()> {
        self.fault.before(Call::Exchange)?;
        rustix::fs::renameat_with(&dir, one, &dir, other, RenameFlags::EXCHANGE)
    }

    pub(super) fn replace(self, dir: impl AsFd, name: &OsStr, new_name: &OsStr) -> Result<()> {
        self.fault.before(Call::Replace)?;
        rustix::fs::renameat(&dir, name, &dir, new_name)
    }

    pub(super) fn remove_file(self, dir: impl AsFd, name: &OsStr) -> Result<()> {
        self.fault.before(Call::Remove)?;
        rustix::fs::unlinkat(dir, name, AtFlags::empty())
    }

    pub(super) fn remove_directory(self, dir: impl AsFd, name: &OsStr) -> Result<()> {
        self.fault.before(Call::Remove)?;
        rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)
    }

    pub(super) fn sync_file(self, file: impl AsFd) -> Result<()> {
        self.fault.before(Call::Sync)?;
        rustix::fs::fsync(file)
    }

    pub(super) fn sync_file_system(self, file: impl AsFd) -> Result<()> {
        self.fault.before(Call::Sync)?;
        rustix::fs::syncfs(file)
    }
}

fn timespec(nanoseconds: i128) -> Timespec {
    let seconds = nanoseconds.div_euclid(1_000_000_000);
    Timespec {
        tv_sec: i64::try_from(seconds).unwrap_or_default(),
        tv_nsec: i64::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or_default(),
    }
}
