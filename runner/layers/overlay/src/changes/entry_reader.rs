//! The state of one entry, read from a tree.
//!
//! Only regular files are opened: opening a device or a FIFO has effects. This file compares nothing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::changes::change::{Digest, Entry, EntryType};
use crate::changes::entry_flags::EntryFlags;
use crate::tree_root::TreeRoot;

/// Maximum size of the list of names of extended attributes, and of one value: the kernel's own.
const MAX_XATTR: usize = 64 << 10;

/// Size of most lists and values.
const USUAL_XATTR: usize = 256;

/// Maximum size of all extended attributes of an entry.
const MAX_XATTRS: usize = 1 << 20;

/// Attribute that the kernel reads before it tells its value: one that is empty or damaged is an error (`EINVAL`), although a
/// file can have it. It counts as empty.
const CAPABILITY: &[u8] = b"security.capability";

/// Size of the buffer for content.
const BUFFER: usize = 64 << 10;

/// Number of an inode and its device.
pub(crate) type FileId = (u64, u64);

/// An entry that was read, without the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundEntry {
    /// Its state. The digest is missing.
    pub(crate) entry: Entry,
    /// Its identity in the file system that it was read from.
    pub(crate) id: FileId,
    pub(crate) flags: EntryFlags,
}

/// Reads an entry, without the content of a file. Returns `None` if it does not exist.
///
/// # Errors
///
/// The kernel's error, or more extended attributes than the bound.
pub(crate) fn read(root: &TreeRoot, path: &Path) -> io::Result<Option<FoundEntry>> {
    let Some(opened) = root.look(path)? else { return Ok(None) };
    Ok(Some(read_opened(&opened, &rustix::fs::fstat(&opened)?)?))
}

/// Reads an entry that is open to look at it, whose state in the file system is known.
///
/// # Errors
///
/// The same.
pub(crate) fn read_opened(opened: &OwnedFd, stat: &Stat) -> io::Result<FoundEntry> {
    let entry_type = entry_type(stat);
    let target = match entry_type {
        EntryType::Symlink => {
            let target = rustix::fs::readlinkat(opened, c"", Vec::new())?;
            Some(PathBuf::from(OsStr::from_bytes(target.to_bytes())))
        }
        EntryType::Special => Some(special(stat)),
        EntryType::File | EntryType::Directory => None,
    };
    let size = if entry_type == EntryType::File { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 };
    let entry = Entry {
        entry_type,
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        size,
        modified: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
        target,
        digest: None,
        xattrs: xattrs(opened)?,
        links: links(stat),
    };
    Ok(FoundEntry { entry, id: (stat.st_dev, stat.st_ino), flags: EntryFlags::read(opened)? })
}

/// Returns the digest of a file's content.
///
/// # Errors
///
/// The kernel's error, or [`io::ErrorKind::InvalidData`] if the file is not the one that was read before, or has
/// another length.
pub(crate) fn digest(root: &TreeRoot, path: &Path, found: &FoundEntry) -> io::Result<Digest> {
    let file = root.open_file(path)?;
    let stat = rustix::fs::fstat(&file)?;
    let other = || io::Error::new(io::ErrorKind::InvalidData, "it was changed while it was read");
    if (stat.st_dev, stat.st_ino) != found.id {
        return Err(other());
    }
    let (digest, length) = digest_of(&file, found.entry.size)?;
    if length == found.entry.size { Ok(digest) } else { Err(other()) }
}

/// Returns the digest of at most one byte more than `size`, with the number of bytes.
fn digest_of(file: &OwnedFd, size: u64) -> io::Result<(Digest, u64)> {
    let room = usize::try_from(size).unwrap_or(BUFFER).min(BUFFER) + 1;
    let (mut hasher, mut buffer, mut length) = (Sha256::new(), vec![0; room], 0_u64);
    while length <= size {
        let read = rustix::io::retry_on_intr(|| rustix::io::read(file, &mut buffer[..]))?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
        length = length.saturating_add(read as u64);
    }
    Ok((hasher.finalize().into(), length))
}

fn entry_type(stat: &Stat) -> EntryType {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => EntryType::File,
        FileType::Directory => EntryType::Directory,
        FileType::Symlink => EntryType::Symlink,
        _ => EntryType::Special,
    }
}

/// Returns the type of a special file, with the numbers of a device.
fn special(stat: &Stat) -> PathBuf {
    let number = format!("{}:{}", rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice => format!("character device {number}").into(),
        FileType::BlockDevice => format!("block device {number}").into(),
        FileType::Fifo => "fifo".into(),
        _ => "socket".into(),
    }
}

#[allow(clippy::unnecessary_fallible_conversions, clippy::useless_conversion, reason = "the type differs by platform")]
fn links(stat: &Stat) -> u64 {
    u64::try_from(stat.st_nlink).unwrap_or(u64::MAX)
}

/// Returns the extended attributes that this user may read.
pub(crate) fn xattrs(opened: impl AsFd) -> io::Result<BTreeMap<String, Vec<u8>>> {
    // A descriptor that is open only to look has no attributes by itself; its name in `/proc` has, of every type.
    let place = format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd());
    collect_xattrs(
        |names| rustix::fs::listxattr(&*place, names),
        |name, value| rustix::fs::getxattr(&*place, name, value),
    )
}

/// Returns the extended attributes of an entry that is open for reading.
pub(crate) fn xattrs_of_open(opened: impl AsFd) -> io::Result<BTreeMap<String, Vec<u8>>> {
    collect_xattrs(
        |names| rustix::fs::flistxattr(&opened, names),
        |name, value| rustix::fs::fgetxattr(&opened, name, value),
    )
}

fn collect_xattrs(
    list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
    get: impl Fn(&[u8], &mut [u8]) -> rustix::io::Result<usize>,
) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut xattrs = BTreeMap::new();
    let names = match sized(list) {
        Ok(names) => names,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(xattrs),
        Err(errno) => return Err(errno.into()),
    };
    let mut total = 0;
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let value = match sized(|value| get(name, value)) {
            Ok(value) => value,
            Err(Errno::NODATA) => continue,
            Err(Errno::INVAL) if name == CAPABILITY => Vec::new(),
            Err(errno) => return Err(errno.into()),
        };
        total += name.len() + value.len();
        if total > MAX_XATTRS {
            return Err(io::Error::other(format!("it has more than {MAX_XATTRS} bytes of extended attributes")));
        }
        xattrs.insert(String::from_utf8_lossy(name).into_owned(), value);
    }
    Ok(xattrs)
}

/// Returns one extended attribute of an open entry, if it has it.
pub(crate) fn xattr(opened: impl AsFd, name: &str) -> io::Result<Option<Vec<u8>>> {
    let place = format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd());
    match sized(|value| rustix::fs::getxattr(&*place, name, value)) {
        Ok(value) => Ok(Some(value)),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
        Err(Errno::INVAL) if name.as_bytes() == CAPABILITY => Ok(Some(Vec::new())),
        Err(errno) => Err(errno.into()),
    }
}

/// Reads into a buffer that has room for most attributes, and else into one that has room for all.
fn sized(read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut buffer = vec![0; USUAL_XATTR];
    let length = match read(&mut buffer) {
        Err(Errno::RANGE) => {
            buffer.resize(MAX_XATTR, 0);
            read(&mut buffer)?
        }
        length => length?,
    };
    buffer.truncate(length);
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_that_the_kernel_does_not_read_is_empty() {
        let names = b"security.capability\0user.a\0";
        let list = |buffer: &mut [u8]| {
            buffer[..names.len()].copy_from_slice(names);
            Ok(names.len())
        };
        let get = |name: &[u8], buffer: &mut [u8]| match name {
            b"user.a" => {
                buffer[0] = b'1';
                Ok(1)
            }
            _ => Err(Errno::INVAL),
        };
        let found = collect_xattrs(list, get).unwrap();
        assert_eq!(
            found,
            BTreeMap::from([("security.capability".to_owned(), vec![]), ("user.a".to_owned(), b"1".to_vec())])
        );
        assert!(collect_xattrs(list, |_, _| Err(Errno::INVAL)).is_err());
    }
}
