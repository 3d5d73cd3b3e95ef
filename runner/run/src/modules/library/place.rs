//! A place of a search, for messages: where it comes from, and its folders.

use std::path::{Path, PathBuf};

/// Folders of a search, with their origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Origin, such as `--module-path` or `$MODBOX_LIBRARY`.
    pub origin: &'static str,
    /// Word for the message if there is no folder, such as `none` or `unset`.
    pub absent: &'static str,
    /// Folders, in order.
    pub folders: Vec<PathBuf>,
}

impl Place {
    /// Returns the place and its folders as a text, and says which folders do not exist. `below` is a path inside each
    /// folder that is searched.
    pub(super) fn describe(&self, below: &str) -> String {
        let describe = |folder: &PathBuf| {
            let folder = if below.is_empty() { folder.clone() } else { folder.join(below) };
            let missing = if folder.is_dir() { "" } else { ", missing" };
            format!("`{}`{missing}", folder.display())
        };
        let folders: Vec<String> = self.folders.iter().map(describe).collect();
        let folders = if folders.is_empty() { self.absent.to_owned() } else { folders.join("; ") };
        format!("{} ({folders})", self.origin)
    }

    /// Returns a place with at most one folder.
    pub(super) fn single(origin: &'static str, absent: &'static str, folder: Option<&Path>) -> Self {
        Self { origin, absent, folders: folder.map(Path::to_owned).into_iter().collect() }
    }
}

/// Returns all places as a text.
pub(super) fn describe_all(places: &[Place], below: &str) -> String {
    places.iter().map(|place| place.describe(below)).collect::<Vec<_>>().join(", ")
}
