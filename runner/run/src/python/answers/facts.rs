//! What an interpreter says about itself.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Facts that an interpreter reports about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::python) struct Facts {
    /// First three parts of `sys.version_info`.
    pub(in crate::python) version: [u32; 3],
    /// `sys.executable`.
    pub(in crate::python) executable: String,
    /// `sys.path`.
    pub(in crate::python) folders: Vec<PathBuf>,
    /// Folder for packages of this user, whether it exists or not.
    pub(in crate::python) users_folder: Option<PathBuf>,
}
