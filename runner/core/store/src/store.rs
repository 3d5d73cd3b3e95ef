//! The store: stored entries, by kind and key, and notes on files.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use modbox_cleanup::Cleanup;
use modbox_vocabulary::FileFingerprint;
use tracing::debug;

use crate::contents::{self, Role};
use crate::error::StoreError;
use crate::folder::Folder;
use crate::lock::{self, StoreLock};
use crate::private::open_file;
use crate::purpose::{Kind, Purpose, STAMP};
use crate::tree::{self, Tree};
use crate::unfinished::UnfinishedFile;
use crate::{additions, entry, eviction, last_use, notes, seal, stamp};

/// Store of one user, in one folder.
#[derive(Debug, Clone)]
pub struct Store {
    folder: Folder,
    purpose: Purpose,
}

/// Entry, as listed for the user.
#[derive(Debug, Clone)]
pub struct StoredEntry {
    /// Key of the entry.
    pub key: String,
    /// Bytes on disk.
    pub bytes: u64,
    /// When it was written.
    pub written: SystemTime,
}

impl Store {
    /// Creates a store in a folder, without touching the disk. The folder is created with mode 0700 when it is first
    /// needed.
    #[must_use]
    pub fn new(dir: PathBuf, purpose: Purpose) -> Self {
        Self { folder: Folder::new(dir), purpose }
    }

    /// Sets how many bytes the entries may have together.
    #[must_use]
    pub fn max_size(mut self, max_size: u64) -> Self {
        self.purpose.max_size = max_size;
        self
    }

    /// Returns the folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// Creates the folder if it is missing, and checks that no other user can change its contents.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be created or is not private.
    pub fn prepare(&self) -> Result<(), StoreError> {
        self.folder.ensure_private()
    }

    /// Opens a file. Returns `None` if it is missing or damaged. The returned file is the one that was checked, even if
    /// another file is renamed to its place afterwards. Behind the contents it has a trailer.
    ///
    /// # Errors
    ///
    /// Fails if the folder or the key is not private, or cannot be read.
    pub fn open(&self, kind: Kind, key: &str, cleanup: &Cleanup) -> Result<Option<File>, StoreError> {
        let name = kind.file_name(key);
        let path = self.dir().join(&name);
        let Some(file) = open_file(&path)? else { return Ok(None) };
        let metadata = file.metadata().map_err(StoreError::io("read", &path))?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let fingerprint = FileFingerprint::from(&metadata);
        if !seal::is_sealed(&self.folder, &name, &fingerprint) {
            let authentic = entry::is_authentic(&self.folder.key()?, &identity(&name), &file, kind.max_bytes);
            if !authentic.map_err(StoreError::io("read", &path))? {
                return Ok(None);
            }
            debug!(entry = key, "hashed");
            if seal::seal(&self.folder, &name, &fingerprint, cleanup) {
                drop(self.evict());
            }
        }
        // Changes the file's fingerprint once an hour, so that the file is then hashed again.
        last_use::touch(&file);
        Ok(Some(file))
    }

    /// Reads a file. Returns `None` if it is missing or damaged.
    ///
    /// # Errors
    ///
    /// Fails if the folder or the key is not private, or cannot be read.
    pub fn read(&self, kind: Kind, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let name = kind.file_name(key);
        let path = self.dir().join(&name);
        let Some(file) = open_file(&path)? else { return Ok(None) };
        let contents = entry::read(&self.folder.key()?, &identity(&name), &file, kind.max_bytes);
        let contents = contents.map_err(StoreError::io("read", &path))?;
        if contents.is_some() {
            last_use::touch(&file);
        }
        Ok(contents)
    }

    /// Stores a file atomically, and makes room for it; a process that adds many small files makes room for several at once. If two
    /// writers store the same key, either may win: both computed the same contents.
    ///
    /// # Errors
    ///
    /// Fails if the folder is not private or cannot be written, or if the contents are larger than the store.
    pub fn put(
        &self,
        kind: Kind,
        key: &str,
        contents: &mut impl Read,
        length: u64,
        cleanup: &Cleanup,
    ) -> Result<(), StoreError> {
        let max = self.purpose.max_size.min(kind.max_bytes);
        if length > max {
            return Err(StoreError::TooLarge { bytes: length, max });
        }
        let hash_key = self.folder.key()?;
        let name = kind.file_name(key);
        let path = self.dir().join(&name);
        let mut unfinished = UnfinishedFile::create(self.dir(), cleanup)?;
        let written = entry::write(&hash_key, &identity(&name), contents, length, &mut unfinished.file);
        let bytes = written.map_err(StoreError::io("write", &path))?;
        unfinished.publish(&path)?;
        // The new one counts, and is the one that was used last.
        match bytes {
            bytes if bytes > self.purpose.max_size => eviction::remove(&path).map(drop),
            bytes if additions::makes_room(self.dir(), bytes, self.purpose.max_size) => self.evict(),
            _ => Ok(()),
        }
    }

    /// Opens and locks a tree that is used now. Returns `None` if it is missing.
    ///
    /// # Errors
    ///
    /// Fails if the folder is not private, or the tree cannot be opened.
    pub fn tree(&self, kind: Kind, key: &str) -> Result<Option<Tree>, StoreError> {
        let tree = self.look_at_tree(kind, key)?;
        if kind.has_stamp
            && let Some(tree) = &tree
            && self.read(STAMP, key)?.is_none_or(|made| stamp::of(tree.path()).ok().as_ref() != Some(&made))
        {
            debug!(tree = %tree.path().display(), "a tree is not as it was made");
            tree::set_aside(tree.path())?;
            return Ok(None);
        }
        tree.iter().for_each(Tree::mark_used);
        Ok(tree)
    }

    /// Opens and locks a tree, which is not used until [`Tree::mark_used`] is called. Returns `None` if it is missing.
    ///
    /// # Errors
    ///
    /// Fails if the folder is not private, or the tree cannot be opened.
    pub fn look_at_tree(&self, kind: Kind, key: &str) -> Result<Option<Tree>, StoreError> {
        self.prepare()?;
        tree::open(self.dir().join(kind.file_name(key)))
    }

    /// Opens and locks a tree, or makes it. Waits for another process that is making it, as [`lock`](Self::lock) does.
    /// `fill` gets the folder to fill and the path that the tree will have. Returns `None` if another process removed
    /// the tree at once.
    ///
    /// # Errors
    ///
    /// Fails if `fill` does, or if the folder is not private or cannot be written.
    pub fn make_tree<E: From<StoreError>>(
        &self,
        kind: Kind,
        key: &str,
        cleanup: &Cleanup,
        fill: impl FnOnce(&Path, &Path) -> Result<(), E>,
    ) -> Result<Option<Tree>, E> {
        self.prepare()?;
        let _lock = self.lock(key);
        if let Some(tree) = self.tree(kind, key)? {
            return Ok(Some(tree));
        }
        let path = self.dir().join(kind.file_name(key));
        tree::make(self.dir(), &path, cleanup, fill)?;
        if kind.has_stamp {
            let stamp = stamp::of(&path).map_err(StoreError::io("look at", &path))?;
            self.put(STAMP, key, &mut stamp.as_slice(), stamp.len() as u64, cleanup)?;
        }
        // Locked before the eviction, which leaves it alone then. A failed eviction does not make the tree unusable.
        let tree = self.tree(kind, key)?;
        drop(self.evict());
        Ok(tree)
    }

    /// Returns the note on a file in this state; `None` also if the store cannot be used.
    #[must_use]
    pub fn recall(&self, file: &FileFingerprint) -> Option<Vec<u8>> {
        notes::recall(&self.folder, file)
    }

    /// Stores a note on a file in this state, unless the file changed too recently or the note is too long.
    ///
    /// # Errors
    ///
    /// Fails if the folder is not private or cannot be written.
    pub fn remember(&self, file: &FileFingerprint, note: &[u8], cleanup: &Cleanup) -> Result<(), StoreError> {
        match notes::remember(&self.folder, file, note, cleanup)? {
            true if additions::makes_room(self.dir(), 0, self.purpose.max_size) => self.evict(),
            _ => Ok(()),
        }
    }

    /// Waits for some time until no other process makes the entry `key`. With the lock, the caller looks into the store
    /// again. Without it, because the other process takes too long or the folder cannot be used, the caller makes the
    /// entry anyway.
    #[must_use]
    pub fn lock(&self, key: &str) -> Option<StoreLock> {
        self.prepare().ok()?;
        lock::wait(self.dir(), key)
    }

    /// Lists the entries of a kind, the newest first. The list is empty if the folder does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read.
    pub fn list(&self, kind: Kind) -> Result<Vec<StoredEntry>, StoreError> {
        let found = contents::list(self.dir(), &self.purpose)?;
        let mut entries: Vec<StoredEntry> = found
            .into_iter()
            .filter(|found| found.role == Role::Entry)
            .filter_map(|found| describe(&found.path, kind))
            .collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.written));
        Ok(entries)
    }

    /// Removes an entry. Returns whether it is gone: a missing one was not there, and a tree in use stays.
    ///
    /// # Errors
    ///
    /// Fails if the entry cannot be removed.
    pub fn remove(&self, kind: Kind, key: &str) -> Result<bool, StoreError> {
        Ok(eviction::remove(&self.dir().join(kind.file_name(key)))? > 0)
    }

    /// Removes the least recently used entries until at most `max_size` bytes are left. Also removes the files of
    /// killed processes. Returns the number of removed files and trees.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read or a file cannot be removed. All others are gone then.
    pub fn prune(&self, max_size: u64) -> Result<u64, StoreError> {
        eviction::evict(self.dir(), &self.purpose, max_size)
    }

    /// Removes all entries, notes and unfinished files, the key and the locks. A tree in use stays. Returns the number
    /// of removed files and trees.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read or a file cannot be removed. All others are gone then.
    pub fn clear(&self) -> Result<u64, StoreError> {
        eviction::remove_all(contents::list(self.dir(), &self.purpose)?.iter().map(|found| found.path.as_path()))
    }

    fn evict(&self) -> Result<(), StoreError> {
        self.prune(self.purpose.max_size).map(drop)
    }
}

/// Returns the identity that authenticates a file of this name: of this release, since another one may have meant
/// something else by the same key.
fn identity(name: &str) -> String {
    format!("entry {} {name}", env!("CARGO_PKG_VERSION"))
}

fn describe(path: &Path, kind: Kind) -> Option<StoredEntry> {
    let key = path.file_name()?.to_str()?.strip_suffix(kind.extension)?.strip_suffix('.')?.to_owned();
    let metadata = fs::metadata(path).ok()?;
    Some(StoredEntry { key, bytes: contents::size(path, &metadata), written: metadata.modified().ok()? })
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
