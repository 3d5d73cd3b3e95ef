//! Paths that arguments name and that nothing grants, because their directories are missing.

use modbox_vocabulary::LostChange;
use serde::{Deserialize, Serialize};

/// A path that an argument names for writing, and whose directory does not exist on the machine. Nothing grants it. A
/// module that makes the directory makes it in a directory of its own, where the file is lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPath {
    /// The absolute path.
    pub path: String,
    /// The outermost part of it that does not exist.
    pub first: String,
    /// The option of `modbox run` that would grant it.
    pub allow: String,
}

impl MissingPath {
    /// Returns the lost change of a module that has made the path in a directory of its own.
    #[must_use]
    pub fn to_lost(&self) -> LostChange {
        let Self { path, first, allow } = self;
        let reason = format!(
            "`{first}` does not exist on this machine, so nothing grants the path, and the module made it in a directory \
             of its own; make its directory first, or allow it with `{allow}`"
        );
        LostChange { path: path.clone(), reason, allow: allow.clone() }
    }
}
