//! The user's folders of modules: the store of those that were pulled, and the library of those that were installed. Both
//! are below the user's folder for data.

use std::path::PathBuf;

use anyhow::Context as _;
use modbox_registry::module_store::ModuleStore;

use crate::cli::process::environment::Environment;

/// Name of the store below the folder.
const STORE: &str = "registry";

/// Name of the library below the folder.
const LIBRARY: &str = "library";

/// Returns the store of the modules that this user pulled.
///
/// # Errors
///
/// The user has no home.
pub(crate) fn module_store(environment: &Environment) -> anyhow::Result<ModuleStore> {
    let data = environment.data_dir.as_ref();
    let data = data.context("there is no folder for data: set HOME, or XDG_DATA_HOME")?;
    Ok(ModuleStore::at(data.join(STORE)))
}

/// Returns the library of the modules that this user installed, whether it is there or not. `None` without a home.
pub(crate) fn user_library(environment: &Environment) -> Option<PathBuf> {
    environment.data_dir.as_ref().map(|data| data.join(LIBRARY))
}
