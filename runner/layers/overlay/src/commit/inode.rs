//! The state of what has a name, as a commit compares it: number, type, owner, size, times, extended attributes.
//!
//! A commit asks twice: before it publishes, and of what came out of an exchange. This file does not change anything.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::{Errno, Result};
use serde::{Deserialize, Serialize};

use crate::changes::change::EntryType;
use crate::changes::entry_reader;

/// Upper bound of the names in one directory that are held at once.
const MAX_NAMES: usize = 1 << 20;

/// State of an inode without the time of its last status change, which a rename sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inode {
    /// Inode number.
    pub number: u64,
    /// Type and permission bits: `st_mode`.
    pub mode: u32,
    /// User that owns it.
    pub uid: u32,
    /// Group that owns it.
    pub gid: u32,
    /// Length in bytes.
    pub size: u64,
    /// Seconds of the modification time.
    pub seconds: i64,
    /// Nanoseconds of the modification time.
    pub nanoseconds: u32,
}

impl Inode {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            number: stat.st_ino,
            mode: stat.st_mode,
            uid: stat.st_uid,
            gid: stat.st_gid,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            seconds: stat.st_mtime,
            nanoseconds: u32::try_from(stat.st_mtime_nsec).unwrap_or_default(),
        }
    }

    /// Returns the modification time in nanoseconds.
    #[must_use]
    pub fn modified(&self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanoseconds)
    }

    pub(super) fn entry_type(&self) -> EntryType {
        entry_type(self.mode)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.entry_type() == EntryType::Directory
    }

    /// Returns whether another state is the same file with the same content and attributes.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        // The size of a directory depends on the file system's layout.
        self == other || (self.is_directory() && Self { size: self.size, ..*other } == *self)
    }
}

pub(super) fn entry_type(mode: u32) -> EntryType {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => EntryType::File,
        FileType::Directory => EntryType::Directory,
        FileType::Symlink => EntryType::Symlink,
        _ => EntryType::Special,
    }
}

/// Returns what has a name, or `None` if it is free.
pub(super) fn look(dir: impl AsFd, name: &OsStr) -> Result<Option<Stat>> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the number of the inode with a name.
pub(super) fn number(dir: impl AsFd, name: &OsStr) -> Result<Option<u64>> {
    Ok(look(dir, name)?.map(|stat| stat.st_ino))
}

/// Returns the time of the last status change in nanoseconds.
pub(super) fn status_changed(stat: &Stat) -> i128 {
    i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec)
}

/// Opens a directory below another one. No part of the path may be a symbolic link.
pub(super) fn open_below(root: impl AsFd, path: &Path) -> Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(root, path, flags, Mode::empty(), resolve())
}

/// Opens a file or directory of a directory for reading. Nothing else is opened: opening a device can have effects.
pub(super) fn open_entry(dir: impl AsFd, name: &OsStr) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat2(dir, name, flags, Mode::empty(), resolve())
}

fn resolve() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}

/// Returns the names in a directory, sorted.
///
/// # Errors
///
/// Fails with `EOVERFLOW` if there are more than a commit handles.
pub(super) fn names(dir: impl AsFd) -> Result<Vec<OsString>> {
    let mut found = names_that(dir, |_| true)?;
    found.sort();
    Ok(found)
}

/// Returns the names in a directory that meet a condition.
pub(super) fn names_that(dir: impl AsFd, is_wanted: impl Fn(&OsStr) -> bool) -> Result<Vec<OsString>> {
    let opened = rustix::fs::openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut found = Vec::new();
    for entry in Dir::new(opened)? {
        let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
        if name == "." || name == ".." || !is_wanted(&name) {
            continue;
        }
        if found.len() >= MAX_NAMES {
            return Err(Errno::OVERFLOW);
        }
        found.push(name);
    }
    Ok(found)
}

/// Returns the extended attributes of a file that is open for reading, with ACLs.
pub(super) fn xattrs(file: impl AsFd) -> Result<BTreeMap<String, Vec<u8>>> {
    entry_reader::xattrs_of_open(file).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::TOOBIG))
}
