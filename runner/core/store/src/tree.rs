//! Trees: entries that are folders, which another program reads by their path. A lock on a tree in use keeps it from
//! being removed.
//!
//! Their contents are not hashed: an interpreter reads the files by itself, later. So they are as trustworthy as the
//! folder of the store, which only its user can write; those with a stamp (`stamp`) as trustworthy as its key.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use modbox_cleanup::Cleanup;

use crate::error::StoreError;
use crate::last_use;
use crate::private::{is_private, open_dir};
use crate::unfinished::{UnfinishedTree, temporary_path};

/// Tree that is locked, and so not removed, for as long as this value exists.
#[derive(Debug)]
pub struct Tree {
    path: PathBuf,
    lock: File,
}

impl Tree {
    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records that the tree is used now: the trees that were not used for the longest time are removed first.
    pub fn mark_used(&self) {
        last_use::touch(&self.lock);
    }
}

/// Opens and locks a tree. Returns `None` if it is missing, is being removed, or is not private to this user.
pub(crate) fn open(path: PathBuf) -> Result<Option<Tree>, StoreError> {
    let Some(lock) = open_dir(&path)? else { return Ok(None) };
    if lock.try_lock_shared().is_err() {
        return Ok(None);
    }
    let held = lock.metadata().map_err(StoreError::io("look at", &path))?;
    // Another process may have renamed it, to remove it, just before it was locked.
    let Ok(named) = fs::symlink_metadata(&path) else { return Ok(None) };
    let is_same = (held.dev(), held.ino()) == (named.dev(), named.ino());
    Ok((is_same && is_private(&held)).then_some(Tree { path, lock }))
}

/// Makes a tree. `fill` gets the folder to fill and the path that the tree will have.
pub(crate) fn make<E: From<StoreError>>(
    dir: &Path,
    path: &Path,
    cleanup: &Cleanup,
    fill: impl FnOnce(&Path, &Path) -> Result<(), E>,
) -> Result<(), E> {
    let unfinished = UnfinishedTree::create(dir, cleanup)?;
    fill(unfinished.path(), path)?;
    // The contents must reach the disk before their name: a tree is not checked again.
    if let Some(opened) = open_dir(unfinished.path())? {
        rustix::fs::syncfs(&opened).map_err(StoreError::io("write", unfinished.path()))?;
    }
    Ok(unfinished.publish(path)?)
}

/// Takes a tree away, also if another process uses it. Returns whether it was there.
pub(crate) fn set_aside(path: &Path) -> Result<bool, StoreError> {
    // Rename it first, so that no process finds a partly removed tree.
    let renamed = temporary_path(path.parent().unwrap_or(path));
    match fs::rename(path, &renamed).and_then(|()| fs::remove_dir_all(&renamed)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("remove", path)(error)),
    }
}

/// Removes a tree. Returns `None` if it is in use, else how many were removed.
pub(crate) fn remove(path: &Path) -> Result<Option<u64>, StoreError> {
    let Some(lock) = open_dir(path)? else { return Ok(Some(0)) };
    if lock.try_lock().is_err() {
        return Ok(None);
    }
    set_aside(path).map(|is_removed| Some(u64::from(is_removed)))
}
