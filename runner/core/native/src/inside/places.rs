//! Finds or makes the mount points in a new root.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Root under construction.
#[derive(Debug)]
pub(crate) struct Places {
    root: OwnedFd,
    /// The directory that was used last: the next mount point is usually in it, too.
    last: Option<(PathBuf, Arc<OwnedFd>)>,
}

impl Places {
    pub(crate) fn new(root: OwnedFd) -> Self {
        Self { root, last: None }
    }

    pub(crate) fn into_root(self) -> OwnedFd {
        self.root
    }

    /// Opens the mount point at `at`, and makes it if it does not exist. Links on the way are resolved within the room.
    pub(crate) fn place(&mut self, at: &Path, directory: bool) -> io::Result<OwnedFd> {
        if let Some(found) = self.find(at)? {
            return Ok(found);
        }
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else { return Err(Errno::NOENT.into()) };
        let around = self.directory(parent)?;
        let made = if directory {
            rustix::fs::mkdirat(around, name, Mode::from_raw_mode(0o755))
        } else {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            rustix::fs::openat(around, name, flags, Mode::from_raw_mode(0o644)).map(drop)
        };
        match made {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(rustix::fs::openat(around, name, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?)
    }

    /// Opens the mount point of a file itself, also where it is a link, and makes it if it does not exist.
    pub(crate) fn place_itself(&mut self, at: &Path) -> io::Result<OwnedFd> {
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else { return Err(Errno::NOENT.into()) };
        let around = self.directory(parent)?;
        let open =
            || rustix::fs::openat(around, name, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty());
        match open() {
            Ok(found) => Ok(found),
            Err(Errno::NOENT) => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                rustix::fs::openat(around, name, flags, Mode::from_raw_mode(0o644))?;
                Ok(open()?)
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens a directory in which a file, link or directory will be made, and makes it if it does not exist. The
    /// descriptor is cached, so nothing may be mounted on the directory afterwards.
    pub(crate) fn directory(&mut self, at: &Path) -> io::Result<&Arc<OwnedFd>> {
        if self.last.as_ref().is_none_or(|(last, _)| last != at) {
            let opened = self.place(at, true)?;
            self.last = Some((at.to_owned(), Arc::new(opened)));
        }
        self.last.as_ref().map(|(_, opened)| opened).ok_or_else(|| Errno::NOENT.into())
    }

    fn find(&self, at: &Path) -> io::Result<Option<OwnedFd>> {
        match rustix::fs::openat2(&self.root, at, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::IN_ROOT)
        {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}
