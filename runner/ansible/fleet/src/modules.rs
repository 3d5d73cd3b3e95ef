//! The modules that a target keeps, by their digests.
//!
//! They are in the folder of one user, authenticated as all that modbox stores. A user keeps modules of its own, so that
//! none runs what another has written.

use std::path::PathBuf;

use modbox_cleanup::Cleanup;
use modbox_store::{Kind, Purpose, Store, StoreError};

use crate::module_digest::ModuleDigest;

/// Largest module that is kept, in bytes.
pub const MAX_MODULE: u64 = 64 << 20;

const MODULE: Kind = Kind::files("module", MAX_MODULE);

/// The modules of many collections, in many versions.
const PURPOSE: Purpose = Purpose { kinds: &[MODULE], max_size: 256 << 20, obsolete: &[] };

/// The modules of one user.
#[derive(Debug)]
pub struct KeptModules(Store);

impl KeptModules {
    /// Opens those in a folder, and makes the folder if it is missing.
    ///
    /// # Errors
    ///
    /// The folder cannot be made, or another user can change what is in it.
    pub fn open(folder: PathBuf) -> Result<Self, StoreError> {
        let store = Store::new(folder, PURPOSE);
        store.prepare()?;
        Ok(Self(store))
    }

    /// Returns the bytes of a module; `None` if it is not there, or is damaged.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn get(&self, digest: ModuleDigest) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes = self.0.read(MODULE, &digest.hex())?;
        Ok(bytes.filter(|bytes| ModuleDigest::of(bytes) == digest))
    }

    /// Keeps a module. Those that were not used for the longest time make room.
    ///
    /// # Errors
    ///
    /// The folder cannot be written, or the module is too large.
    pub fn put(&self, bytes: &[u8], cleanup: &Cleanup) -> Result<ModuleDigest, StoreError> {
        let digest = ModuleDigest::of(bytes);
        self.0.put(MODULE, &digest.hex(), &mut &*bytes, bytes.len() as u64, cleanup)?;
        Ok(digest)
    }

    /// Removes all modules. Returns the number of removed files.
    ///
    /// # Errors
    ///
    /// The folder cannot be read or written.
    pub fn clear(&self) -> Result<u64, StoreError> {
        self.0.clear()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_found_by_its_digest_until_it_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let modules = KeptModules::open(folder.path().join("kept")).unwrap();
        assert_eq!(modules.get(ModuleDigest::of(b"one")).unwrap(), None);
        let digest = modules.put(b"one", &Cleanup::default()).unwrap();
        assert_eq!(modules.get(digest).unwrap().as_deref(), Some(&b"one"[..]));
        for entry in std::fs::read_dir(folder.path().join("kept")).unwrap().flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "module") {
                std::fs::write(entry.path(), "two").unwrap();
            }
        }
        assert_eq!(modules.get(digest).unwrap(), None);
    }
}
