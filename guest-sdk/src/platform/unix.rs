//! Files for a build for a Unix host, which Ansible runs as a binary module.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, lchown};
use std::path::Path;

use crate::bounded_read::read;
use crate::platform::attributes::{Attributes, FileTime, Lost, Special, Times};
pub(crate) use crate::platform::standard_times::set_times;

pub(crate) const AVAILABLE: bool = true;

/// Whether [`replace`] keeps what the replaced file has.
pub(crate) const REPLACES: bool = false;

/// The longest list of users or groups.
const MAX_LIST: u64 = 4 << 20;

pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<Lost> {
    std::fs::rename(from, to).map(|()| Lost::default())
}

pub(crate) fn restrict_new(_mode: u32) -> u32 {
    0
}

pub(crate) fn stat(path: &Path, follow: bool) -> io::Result<Attributes> {
    let found = if follow { fs::metadata(path)? } else { fs::symlink_metadata(path)? };
    Ok(Attributes {
        mode: found.mode() & 0o7777,
        uid: found.uid(),
        gid: found.gid(),
        user: name_in("/etc/passwd", found.uid()),
        group: name_in("/etc/group", found.gid()),
        links: found.nlink(),
        inode: found.ino(),
        device: found.dev(),
        size: found.size(),
        blocks: found.blocks(),
        block_size: found.blksize(),
        device_type: found.rdev(),
        special: special(found.file_type()),
        directory: found.is_dir(),
        target: if found.is_symlink() { Some(fs::read_link(path)?.into_os_string().into_vec()) } else { None },
    })
}

fn special(kind: fs::FileType) -> Option<Special> {
    let kinds = [
        (kind.is_block_device(), Special::BlockDevice),
        (kind.is_char_device(), Special::CharacterDevice),
        (kind.is_fifo(), Special::Fifo),
        (kind.is_socket(), Special::Socket),
    ];
    kinds.into_iter().find_map(|(is_one, special)| is_one.then_some(special))
}

pub(crate) fn times(path: &Path, follow: bool) -> io::Result<Times> {
    let found = if follow { fs::metadata(path)? } else { fs::symlink_metadata(path)? };
    let time = |seconds, nanoseconds: i64| FileTime { seconds, nanoseconds: u32::try_from(nanoseconds).unwrap_or(0) };
    Ok(Times {
        access: time(found.atime(), found.atime_nsec()),
        modification: time(found.mtime(), found.mtime_nsec()),
        change: time(found.ctime(), found.ctime_nsec()),
    })
}

/// Nothing is known before a change is tried: a real one fails with the reason.
#[expect(clippy::unnecessary_wraps, reason = "a component's folder may not be granted")]
pub(crate) fn may_change_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// As [`may_change_folder`].
#[expect(clippy::unnecessary_wraps, reason = "a component's folder may not be granted")]
pub(crate) fn may_make_beside(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// The standard library does not ask the kernel; mode and owner have to do.
pub(crate) fn allows(_path: &Path, _read: bool, _write: bool, _execute: bool) -> Option<bool> {
    None
}

/// Returns whether a file may be written. Anything else is not opened, which could already change it.
pub(crate) fn may_write(path: &Path) -> io::Result<()> {
    if !fs::metadata(path)?.is_file() {
        return Ok(());
    }
    fs::OpenOptions::new().write(true).open(path).map(drop)
}

pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

pub(crate) fn set_owner(path: &Path, follow: bool, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    if follow { chown(path, uid, gid) } else { lchown(path, uid, gid) }
}

/// Every one is tried: nothing but the kernel decides here.
pub(crate) fn set_id_bits(_uid: u32, _gid: u32) -> u32 {
    0o6000
}

/// Returns the numbers of the user and the group of this process.
pub(crate) fn user_and_group() -> Option<(u32, u32)> {
    fs::metadata("/proc/self").ok().map(|found| (found.uid(), found.gid()))
}

/// Returns the number of the user of this process.
pub(crate) fn user_number() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|found| found.uid())
}

/// Returns the user of this process, by name or number.
pub(crate) fn user() -> Option<String> {
    let uid = user_number()?;
    Some(name_in("/etc/passwd", uid).unwrap_or_else(|| uid.to_string()))
}

pub(crate) fn user_id(name: &str) -> Option<u32> {
    entries("/etc/passwd").into_iter().find(|(other, _)| other == name).map(|(_, id)| id)
}

pub(crate) fn group_id(name: &str) -> Option<u32> {
    entries("/etc/group").into_iter().find(|(other, _)| other == name).map(|(_, id)| id)
}

/// Returns the umask. The kernel reports it in `/proc` without changing it.
pub(crate) fn umask() -> u32 {
    let status = read(Path::new("/proc/self/status"), 1 << 16).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    umask.and_then(|umask| u32::from_str_radix(umask.trim(), 8).ok()).unwrap_or(0o022)
}

fn name_in(list: &str, id: u32) -> Option<String> {
    entries(list).into_iter().find(|(_, other)| *other == id).map(|(name, _)| name)
}

/// Reads the users or groups of passwd(5) and group(5).
fn entries(list: &str) -> Vec<(String, u32)> {
    let text = read(Path::new(list), MAX_LIST).unwrap_or_default();
    let entry = |line: &str| {
        let mut fields = line.split(':');
        Some((fields.next()?.to_owned(), fields.nth(1)?.parse().ok()?))
    };
    String::from_utf8_lossy(&text).lines().filter_map(entry).collect()
}
