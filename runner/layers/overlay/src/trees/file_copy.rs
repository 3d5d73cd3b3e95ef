//! Copies one entry of a tree into another, with what this user may copy of it.
//!
//! Holes of files stay holes, and file systems that can share the blocks of two files do so. Directories are made empty;
//! `tree_copy` fills them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use modbox_vocabulary::time::settable_times;
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, XattrFlags};

use crate::changes::entry_reader::{self, FoundEntry};
use crate::tree_root::TreeRoot;
use crate::trees::file_holes::{has_holes, next_data};

/// Size of the buffer for content.
const BUFFER: usize = 64 << 10;

/// Makes the copy of an entry at the same path of another tree. Attributes of a directory are left to [`describe`].
///
/// # Errors
///
/// The kernel's error, or [`io::ErrorKind::InvalidData`] for a file that changes while it is read.
pub(crate) fn copy(from: &TreeRoot, to: &TreeRoot, path: &Path, found: &FoundEntry, stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => return Ok(rustix::fs::mkdirat(to, path, Mode::RWXU)?),
        FileType::RegularFile => copy_content(from, to, path, stat)?,
        FileType::Symlink => {
            let target = found.entry.target.as_deref().unwrap_or_else(|| Path::new(""));
            rustix::fs::symlinkat(target, to, path)?;
        }
        special => rustix::fs::mknodat(to, path, special, Mode::RUSR | Mode::WUSR, stat.st_rdev)?,
    }
    describe(to, path, found, stat)
}

/// Gives a copy the owner, the attributes and the times of the original, as far as this user may.
///
/// # Errors
///
/// The mode or the times cannot be set.
pub(crate) fn describe(to: &TreeRoot, path: &Path, found: &FoundEntry, stat: &Stat) -> io::Result<()> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let copy = to.look(path)?.ok_or_else(gone)?;
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    if rustix::fs::chownat(&copy, c"", Some(uid), Some(gid), flags).is_err() {
        // One at a time, where both together are refused. The comparison is with the copy as it was made.
        let _ = rustix::fs::chownat(&copy, c"", None, Some(gid), flags);
        let _ = rustix::fs::chownat(&copy, c"", Some(uid), None, flags);
    }
    let place = format!("/proc/self/fd/{}", copy.as_raw_fd());
    for (name, value) in &found.entry.xattrs {
        // The same.
        let _ = rustix::fs::setxattr(&*place, &**name, value, XattrFlags::empty());
    }
    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
        rustix::fs::chmod(&*place, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
    }
    // An empty path is refused here by older kernels, and the name in `/proc` of a link would be followed.
    Ok(rustix::fs::utimensat(to, path_or_dot(path), &settable_times(stat), AtFlags::SYMLINK_NOFOLLOW)?)
}

fn path_or_dot(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn copy_content(from: &TreeRoot, to: &TreeRoot, path: &Path, stat: &Stat) -> io::Result<()> {
    let source = File::from(from.open_file(path)?);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let copy = File::from(rustix::fs::openat(to, path, flags, Mode::RUSR | Mode::WUSR)?);
    if rustix::fs::ioctl_ficlone(&copy, &source).is_err() {
        copy_data(&source, &copy, stat)?;
    }
    let now = rustix::fs::fstat(&source)?;
    let state = |stat: &Stat| (stat.st_dev, stat.st_ino, stat.st_size, stat.st_ctime, stat.st_ctime_nsec);
    if state(&now) == state(stat) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "it was changed while it was copied"))
}

/// Copies the parts of a file that have blocks.
fn copy_data(source: &File, copy: &File, stat: &Stat) -> io::Result<()> {
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let next = |position| if has_holes(stat) { next_data(source, position, size) } else { Ok(Some((position, size))) };
    let room = usize::try_from(size).unwrap_or(BUFFER).min(BUFFER);
    let (mut buffer, mut position) = (vec![0; room], 0);
    while position < size {
        let Some((start, end)) = next(position)? else { return copy.set_len(size) };
        position = start;
        while position < end {
            let wanted = usize::try_from(end - position).unwrap_or(room).min(room);
            let read = rustix::io::retry_on_intr(|| rustix::io::pread(source, &mut buffer[..wanted], position))?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            copy.write_all_at(&buffer[..read], position)?;
            position += read as u64;
        }
    }
    Ok(())
}

/// Returns whether a copy lacks attributes of its original.
pub(crate) fn is_inexact(original: &FoundEntry, copy: &FoundEntry) -> bool {
    let attributes = |found: &FoundEntry| {
        (found.entry.mode, found.entry.uid, found.entry.gid, found.entry.xattrs.clone(), found.entry.entry_type)
    };
    attributes(original) != attributes(copy) || original.flags != copy.flags
}

/// Reads an entry with its state in the file system. Returns `None` if it does not exist.
pub(crate) fn look(root: &TreeRoot, path: &Path) -> io::Result<Option<(FoundEntry, Stat)>> {
    let Some(opened) = root.look(path)? else { return Ok(None) };
    let stat = rustix::fs::fstat(&opened)?;
    Ok(Some((entry_reader::read_opened(&opened, &stat)?, stat)))
}
