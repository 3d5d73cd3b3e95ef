//! What a module sees on the way to paths that arguments name: links, directories that the way leaves again, and places
//! where the way ends. Nothing is granted there.

use serde::{Deserialize, Serialize};

/// What a module sees on the way to named paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waypoints {
    links: Vec<String>,
    passed: Vec<String>,
    failing: Vec<FailingPath>,
}

/// A path at which the way to a named path ends, since the kernel does not let this user go on. The module gets the kernel's
/// error for it and for everything below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailingPath {
    /// The absolute path, without links.
    pub path: String,
    /// The number of the kernel's error, such as `ENOTDIR`.
    pub errno: i32,
}

impl Waypoints {
    /// Shows a link. `path` is the link's own absolute path, without other links. The module can look at the link and follow
    /// it to what is granted.
    pub fn show_link(&mut self, path: String) {
        add(&mut self.links, path);
    }

    /// Shows that a directory exists, which the way enters and leaves again by `..`.
    pub fn show_passed(&mut self, path: String) {
        add(&mut self.passed, path);
    }

    /// Shows where a way ends.
    pub fn show_failing(&mut self, path: FailingPath) {
        if self.failing.iter().all(|other| other.path != path.path) {
            self.failing.push(path);
        }
    }

    /// Returns the paths of the links.
    #[must_use]
    pub fn links(&self) -> &[String] {
        &self.links
    }

    /// Returns the directories that ways enter and leave again.
    #[must_use]
    pub fn passed(&self) -> &[String] {
        &self.passed
    }

    /// Returns where ways end.
    #[must_use]
    pub fn failing(&self) -> &[FailingPath] {
        &self.failing
    }
}

fn add(paths: &mut Vec<String>, path: String) {
    if !paths.contains(&path) {
        paths.push(path);
    }
}
