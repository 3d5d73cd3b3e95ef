//! A module that was found: its file, and the names that it has.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A module's file and names.
#[derive(Default, Debug, Clone, PartialEq, Eq)]
pub struct FoundModule {
    /// Path of the file.
    pub path: PathBuf,
    /// Name for policies, reports and the audit log: the full name of a module in a collection or of ansible-core, else
    /// the file's name without its extension.
    pub name: String,
    /// Name that the module gets and uses in its messages: as in Ansible, the one that the caller wrote.
    pub task_name: String,
    /// Announcements that the module will be removed.
    pub deprecations: Vec<String>,
    /// Full name of the plugin of the controller that Ansible runs the module by, where its collection says so.
    pub action_plugin: Option<String>,
}

impl FoundModule {
    /// Returns a module that was named by its file, or a project's component. `named` is the word of the caller.
    #[must_use]
    pub fn at(path: PathBuf, named: &Path) -> Self {
        let name = plain_name(named);
        Self { path, task_name: name.clone(), name, ..Self::default() }
    }
}

/// Returns whether a module is written as a path: with a slash, or as `.` or `..`.
#[must_use]
pub fn is_path(module: &Path) -> bool {
    let module = module.as_os_str().as_bytes();
    module.contains(&b'/') || module == b"." || module == b".."
}

/// Returns the name of a module without folder and extension.
pub(super) fn plain_name(module: &Path) -> String {
    // A directory that is not written as a path is not the module, so its real name does not count.
    let is_project = is_path(module) && module.is_dir();
    let name = is_project.then(|| module.canonicalize().ok()).flatten().unwrap_or_else(|| module.to_owned());
    name.file_stem().unwrap_or(name.as_os_str()).to_string_lossy().into_owned()
}
