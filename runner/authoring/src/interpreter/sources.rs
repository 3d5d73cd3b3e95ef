//! What an interpreter is made from.

use std::path::PathBuf;

use crate::interpreter::componentize::Componentize;

/// An installed collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionFolder {
    /// The namespace and the name, with a dot between them.
    pub name: String,
    /// The folder with `plugins` in it.
    pub root: PathBuf,
}

impl CollectionFolder {
    /// Returns the folder of what its modules share.
    #[must_use]
    pub fn utilities(&self) -> PathBuf {
        self.root.join("plugins/module_utils")
    }
}

/// What an interpreter is made from.
#[derive(Debug, Clone)]
pub struct InterpreterSources {
    /// The Python that runs the build.
    pub python: PathBuf,
    /// The package `ansible` of ansible-core.
    pub ansible: PathBuf,
    /// Collections whose `module_utils` are imported, too.
    pub collections: Vec<CollectionFolder>,
    /// The packages besides ansible-core that its controller half needs, by name, such as `jinja2`, each with its folder. `None` if
    /// the controller half or one of the packages is missing; the component for plugins is then not built.
    pub packages: Option<Vec<(String, PathBuf)>>,
    /// componentize-py.
    pub componentize: Componentize,
}
