//! Where Python plugins run: the Python that runs `ansible`, with the ansible-core that it imports.

use std::path::{Path, PathBuf};

use crate::python::{PythonConfig, controllers};

/// The Python and the packages of plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginPlace {
    /// The interpreter.
    pub python: PathBuf,
    /// The package `ansible` that it imports.
    pub core: PathBuf,
    /// Folders that have `ansible_collections` in them.
    pub collections: Vec<PathBuf>,
}

impl PluginPlace {
    /// Looks for the chosen Python, or else for that of the command `ansible`, without starting it. `None` where it has no
    /// ansible-core with a controller. Programs are looked up as from `directory`.
    #[must_use]
    pub fn find(
        config: &PythonConfig,
        chosen: Option<&str>,
        directory: &Path,
        collections: Vec<PathBuf>,
    ) -> Option<Self> {
        let (python, core) = controllers(config, chosen, directory)?;
        Some(Self { python, core, collections })
    }
}
