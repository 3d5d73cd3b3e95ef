//! What a module sees on the way to paths that arguments name: links, and places where the way ends.

use serde::{Deserialize, Serialize};

/// A path at which the way to a named path ends, since the kernel does not let this user go on. Nothing is granted there; the
/// module gets the kernel's error for it and for everything below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailingPath {
    /// The absolute path, without links.
    pub path: String,
    /// The number of the kernel's error, such as `ENOTDIR`.
    pub errno: i32,
}
