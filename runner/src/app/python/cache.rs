//! The cache of Python modules between runs, in a folder of the user.
//!
//! | folder | contents | key |
//! |---|---|---|
//! | `trees` | payloads laid out and compiled, ready to be imported | content and interpreter |
//! | `payloads` | the same payloads as one file | content |
//! | `index` | the payload of a module, and the stamps of all files that it depends on | module and folders |
//! | `interpreters` | facts about an interpreter | its program |
//!
//! Each entry is made under a temporary name and renamed, so that readers see all of it or nothing; if two processes
//! make the same entry, one of them wins. A lock on a tree in use keeps it from being removed. When the cache is too
//! large, the least recently used entries are removed. The folder is refused when other users can write it; beyond
//! that, its contents are trusted like the user's own files. A folder that cannot be written costs time but fails no
//! run.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use modbox_cleanup::Cleanup;
use rustix::fs::{FlockOperation, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::app::python::disk::read_bounded;
use crate::app::python::eviction;

/// Largest file of the cache that is read: the largest are payloads.
const MAX_FILE: u64 = 256 << 20;

/// A folder of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shelf {
    Trees,
    Payloads,
    Index,
    Interpreters,
}

impl Shelf {
    pub(super) const ALL: [Self; 4] = [Self::Trees, Self::Payloads, Self::Index, Self::Interpreters];

    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Trees => "trees",
            Self::Payloads => "payloads",
            Self::Index => "index",
            Self::Interpreters => "interpreters",
        }
    }
}

/// The cache of one user.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    dir: PathBuf,
    cleanup: Cleanup,
}

/// Tree that is locked, and so not removed, for as long as this is held.
#[derive(Debug)]
pub(in crate::app) struct Tree {
    pub(super) path: PathBuf,
    _lock: OwnedFd,
}

impl Cache {
    /// Opens the cache, and makes it when it is missing; `None` where other users can write it or it cannot be made.
    pub(super) fn open(dir: &Path, cleanup: &Cleanup) -> Option<Self> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        if fs::metadata(dir).is_err() {
            builder.create(dir).ok()?;
        }
        let metadata = fs::metadata(dir).ok()?;
        let is_private = metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0;
        if !is_private {
            tracing::warn!(dir = %dir.display(), "the cache belongs to another user or is writable by others; not used");
            return None;
        }
        Some(Self { dir: dir.to_owned(), cleanup: cleanup.clone() })
    }

    pub(super) fn shelf(&self, shelf: Shelf) -> PathBuf {
        self.dir.join(shelf.folder())
    }

    /// Reads and decodes an entry.
    pub(super) fn get<T: DeserializeOwned>(&self, shelf: Shelf, key: &str) -> Option<T> {
        serde_json::from_slice(&self.read(shelf, key)?).ok()
    }

    /// Reads an entry's file, and marks it as used.
    pub(super) fn read(&self, shelf: Shelf, key: &str) -> Option<Vec<u8>> {
        let path = self.shelf(shelf).join(key);
        let bytes = read_bounded(&path, MAX_FILE).ok()?;
        eviction::touch(&path);
        Some(bytes)
    }

    /// Stores an entry. If that fails, the entry is made again the next time.
    pub(super) fn put(&self, shelf: Shelf, key: &str, value: &impl Serialize) {
        if let Ok(bytes) = serde_json::to_vec(value) {
            self.write(shelf, key, &bytes);
        }
    }

    /// Stores an entry's file.
    pub(super) fn write(&self, shelf: Shelf, key: &str, bytes: &[u8]) {
        let folder = self.shelf(shelf);
        let unfinished = folder.join(eviction::unfinished_name());
        let removed = unfinished.clone();
        let undo = self.cleanup.register(move || drop(fs::remove_file(removed)));
        let written = make_folder(&folder).and_then(|()| {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
            file.write_all(bytes)?;
            fs::rename(&unfinished, folder.join(key))
        });
        match written {
            Ok(()) => {
                undo.disarm();
                eviction::trim(self);
            }
            // The guard removes the unfinished file when it is dropped.
            Err(error) => tracing::debug!(%error, "the cache cannot be written"),
        }
    }

    /// Returns an existing tree, locked.
    pub(super) fn tree(&self, name: &str) -> Option<Tree> {
        let path = self.shelf(Shelf::Trees).join(name);
        let lock = open_dir(&path).ok()?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared).ok()?;
        // Another process may have renamed it, to remove it, just before it was locked.
        let (held, named) = (rustix::fs::fstat(&lock).ok()?, rustix::fs::stat(&path).ok()?);
        let same = (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino);
        if same {
            eviction::touch(&path);
        }
        same.then_some(Tree { path, _lock: lock })
    }

    /// Makes a tree. `fill` gets the folder to fill and the path that the tree will have.
    pub(super) fn make_tree<E: From<io::Error>>(
        &self,
        name: &str,
        fill: impl FnOnce(&Path, &Path) -> Result<(), E>,
    ) -> Result<Option<Tree>, E> {
        let folder = self.shelf(Shelf::Trees);
        make_folder(&folder)?;
        let (staging, path) = (folder.join(eviction::unfinished_name()), folder.join(name));
        DirBuilder::new().mode(0o700).create(&staging)?;
        let removed = staging.clone();
        let undo = self.cleanup.register(move || drop(fs::remove_dir_all(removed)));
        fill(&staging, &path)?;
        // The contents must reach the disk before their name: compiled files are not checked again.
        let opened = open_dir(&staging).map_err(io::Error::from)?;
        rustix::fs::syncfs(&opened).map_err(io::Error::from)?;
        if fs::rename(&staging, &path).is_ok() {
            undo.disarm();
        }
        // If the rename failed, another process made the same tree meanwhile, and the guard removes this one.
        let tree = self.tree(name);
        eviction::trim(self);
        Ok(tree)
    }

    /// Returns the cache's folder, for messages.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

pub(super) fn open_dir(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

fn make_folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Sets a path's times to now, which records its last use.
pub(super) fn set_used_now(path: &Path) {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    let _ = rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::empty());
}
