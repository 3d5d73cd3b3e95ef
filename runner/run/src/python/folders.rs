//! The folders in which what a module shares with others is looked up: collections, and the package `ansible`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::slice;

use modbox_cleanup::Cleanup;
use modbox_vocabulary::quoting;

use crate::python::config::PythonConfig;
use crate::python::error::PythonError;
use crate::python::install::{self, Install};
use crate::python::interpreters::Interpreters;
use crate::python::{interpreter, shim};

/// Returns the folders with `ansible_collections` in them, in order: the named ones, those of the variable or Ansible's
/// own, and that of ansible-core, the package `core`. A module of a collection in another folder, or of a collection
/// that an earlier folder has too, has its own folder right after the named utilities.
pub(crate) fn collection_folders(config: &PythonConfig, module: &Path, core: Option<&Path>) -> Vec<PathBuf> {
    let mut folders = config.collections.folders();
    folders.extend(core.and_then(Path::parent).map(Path::to_owned));
    if let Some((root, collection)) = surroundings(module) {
        let has_collection = |folder: &&PathBuf| folder.join(&collection).is_dir();
        if folders.iter().find(has_collection) != Some(&root) {
            folders.insert(0, root);
        }
    }
    config.module_utils.iter().cloned().chain(folders).collect()
}

/// Returns the folder of an installed collection, such as `community.general`. `core` is the package `ansible`.
#[must_use]
pub fn find_collection(config: &PythonConfig, name: &str, core: &Path) -> Option<PathBuf> {
    let below = Path::new("ansible_collections").join(name.replace('.', "/"));
    let folders = collection_folders(config, Path::new(""), Some(core));
    folders.into_iter().map(|folder| folder.join(&below)).find(|root| root.is_dir())
}

/// Returns the folder with the `ansible_collections` that a module lies in, and the path of its collection below that
/// folder.
fn surroundings(module: &Path) -> Option<(PathBuf, PathBuf)> {
    let is_root = |folder: &&Path| folder.file_name().is_some_and(|name| name == "ansible_collections");
    let root = module.ancestors().find(is_root)?.parent()?;
    let collection = module.strip_prefix(root).ok()?.components().take(3).collect();
    Some((root.to_owned(), collection))
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

/// Returns the ansible-core that an interpreter of the sandbox was built for, the one that was installed last first. Its user
/// has named it then, so it is the one to use where no other is found.
pub(super) fn install_of_sandbox(config: &PythonConfig) -> Option<Install> {
    let installed = Interpreters::new(config.interpreters.clone()?, Cleanup::default()).list().ok()?;
    installed.iter().find_map(|interpreter| Install::at(&interpreter.facts.ansible).ok().flatten())
}

/// Returns the folders like `site-packages` of the `ansible` command, the user and the system.
pub(super) fn known_site_folders(config: &PythonConfig) -> Vec<PathBuf> {
    let controllers = install::controllers_python(&config.search_path);
    install::site_folders(controllers.as_deref(), config.home.as_deref())
}

/// Returns the package `ansible` for a module, without starting an interpreter. `interpreter` is the Python that the
/// operator has chosen; programs and versions of pyenv are looked up as from `directory`.
pub(crate) fn ansible_package(
    config: &PythonConfig,
    module: &Path,
    interpreter: Option<&str>,
    directory: &Path,
) -> Option<PathBuf> {
    let find = || find_package(config, module, interpreter, directory);
    config.known.as_ref().map_or_else(find, |known| known.of(interpreter, module, find))
}

fn find_package(config: &PythonConfig, module: &Path, interpreter: Option<&str>, directory: &Path) -> Option<PathBuf> {
    let own = interpreter.and_then(|interpreter| program(config, interpreter, directory));
    let own = own.map(|python| install::site_folders(Some(&python), None)).unwrap_or_default();
    // Collections are often installed beside the package.
    let beside = collection_folders(config, module, None);
    let root = |folders: &[PathBuf]| find_install(config, module, folders).ok().flatten().map(|install| install.root);
    let usual = root(&[own, beside, known_site_folders(config)].concat());
    let usual = usual.or_else(|| {
        // The `ansible` command may be a shim, too, so the interpreters that a run would try are looked at.
        let candidates = interpreter::candidates(&config.search_path);
        let candidates = candidates.iter().filter_map(|name| program(config, name, directory));
        // The folders of the user and the system have none. Interpreters of one environment have the same folders.
        let mut seen = HashSet::new();
        let mut folders = candidates.flat_map(|python| install::own_site_folders(&python));
        folders.find_map(|folder| if seen.insert(folder.clone()) { root(slice::from_ref(&folder)) } else { None })
    });
    usual.or_else(|| Some(install_of_sandbox(config)?.root))
}

/// Returns the Python that runs Ansible's controller, and the package `ansible` that it imports: the chosen Python if it has
/// one, or else that of the command `ansible`. Starts no program.
pub(crate) fn controllers(config: &PythonConfig, chosen: Option<&str>, directory: &Path) -> Option<(PathBuf, PathBuf)> {
    let chosen = chosen.and_then(|name| program(config, name, directory));
    let of_command = install::controllers_python(&config.search_path);
    chosen.into_iter().chain(of_command).find_map(|python| {
        let folders = install::site_folders(Some(&python), config.home.as_deref());
        let root = Install::first_in(&folders).ok()??.root;
        // Modules alone do not need the controller's half.
        root.join("plugins/loader.py").is_file().then_some((python, root))
    })
}

/// Returns the program that an interpreter's name or command stands for; for a shim of pyenv, the one behind it.
pub(super) fn program(config: &PythonConfig, interpreter: &str, directory: &Path) -> Option<PathBuf> {
    let word = quoting::split(interpreter).ok()?.into_iter().next()?;
    let path = directory.join(install::find_program(&word, &config.search_path)?);
    Some(shim::resolve(&path, directory, config.pyenv_version.as_deref()).unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::python::CollectionPaths;

    #[test]
    fn the_collection_of_a_module_is_found_around_it() {
        let dir = tempfile::tempdir().unwrap();
        let [first, second, other] = ["first", "second", "other"].map(|name| dir.path().join(name));
        for (root, collection) in [(&first, "a/b"), (&second, "a/b"), (&second, "c/d"), (&other, "e/f")] {
            fs::create_dir_all(root.join("ansible_collections").join(collection)).unwrap();
        }
        let collections = CollectionPaths { variable: Some(vec![first.clone(), second.clone()]), ..Default::default() };
        let config = PythonConfig { collections, ..PythonConfig::default() };
        let folders = |root: &Path, collection: &str| {
            let module = root.join("ansible_collections").join(collection).join("plugins/modules/m.py");
            collection_folders(&config, &module, None)
        };
        let configured = [first.clone(), second.clone()];
        assert_eq!(folders(&first, "a/b"), configured);
        assert_eq!(folders(&second, "c/d"), configured);
        assert_eq!(folders(&second, "a/b"), [second.clone(), first.clone(), second.clone()]);
        assert_eq!(folders(&other, "e/f"), [other, first.clone(), second.clone()]);
        assert_eq!(collection_folders(&config, Path::new("/library/m.py"), None), configured);
    }
}
