//! An open directory and the entries below it, reached without links and without leaving its file system.
//!
//! Trees are hostile: a name can change at any time, so every path is resolved by the kernel in one step. This file only
//! reads.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Tries when the kernel cannot tell whether a path stayed below the directory.
const TRIES: u32 = 64;

/// An open directory.
#[derive(Debug)]
pub(crate) struct TreeRoot(OwnedFd);

impl AsFd for TreeRoot {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl TreeRoot {
    /// Wraps a directory.
    pub(crate) fn new(directory: OwnedFd) -> Self {
        Self(directory)
    }

    /// Opens a directory by its path. Links in it are not followed.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(Self(rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?))
    }

    /// Opens an entry only to look at it. Returns `None` if it does not exist. An empty path is the directory itself.
    pub(crate) fn look(&self, path: &Path) -> io::Result<Option<OwnedFd>> {
        match self.open_beneath(path, OFlags::PATH) {
            Ok(found) => Ok(Some(found)),
            // A path through a link is not a path of this tree.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens a file for reading.
    pub(crate) fn open_file(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(self.open_quietly(path, OFlags::RDONLY | OFlags::NONBLOCK)?)
    }

    /// Opens a directory below.
    pub(crate) fn open_directory(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(self.open_quietly(path, OFlags::RDONLY | OFlags::DIRECTORY)?)
    }

    /// Returns the names in a directory, sorted.
    pub(crate) fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let directory = self.open_directory(path)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(directory)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Opens for reading without a change of the access time, where this user may ask for that.
    fn open_quietly(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        match self.open_beneath(path, flags | OFlags::NOATIME) {
            Err(Errno::PERM) => self.open_beneath(path, flags),
            result => result,
        }
    }

    fn open_beneath(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || rustix::fs::openat2(&self.0, path, flags, Mode::empty(), resolve);
        let tried = (1..TRIES).map(|_| open()).find(|result| !matches!(result, Err(Errno::AGAIN)));
        tried.unwrap_or_else(open)
    }
}
