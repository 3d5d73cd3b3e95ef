//! The cache of Python modules between runs: a store in a folder of the user.
//!
//! | kind | contents | key |
//! |---|---|---|
//! | `tree` | a payload laid out and compiled, ready to be imported | content and interpreter |
//! | `stamp` | the state of all files of a tree, when it was made | as its tree |
//! | `payload` | the same payload as one file | content |
//! | `index` | the payload of a module, and the stamps of all files that it depends on; compressed | module and folders |
//! | `interpreter` | facts about an interpreter | its program |
//! | `suitability` | whether an interpreter of the sandbox can run a payload | content and interpreter |
//! | `code` | a module's code for such an interpreter | content and interpreter |
//! | `needed` | a function that a module needed, and that such an interpreter does not have | module and interpreter |
//!
//! A folder that cannot be used costs time but fails no run.

use std::io::{BufReader, Read as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use modbox_cleanup::Cleanup;
use modbox_store::{Kind, Purpose, STAMP, Store, StoreError, Tree};
use modbox_vocabulary::error_chain;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Largest file of the cache that is read: the largest are payloads.
const MAX_FILE: u64 = 256 << 20;

const TREE: Kind = Kind::stamped_trees("tree");
pub(super) const PAYLOAD: Kind = Kind::files("payload", MAX_FILE);
pub(super) const INDEX: Kind = Kind::files("index", MAX_FILE);
pub(super) const INTERPRETER: Kind = Kind::files("interpreter", MAX_FILE);
pub(super) const SUITABILITY: Kind = Kind::files("suitability", MAX_FILE);
pub(super) const CODE: Kind = Kind::files("code", MAX_FILE);
pub(super) const NEEDED: Kind = Kind::files("needed", MAX_FILE);

/// Two hundred modules, laid out and compiled. Older releases had a folder for each kind.
const PURPOSE: Purpose = Purpose {
    kinds: &[TREE, STAMP, PAYLOAD, INDEX, INTERPRETER, SUITABILITY, CODE, NEEDED],
    max_size: 256 << 20,
    obsolete: &["trees", "payloads", "index", "interpreters"],
};

/// The cache of one user.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    store: Store,
    cleanup: Cleanup,
    /// Whether entries are added.
    is_written: bool,
}

impl Cache {
    /// Opens the cache, and creates its folder if it is missing; `None` if that is not possible, or if other users can
    /// write to the folder.
    pub(super) fn open(dir: &Path, cleanup: &Cleanup) -> Option<Self> {
        let store = Store::new(dir.to_owned(), PURPOSE);
        match store.prepare() {
            Ok(()) => Some(Self { store, cleanup: cleanup.clone(), is_written: true }),
            Err(error) => {
                tracing::warn!(error = error_chain(&error), "the cache of Python modules is not used");
                None
            }
        }
    }

    /// Returns the cache without the permission to add entries: for the run of another user, whose processes must not
    /// choose what later runs find here.
    pub(super) fn read_only(self) -> Self {
        Self { is_written: false, ..self }
    }

    /// Reads and decodes an entry.
    pub(super) fn get<T: DeserializeOwned>(&self, kind: Kind, key: &str) -> Option<T> {
        serde_json::from_slice(&self.read(kind, key)?).ok()
    }

    /// Reads and decodes an entry of [`Cache::put_compressed`].
    pub(super) fn get_compressed<T: DeserializeOwned>(&self, kind: Kind, key: &str) -> Option<T> {
        let bytes = self.read(kind, key)?;
        let text = ZlibDecoder::new(bytes.as_slice()).take(MAX_FILE);
        serde_json::from_reader(BufReader::new(text)).ok()
    }

    /// Reads an entry.
    pub(super) fn read(&self, kind: Kind, key: &str) -> Option<Vec<u8>> {
        self.store.read(kind, key).ok()?
    }

    /// Encodes and stores an entry.
    pub(super) fn put(&self, kind: Kind, key: &str, value: &impl Serialize) {
        if let Ok(bytes) = serde_json::to_vec(value) {
            self.write(kind, key, &bytes);
        }
    }

    /// Encodes, compresses and stores an entry.
    pub(super) fn put_compressed(&self, kind: Kind, key: &str, value: &impl Serialize) {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        if serde_json::to_writer(&mut encoder, value).is_ok()
            && let Ok(bytes) = encoder.finish()
        {
            self.write(kind, key, &bytes);
        }
    }

    /// Stores an entry. If that fails, the entry is made again the next time.
    pub(super) fn write(&self, kind: Kind, key: &str, mut bytes: &[u8]) {
        if !self.is_written {
            return;
        }
        let length = bytes.len() as u64;
        if let Err(error) = self.store.put(kind, key, &mut bytes, length, &self.cleanup) {
            tracing::debug!(error = error_chain(&error), "the cache cannot be written");
        }
    }

    /// Opens and locks a tree, or makes it. `fill` gets the folder to fill and the path that the tree will have.
    pub(super) fn tree<E: From<StoreError>>(
        &self,
        key: &str,
        fill: impl FnOnce(&Path, &Path) -> Result<(), E>,
    ) -> Result<Option<Tree>, E> {
        match self.store.tree(TREE, key)? {
            Some(tree) => Ok(Some(tree)),
            None => self.store.make_tree(TREE, key, &self.cleanup, fill),
        }
    }

    /// Returns the cache's folder, for messages.
    pub(super) fn dir(&self) -> &Path {
        self.store.dir()
    }
}

/// Removes the cached Python modules that are not in use. Returns how many files and trees were removed.
///
/// # Errors
///
/// Fails if the folder cannot be read or a file cannot be removed.
pub fn clear_cache(dir: &Path) -> Result<u64, StoreError> {
    Store::new(dir.to_owned(), PURPOSE).clear()
}
