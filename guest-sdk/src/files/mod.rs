//! `AnsibleModule`'s way with files: who owns them, what their modes are, how they are replaced and kept.
//!
//! Modes and owners there are in a build for a Unix host, and in a component that was built with the feature `host-files` and
//! runs on modbox. Without, whatever asks for one is an error that says so, and a result has no facts of its file.

mod attributes;
pub(crate) mod diff;
pub(crate) mod facts;
mod mode;
mod moving;

use std::io;
use std::path::Path;

pub use self::attributes::{FileArgs, FileAttributes};
pub use self::diff::AttributesDiff;
pub use self::mode::{Now, WrongMode, resolve as resolve_mode};
pub use crate::platform::Attributes;

/// Returns whether there are modes and owners here.
#[must_use]
pub fn has_attributes() -> bool {
    crate::platform::AVAILABLE
}

/// Looks at a path; with `follow`, at what a link leads to.
///
/// # Errors
///
/// What the file system says; [`io::ErrorKind::Unsupported`] where there are no modes and owners.
pub fn stat(path: impl AsRef<Path>, follow: bool) -> io::Result<Attributes> {
    crate::platform::stat(path.as_ref(), follow)
}

/// Sets the permissions of a file or a directory; a link is followed. In a sandbox only the nine of them are set.
///
/// # Errors
///
/// As [`stat`].
pub fn set_mode(path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
    crate::platform::set_mode(path.as_ref(), mode)
}

/// Sets the owner, the group or both. In a sandbox that has to be granted, and does not work on a link itself.
///
/// # Errors
///
/// As [`stat`].
pub fn set_owner(path: impl AsRef<Path>, follow: bool, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    crate::platform::set_owner(path.as_ref(), follow, uid, gid)
}

/// Returns the number of a user by name.
#[must_use]
pub fn user_id(name: &str) -> Option<u32> {
    crate::platform::user_id(name)
}

/// Returns the number of a group by name.
#[must_use]
pub fn group_id(name: &str) -> Option<u32> {
    crate::platform::group_id(name)
}

/// Returns the permissions that new files are not given.
#[must_use]
pub fn umask() -> u32 {
    crate::platform::umask()
}
