//! Single-name write grants as the module sees them: copies in one of the room's own directories.
//!
//! A file that is mounted by itself can neither be created, removed nor replaced. Careful programs write by replacing,
//! Ansible's `atomic_move` among them. The file's directory cannot be mounted instead, because no rule of the kernel is
//! about names. So the module gets a directory of its own that contains only copies of the granted files, and may do
//! anything there. When the module has ended by itself, the result is copied back: see [`commit`](crate::copies::commit).

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use modbox_policy::Owners;
use modbox_vocabulary::FileFingerprint;
use modbox_vocabulary::time::settable_times;
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid};
use rustix::io::Errno;

use crate::copies::xattrs::Xattrs;
use crate::copies::{flags, xattrs};
use crate::rooms::modes::{self, MODE};

/// Size of the buffer for small files.
const SMALL: usize = 8 << 10;

/// Returns whether the file at a path can be copied: it is a file within the limit, or does not exist yet.
pub(crate) fn fits(host: &Path, limit: u64) -> io::Result<bool> {
    match host.symlink_metadata() {
        Ok(metadata) => Ok(metadata.is_file() && metadata.len() <= limit),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// A file of the machine that was copied into the room.
#[derive(Debug)]
pub(crate) struct CopiedFile {
    /// The file before it was copied.
    pub(crate) was: FileFingerprint,
    /// Attributes that the copy cannot hold.
    pub(crate) missing: Vec<String>,
}

/// Copies a file of the machine into one of the room's own directories, with its extended attributes as far as the copy
/// can hold them, and the set-id bits that `own` allows. Returns `None` if the file does not exist.
pub(crate) fn copy_in(host: &Path, directory: &OwnedFd, name: &str, own: &Owners) -> io::Result<Option<CopiedFile>> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let from = match rustix::fs::openat2(rustix::fs::CWD, host, flags, Mode::empty(), resolve) {
        Ok(from) => from,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    let stat = rustix::fs::fstat(&from)?;
    let copied = copy_content(&from, &stat, directory, name, Mode::RUSR | Mode::WUSR)?;
    // Without them the module can still use the file; if it changes it, taking it back names the cause.
    let (xattrs, mut missing) = match xattrs::read(&from) {
        Ok(xattrs) => (xattrs, Vec::new()),
        Err(_) => (Xattrs::new(), vec!["extended attributes".to_owned()]),
    };
    for (name, value) in xattrs.iter().filter(|(name, _)| xattrs::is_carried(name)) {
        // The file system in memory may not know it, or may not know a user that it names.
        if xattrs::set(&copied, name, value).is_err() {
            missing.push(xattrs::described(name));
        }
    }
    // Best effort: taking the file back does not depend on it.
    let _ = flags::keep(&copied, flags::read(&from));
    describe(&copied, &stat, modes::shown(own, &stat))?;
    Ok(Some(CopiedFile { was: FileFingerprint::from(&stat), missing }))
}

/// Copies the regular files of a directory into one of the room's own; other entries are left out.
pub(crate) fn copy_flat(from: &OwnedFd, private: &OwnedFd, name: &str) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let to = rustix::fs::openat(private, name, flags, Mode::empty())?;
    for entry in rustix::fs::Dir::read_from(from)? {
        let entry = entry?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        if let (Ok(name), FileType::RegularFile) = (entry.file_name().to_str(), entry.file_type()) {
            copy(&rustix::fs::openat(from, name, flags, Mode::empty())?, &to, name)?;
        }
    }
    Ok(())
}

/// Copies an open file, from its beginning, into a directory.
fn copy(from: &OwnedFd, directory: impl AsFd, name: impl rustix::path::Arg) -> io::Result<()> {
    let stat = rustix::fs::fstat(from)?;
    let copied = copy_content(from, &stat, directory, name, Mode::RUSR | Mode::WUSR)?;
    describe(&copied, &stat, Mode::from_raw_mode(stat.st_mode & MODE))
}

/// Copies a file of the base, which is read-only, with the original's mode and times. There must be no umask. The owner
/// is copied if this user is root and the original's owner is not root, to which most of the base belongs.
pub(crate) fn copy_base(
    from: &OwnedFd,
    stat: &Stat,
    directory: impl AsFd,
    name: impl rustix::path::Arg,
) -> io::Result<()> {
    let copied = copy_content(from, stat, directory, name, Mode::from_raw_mode(stat.st_mode & MODE))?;
    if (stat.st_uid, stat.st_gid) != (0, 0) && rustix::process::geteuid().is_root() {
        set_owner(&copied, stat);
    }
    Ok(rustix::fs::futimens(&copied, &settable_times(stat))?)
}

fn copy_content(
    from: &OwnedFd,
    stat: &Stat,
    directory: impl AsFd,
    name: impl rustix::path::Arg,
    mode: Mode,
) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut writer = File::from(rustix::fs::openat(directory, name, flags, mode)?);
    // Most files are so small that one read is enough; `io::copy` would take longer to set up. Files of the kernel are
    // shorter than their size says.
    let mut small = [0; SMALL];
    let mut total = 0;
    loop {
        let length = rustix::io::read(from, &mut small)?;
        writer.write_all(&small[..length])?;
        total += length as u64;
        if length == 0 || u64::try_from(stat.st_size) == Ok(total) {
            return Ok(writer);
        }
        if length == SMALL {
            io::copy(&mut File::from(from.try_clone()?), &mut writer)?;
            return Ok(writer);
        }
    }
}

/// Gives a file the owner and times of another, and a mode, as far as this user may.
fn describe(file: &File, stat: &Stat, mode: Mode) -> io::Result<()> {
    set_owner(file, stat);
    rustix::fs::fchmod(file, mode)?;
    Ok(rustix::fs::futimens(file, &settable_times(stat))?)
}

/// Gives a file the owner and the group of another. Without the permission to do so, the file keeps its own.
pub(crate) fn set_owner(file: impl AsFd, stat: &Stat) {
    let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    // One at a time, where both together are refused.
    if rustix::fs::fchown(&file, Some(uid), Some(gid)).is_err() {
        let _ = rustix::fs::fchown(&file, None, Some(gid));
        let _ = rustix::fs::fchown(&file, Some(uid), None);
    }
}

/// Returns the metadata of a name without following links, or `None` if it does not exist.
pub(crate) fn look(directory: &OwnedFd, name: impl rustix::path::Arg) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}
