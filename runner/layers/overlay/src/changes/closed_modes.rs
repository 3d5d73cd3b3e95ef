//! Entries of a copy that the module closed to their owner.
//!
//! An ordinary user cannot read a file or a directory whose mode refuses its owner. The copy is the user's own, so such
//! an entry is opened to be compared, and the mode that the module left is remembered.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FileType, Mode};

use crate::changes::entry_reader::FileId;

/// Modes by inode: the one that the module left, and the present one.
#[derive(Debug, Default)]
pub(crate) struct ClosedModes(Mutex<BTreeMap<FileId, (u32, u32)>>);

impl ClosedModes {
    /// Lets the owner read an entry, if it is not root, who may read all.
    ///
    /// # Errors
    ///
    /// The mode cannot be set.
    pub(crate) fn open(&self, entry: impl AsFd) -> io::Result<()> {
        let stat = rustix::fs::fstat(&entry)?;
        self.open_as(entry, (stat.st_dev, stat.st_ino))
    }

    /// Does the same with an entry that is known by another identity than its own.
    ///
    /// # Errors
    ///
    /// The mode cannot be set.
    pub(crate) fn open_as(&self, entry: impl AsFd, id: FileId) -> io::Result<()> {
        let stat = rustix::fs::fstat(&entry)?;
        let needed = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => 0o700,
            FileType::RegularFile => 0o400,
            _ => return Ok(()),
        };
        let left = stat.st_mode & 0o7777;
        if left & needed == needed || rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let opened = left | needed;
        rustix::fs::chmod(format!("/proc/self/fd/{}", entry.as_fd().as_raw_fd()), Mode::from_raw_mode(opened))?;
        let mut modes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        modes.insert(id, (left, opened));
        Ok(())
    }

    /// Returns the mode that the module left, of an entry and its present mode.
    pub(crate) fn left(&self, id: FileId, mode: u32) -> u32 {
        let modes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        modes.get(&id).filter(|(_, opened)| *opened == mode).map_or(mode, |(left, _)| *left)
    }
}
