//! The user's library: puts modules of the store into it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use anyhow::Context as _;
use modbox_registry::module_store::ModuleStore;
use modbox_registry::reference::Reference;

use crate::cli::args::LOCK_FILE;
use crate::cli::folders::whole_file;
use crate::cli::module_store::user_library;
use crate::cli::process::environment::Environment;
use crate::cli::registry::judged::JudgedModule;

/// Permissions of the files.
const MODE: u32 = 0o644;

/// The user's library.
pub(crate) struct UserLibrary {
    folder: PathBuf,
}

impl UserLibrary {
    /// Returns the library, which need not be there yet.
    ///
    /// # Errors
    ///
    /// The user has no home.
    pub(crate) fn of(environment: &Environment) -> anyhow::Result<Self> {
        let folder = user_library(environment);
        Ok(Self { folder: folder.context("there is no folder for data: set HOME, or XDG_DATA_HOME")? })
    }

    /// Returns its lock file.
    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join(LOCK_FILE)
    }

    /// Makes the folder.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub(crate) fn create(&self) -> anyhow::Result<()> {
        let failed = || format!("failed to make the folder `{}`", self.folder.display());
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).with_context(failed)
    }

    /// Writes a module. Its signatures stay in the store, where they are found by its digest. Returns its path.
    ///
    /// # Errors
    ///
    /// The store cannot be read, or the file cannot be written.
    pub(crate) fn write(&self, store: &ModuleStore, module: &JudgedModule) -> anyhow::Result<PathBuf> {
        let path = self.path(&module.reference);
        let bytes = store.layout().read(&module.content.digest, module.content.size)?;
        whole_file::write(&path, MODE, &[&bytes])?;
        Ok(path)
    }

    /// Returns where a module is: by the last part of its name.
    pub(crate) fn path(&self, reference: &Reference) -> PathBuf {
        self.folder.join(format!("{}.wasm", reference.repository.module_name()))
    }
}
