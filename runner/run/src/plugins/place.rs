//! Where Python plugins run: the Python that runs `ansible`, with the ansible-core that it imports.

use std::path::{Path, PathBuf};

use crate::python::{PythonConfig, controllers};

/// A folder that has `ansible_collections` in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionFolder {
    /// The absolute path.
    pub path: PathBuf,
    /// Whether it came with the play. Then only what the play's tree shows of it can be read.
    pub is_of_play: bool,
}

/// The Python and the packages of plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginPlace {
    /// The interpreter.
    pub python: PathBuf,
    /// The package `ansible` that it imports.
    pub core: PathBuf,
    /// Where collections are searched, in order.
    pub collections: Vec<CollectionFolder>,
}

impl PluginPlace {
    /// Looks for the chosen Python, or else for that of the command `ansible`, without starting it. `None` where it has no
    /// ansible-core with a controller. Programs are looked up as from `directory`.
    #[must_use]
    pub fn find(
        config: &PythonConfig,
        chosen: Option<&str>,
        directory: &Path,
        collections: Vec<CollectionFolder>,
    ) -> Option<Self> {
        let (python, core) = controllers(config, chosen, directory)?;
        Some(Self { python, core, collections })
    }

    /// Returns the place without the collections that came with the play.
    #[must_use]
    pub fn without_play(mut self) -> Self {
        self.collections.retain(|folder| !folder.is_of_play);
        self
    }

    /// Returns the folders `ansible_collections` that did not come with the play, whether they exist or not. A process is shown all
    /// in them.
    #[must_use]
    pub fn installed(&self) -> Vec<PathBuf> {
        let installed = self.collections.iter().filter(|folder| !folder.is_of_play);
        installed.map(|folder| folder.path.join("ansible_collections")).collect()
    }
}
