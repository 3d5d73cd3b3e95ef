//! The places in a new root at which something is to stand: found, or made.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A root in the making.
#[derive(Debug)]
pub(super) struct Places {
    root: OwnedFd,
    /// The directory that was looked for last: mostly the next place is in it, too.
    last: Option<(PathBuf, Arc<OwnedFd>)>,
}

impl Places {
    pub(super) fn new(root: OwnedFd) -> Self {
        Self { root, last: None }
    }

    pub(super) fn into_root(self) -> OwnedFd {
        self.root
    }

    /// Opens the place at which something is to be mounted, and makes it if it is not there. Links on the way lead where
    /// they lead in the room.
    pub(super) fn place(&mut self, at: &Path, directory: bool) -> io::Result<OwnedFd> {
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

    /// Opens a directory in which something is to be made, and makes it if it is not there. Nothing may be mounted on it
    /// afterwards: it is remembered.
    pub(super) fn directory(&mut self, at: &Path) -> io::Result<&Arc<OwnedFd>> {
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
