//! The directories of a transaction: recorded by path and inode number, opened again and compared for each use.
//!
//! A path that leads to another directory than before is a conflict, or after a crash a reason to stop. This file does
//! not look into directories.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::io::Errno;

use super::failure::{Context, Failure, Why};
use super::inode::open_below;

/// Granted root of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootRecord {
    /// Path on the machine.
    pub path: PathBuf,
    /// Inode number.
    pub number: u64,
}

/// Directory that holds names which a transaction changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryRecord {
    /// Index of its root.
    pub root: usize,
    /// Path below the root.
    pub path: PathBuf,
    /// Inode number.
    pub number: u64,
}

/// Records with the opened roots.
#[derive(Debug)]
pub(super) struct Directories<'a> {
    pub(super) open_roots: Vec<BorrowedFd<'a>>,
    pub(super) roots: Vec<RootRecord>,
    pub(super) list: Vec<DirectoryRecord>,
    /// The directory that was opened last.
    last: RefCell<Option<(usize, Rc<OwnedFd>)>>,
}

impl<'a> Directories<'a> {
    pub(super) fn new(roots: Vec<(PathBuf, BorrowedFd<'a>)>) -> Result<Self, Failure> {
        let mut directories =
            Self { open_roots: Vec::new(), roots: Vec::new(), list: Vec::new(), last: RefCell::default() };
        for (path, root) in roots {
            let number = rustix::fs::fstat(root).context("look at", &path)?.st_ino;
            directories.open_roots.push(root);
            directories.roots.push(RootRecord { path, number });
        }
        Ok(directories)
    }

    /// Opens a directory below a root and records it, if it is not the last one. Returns its index.
    pub(super) fn enter(&mut self, root: usize, path: &Path) -> Result<(usize, Rc<OwnedFd>), Failure> {
        let known = self.list.last().is_some_and(|last| last.root == root && last.path == path);
        if known {
            let index = self.list.len() - 1;
            return Ok((index, self.open_or_last(index)?));
        }
        let full = self.full_path(root, path);
        let opened = match open_below(self.open_roots[root], path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(Failure::conflict(&full, Why::Directory)),
            opened => opened.context("open", &full)?,
        };
        let number = rustix::fs::fstat(&opened).context("look at", &full)?.st_ino;
        self.list.push(DirectoryRecord { root, path: path.to_path_buf(), number });
        let (index, opened) = (self.list.len() - 1, Rc::new(opened));
        self.last.replace(Some((index, Rc::clone(&opened))));
        Ok((index, opened))
    }

    /// Opens a recorded directory again, by its path.
    pub(super) fn open(&self, index: usize) -> Result<Rc<OwnedFd>, Failure> {
        let record = &self.list[index];
        let full = self.full_path(record.root, &record.path);
        let opened = match open_below(self.open_roots[record.root], &record.path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(Failure::conflict(&full, Why::Directory)),
            opened => opened.context("open", &full)?,
        };
        let stat = rustix::fs::fstat(opened.as_fd()).context("look at", &full)?;
        if stat.st_ino != record.number {
            return Err(Failure::conflict(&full, Why::Directory));
        }
        let opened = Rc::new(opened);
        self.last.replace(Some((index, Rc::clone(&opened))));
        Ok(opened)
    }

    /// Returns the directory that was opened last, if it is the recorded one; else opens it.
    pub(super) fn open_or_last(&self, index: usize) -> Result<Rc<OwnedFd>, Failure> {
        let is_same = |last: usize| self.list[last] == self.list[index];
        match &*self.last.borrow() {
            Some((last, opened)) if is_same(*last) => return Ok(Rc::clone(opened)),
            _ => {}
        }
        self.open(index)
    }

    /// Closes the directory that was opened last, so that the next one is opened by its path.
    pub(super) fn forget_last(&self) {
        self.last.replace(None);
    }

    /// Returns the path on the machine of a name in a recorded directory.
    pub(super) fn path(&self, index: usize, name: &OsStr) -> PathBuf {
        let record = &self.list[index];
        let directory = self.full_path(record.root, &record.path);
        if name.is_empty() { directory } else { directory.join(name) }
    }

    fn full_path(&self, root: usize, path: &Path) -> PathBuf {
        let root = &self.roots[root].path;
        if path.as_os_str().is_empty() { root.clone() } else { root.join(path) }
    }
}
