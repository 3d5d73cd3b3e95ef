//! What is known of a granted directory: its file system, and the mounts in it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;

use crate::changes::entry_flags;
use crate::views::fits::{FileSystem, TreeFacts};
use crate::views::own_places;

/// Maximum size of the table of mounts.
const MAX_TABLE: u64 = 16 << 20;

/// Collects the facts of an open directory. `own` are the places of modbox's own.
///
/// # Errors
///
/// The directory has no path, or the table of mounts cannot be read.
pub(crate) fn collect(directory: impl AsFd, own: &[PathBuf]) -> io::Result<TreeFacts> {
    let path = path_of(&directory)?;
    let magic = rustix::fs::fstatfs(&directory)?.f_type;
    let magic = FileSystem::of(u64::try_from(magic).unwrap_or(0) & 0xffff_ffff);
    let flags = rustix::fs::fstatvfs(&directory)?.f_flag;
    Ok(TreeFacts {
        mount_below: mount_below(&path)?,
        obstacle: entry_flags::obstacle(&directory)?,
        own_place: own_places::overlap(&path, own).map(Path::to_owned),
        file_system: magic,
        is_read_only: flags.contains(StatVfsMountFlags::RDONLY),
        // An ordinary user has no overlay with an index and with renamed directories.
        can_overlay: rustix::process::geteuid().is_root(),
        path,
    })
}

/// Returns the path of an open directory, without links.
pub(crate) fn path_of(directory: impl AsFd) -> io::Result<PathBuf> {
    let link = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
    let path = PathBuf::from(OsString::from_vec(rustix::fs::readlink(link, Vec::new())?.into_bytes()));
    if path.is_absolute() { Ok(path) } else { Err(io::Error::other("it is not reachable by a path")) }
}

/// Returns a mount below a directory.
pub(crate) fn mount_below(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut table = Vec::new();
    File::open("/proc/self/mountinfo")?.take(MAX_TABLE + 1).read_to_end(&mut table)?;
    if table.len() as u64 > MAX_TABLE {
        return Err(io::Error::other("the table of mounts is too large"));
    }
    Ok(mount_points(&table).find(|point| point != path && point.starts_with(path)))
}

fn mount_points(table: &[u8]) -> impl Iterator<Item = PathBuf> {
    let lines = table.split(|byte| *byte == b'\n');
    lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4)).map(unescaped)
}

/// Returns a path whose spaces, tabs, newlines and backslashes are written as three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::new(), field);
    while let Some((byte, tail)) = rest.split_first() {
        let code = tail.get(..3).filter(|_| *byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_mounts_are_read() {
        let table = b"22 1 8:1 / / rw - ext4 /dev/a rw\n30 22 0:5 / /a\\040b\\134 rw - tmpfs t rw\nshort\n";
        let points: Vec<_> = mount_points(table).collect();
        assert_eq!(points, [PathBuf::from("/"), PathBuf::from("/a b\\")]);
    }

    #[test]
    fn mounts_below_are_found() {
        assert!(mount_below(Path::new("/")).unwrap().is_some());
        assert_eq!(mount_below(Path::new("/proc/self/fdinfo")).unwrap(), None);
    }

    #[test]
    fn facts_name_the_file_system() {
        let proc = File::open("/proc/self/net").unwrap();
        assert_eq!(collect(&proc, &[]).unwrap().file_system, FileSystem::Kernel);
        let directory = tempfile::tempdir().unwrap();
        let facts = collect(File::open(directory.path()).unwrap(), &[]).unwrap();
        assert_eq!((facts.path.as_path(), facts.file_system), (directory.path(), FileSystem::Plain));
    }
}
