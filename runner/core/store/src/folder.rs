//! The folder of a store: private to its user, with the key that authenticates its entries.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::key::{self, Key};
use crate::private::is_private;

/// Folder of a store.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the key. Creates it, and the folder, if missing.
    pub(crate) fn key(&self) -> Result<Key, StoreError> {
        self.ensure_private()?;
        key::read_or_create(&self.path)
    }

    /// Creates the folder if it is missing, and checks that no other user can change its contents.
    pub(crate) fn ensure_private(&self) -> Result<(), StoreError> {
        let metadata = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let created = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
                created.map_err(StoreError::io("create", &self.path))?;
                fs::metadata(&self.path)
            }
            metadata => metadata,
        };
        let metadata = metadata.map_err(StoreError::io("look at", &self.path))?;
        if is_private(&metadata) { Ok(()) } else { Err(StoreError::NotPrivate(self.path.clone())) }
    }
}
