//! Configuration for running Python modules.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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
    /// Form in which payloads reach the interpreter.
    pub form: PayloadForm,
    /// Folders like `ansible/module_utils`, or with `ansible_collections` in them, that are searched before all others.
    pub module_utils: Vec<PathBuf>,
    /// The user's home, below which Ansible looks for both sorts of folders.
    pub home: Option<PathBuf>,
    /// Folders in which programs are looked up.
    pub search_path: Vec<PathBuf>,
    /// Version that pyenv is asked for (`PYENV_VERSION`), where interpreters are shims of pyenv.
    pub pyenv_version: Option<String>,
}
