//! The cache of compiled code: a store with one entry for each module.
//!
//! Compiling takes tens of milliseconds for a small guest and seconds for a language runtime; loading compiled code
//! takes a fraction of a millisecond. But compiled code is machine code that the engine trusts. So an entry is used
//! only if the store shows that this user's modbox wrote it. A damaged, truncated or planted entry is ignored, and the
//! module is compiled again. The store also holds notes on the modules' files, so that an unchanged module need not be
//! read again.
//!
//! A cache that cannot be used (a read-only or full disk, a folder of another user) costs time but fails no run: a note
//! reports it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use modbox_cleanup::Cleanup;
use modbox_store::{Kind, Purpose, Store, StoreError, StoreLock};

use crate::compile::code::MAX_CODE;

/// Default size of the cache: some thousand small modules, or fifty language runtimes.
pub const DEFAULT_MAX_CACHE: u64 = 1 << 30;

const CODE: Kind = Kind::files("cwasm", MAX_CODE);

/// The names of modules, by digest.
const NAME: Kind = Kind::files("name", MAX_NAME);

/// Maximum length of a module's name.
const MAX_NAME: u64 = 256;

/// The locks of older releases were in one file.
const PURPOSE: Purpose = Purpose { kinds: &[CODE, NAME], max_size: DEFAULT_MAX_CACHE, obsolete: &["lock"] };

/// A folder of compiled code that belongs to one user.
#[derive(Debug, Clone)]
pub struct CompileCache {
    store: Store,
}

/// One entry, as listed for the user.
#[derive(Debug, Clone)]
pub struct CacheEntry {
    /// SHA-256 of the module, in hex.
    pub module: String,
    /// Bytes on disk.
    pub bytes: u64,
    /// When it was written.
    pub written: SystemTime,
}

impl CompileCache {
    /// Creates a cache in a folder, with the size [`DEFAULT_MAX_CACHE`]. The folder is created with mode 0700 when the
    /// first entry is written.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self { store: Store::new(dir, PURPOSE) }
    }

    /// Sets how many bytes of compiled code the cache may hold.
    #[must_use]
    pub fn max_size(self, max_size: u64) -> Self {
        Self { store: self.store.max_size(max_size) }
    }

    /// Returns the store, for notes on modules' files, and to prune or clear it.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Lists the entries, the newest first. The list is empty if the folder does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read.
    pub fn list(&self) -> Result<Vec<CacheEntry>, StoreError> {
        let entries = self.store.list(CODE)?.into_iter();
        let digest = |key: &str| key.split('-').next().unwrap_or_default().to_owned();
        let entry =
            entries.map(|entry| CacheEntry { module: digest(&entry.key), bytes: entry.bytes, written: entry.written });
        Ok(entry.collect())
    }

    /// Stores the name of a module, for listings. If that fails, or the name is too long, listings lack it.
    pub fn remember_name(&self, digest: &str, name: &str, cleanup: &Cleanup) {
        if self.name_of(digest).as_deref() != Some(name) {
            let stored = self.store.put(NAME, digest, &mut name.as_bytes(), name.len() as u64, cleanup);
            tracing::debug!(?stored, "stored the name of a module");
        }
    }

    /// Returns the name of the module with this SHA-256, in hex, if it is stored.
    #[must_use]
    pub fn name_of(&self, digest: &str) -> Option<String> {
        String::from_utf8(self.store.read(NAME, digest).ok()??).ok()
    }

    /// Opens the entry `name`. Returns `None` if it is missing or damaged.
    pub(crate) fn load(&self, name: &str, cleanup: &Cleanup) -> Result<Option<File>, StoreError> {
        self.store.open(CODE, name, cleanup)
    }

    /// Stores code under `name`.
    pub(crate) fn put(&self, name: &str, code: &mut File, cleanup: &Cleanup) -> Result<(), StoreError> {
        let metadata = code.metadata().map_err(StoreError::io("read", Path::new("the compiled code")))?;
        self.store.put(CODE, name, code, metadata.len(), cleanup)
    }

    /// Waits for some time until no other process compiles the entry `name`.
    pub(crate) fn lock(&self, name: &str) -> Option<StoreLock> {
        self.store.lock(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_modules_by_their_digests() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CompileCache::new(dir.path().join("cache"));
        assert!(cache.list().unwrap().is_empty());
        let source = dir.path().join("code");
        std::fs::write(&source, "code").unwrap();
        cache.put("abc-1", &mut File::open(&source).unwrap(), &Cleanup::default()).unwrap();
        assert!(cache.load("abc-1", &Cleanup::default()).unwrap().is_some());
        assert_eq!(cache.list().unwrap()[0].module, "abc");
        assert_eq!(cache.name_of("abc"), None);
        cache.remember_name("abc", "ping", &Cleanup::default());
        cache.remember_name("def", &"x".repeat(300), &Cleanup::default());
        assert_eq!((cache.name_of("abc").as_deref(), cache.name_of("def")), (Some("ping"), None));
        assert_eq!(cache.list().unwrap().len(), 1, "a name is not compiled code");
    }
}
