//! The folders in which what a module shares with others is looked up: collections, and the package `ansible`.

use std::path::{Path, PathBuf};

use crate::app::python::config::PythonConfig;
use crate::app::python::error::PythonError;
use crate::app::python::install::{self, Install};

/// Returns the folders with `ansible_collections` in them, in Ansible's order: the named ones, that of the module, the
/// user's, the system's, and that of ansible-core, the package `core`.
pub(in crate::app) fn collection_folders(config: &PythonConfig, module: &Path, core: Option<&Path>) -> Vec<PathBuf> {
    let is_root = |folder: &&Path| folder.file_name().is_some_and(|name| name == "ansible_collections");
    let of_module = module.ancestors().find(is_root).and_then(Path::parent).map(Path::to_owned);
    let own = [
        of_module,
        config.home.as_ref().map(|home| home.join(".ansible/collections")),
        Some(PathBuf::from("/usr/share/ansible/collections")),
        core.and_then(Path::parent).map(Path::to_owned),
    ];
    config.module_utils.iter().cloned().chain(own.into_iter().flatten()).collect()
}

/// Returns the ansible-core for a module: the one named by `module_utils`, the one that the module lies in, or the
/// first one in `site_folders`.
pub(super) fn find_install(
    config: &PythonConfig,
    module: &Path,
    site_folders: &[PathBuf],
) -> Result<Option<Install>, PythonError> {
    for folder in &config.module_utils {
        if let Some(install) = folder.parent().map(Install::at).transpose()?.flatten() {
            return Ok(Some(install));
        }
    }
    match Install::around(module)? {
        Some(install) => Ok(Some(install)),
        None => Install::first_in(site_folders),
    }
}

/// Returns the folders like `site-packages` of the `ansible` command, the user and the system.
pub(super) fn known_site_folders(config: &PythonConfig) -> Vec<PathBuf> {
    let controllers = install::controllers_python(&config.search_path);
    install::site_folders(controllers.as_deref(), config.home.as_deref())
}

/// Returns the package `ansible` for a module, without starting an interpreter. `interpreter` is the Python that the
/// operator has chosen.
pub(in crate::app) fn ansible_package(
    config: &PythonConfig,
    module: &Path,
    interpreter: Option<&Path>,
) -> Option<PathBuf> {
    let own = interpreter.map(|python| install::site_folders(Some(python), None)).unwrap_or_default();
    // Collections are often installed beside the package.
    let beside = collection_folders(config, module, None);
    let folders = [own, beside, known_site_folders(config)].concat();
    find_install(config, module, &folders).ok().flatten().map(|install| install.root)
}
