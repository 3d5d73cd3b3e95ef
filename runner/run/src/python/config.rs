//! Configuration for running Python modules.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::python::answers::probes::Probes;
use crate::python::answers::routings::Routings;

/// Form in which a payload reaches the interpreter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PayloadForm {
    /// Laid out and compiled in the cache.
    #[default]
    Cached,
    /// One script with a zip in it.
    Zip,
}

/// Configuration for running Python modules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonConfig {
    /// Folder of cached payloads; without one, they are made anew for each run.
    pub cache: Option<PathBuf>,
    /// Folder of the interpreters of the sandbox.
    pub interpreters: Option<PathBuf>,
    /// Form in which payloads reach the interpreter.
    pub form: PayloadForm,
    /// Folders like `ansible/module_utils`, or with `ansible_collections` in them, that are searched before all others.
    pub module_utils: Vec<PathBuf>,
    /// Folders of collections.
    pub collections: CollectionPaths,
    /// The user's home, below which Python looks for packages and Ansible for utilities.
    pub home: Option<PathBuf>,
    /// Folders in which programs are looked up.
    pub search_path: Vec<PathBuf>,
    /// Version that pyenv is asked for (`PYENV_VERSION`), where interpreters are shims of pyenv.
    pub pyenv_version: Option<String>,
    /// The packages `ansible` that were found, for a caller that describes many modules at one moment; without it, each is looked for
    /// again.
    #[serde(skip)]
    pub known: Option<KnownPackages>,
    /// What interpreters have answered in this process.
    #[serde(skip)]
    pub probes: Probes,
    /// The lists of redirects that were parsed in this process.
    #[serde(skip)]
    pub routings: Routings,
}

/// Packages `ansible` by the chosen interpreter and the folder of a module. Where there is none, the search reads the folders of all
/// interpreters.
#[derive(Debug, Clone, Default)]
pub struct KnownPackages(Arc<Mutex<HashMap<PackageOf, Option<PathBuf>>>>);

/// An interpreter, and the folder of a module.
type PackageOf = (Option<String>, PathBuf);

/// What is known changes no result.
impl PartialEq for KnownPackages {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for KnownPackages {}

impl KnownPackages {
    /// Returns what is known, or finds it.
    pub(super) fn of(
        &self,
        interpreter: Option<&str>,
        module: &Path,
        find: impl FnOnce() -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        let key = (interpreter.map(str::to_owned), module.parent().unwrap_or(module).to_owned());
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let found = find();
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found.clone());
            found
        })
    }
}

/// Folders with `ansible_collections` in them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionPaths {
    /// Folders that the caller named for this run.
    pub named: Vec<PathBuf>,
    /// Folders of the variable `ANSIBLE_COLLECTIONS_PATH`, which replace the defaults; `None` when it is not set.
    pub variable: Option<Vec<PathBuf>>,
    /// Ansible's own folder of the user: `ANSIBLE_HOME`, or `~/.ansible`.
    pub ansible_home: Option<PathBuf>,
}

impl CollectionPaths {
    /// Returns the folders that Ansible looks in unless it is told otherwise.
    #[must_use]
    pub fn defaults(&self) -> Vec<PathBuf> {
        let own = self.ansible_home.as_ref().map(|home| home.join("collections"));
        own.into_iter().chain([Path::new("/usr/share/ansible/collections").to_owned()]).collect()
    }

    /// Returns all folders, in order.
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        let configured = self.variable.clone().unwrap_or_else(|| self.defaults());
        self.named.iter().cloned().chain(configured).collect()
    }
}
