//! `AnsibleModule`'s file functions: owners, modes, replacement and backups.
//!
//! Modes and owners work in a build for a Unix host, and in a component with the feature `host-files` that runs on
//! modbox. Elsewhere, each function is an error that says so, and results have no facts of their file.

mod attributes;
pub(crate) mod diff;
mod entries;
pub(crate) mod facts;
mod mode;
mod moving;

use std::io;
use std::path::Path;

pub use self::attributes::{FileArgs, FileAttributes, Planned};
pub use self::diff::AttributesDiff;
pub use self::mode::{CurrentMode, WrongMode, resolve as resolve_mode};
pub use crate::platform::{Attributes, FileTime, NewTime, Special, Times};

/// Returns whether this build can read and set modes and owners.
#[must_use]
pub fn has_attributes() -> bool {
    crate::platform::AVAILABLE
}

/// Returns the attributes of a path. With `follow`, those of a link's target.
///
/// # Errors
///
/// The file system refused, or modes and owners do not work here ([`io::ErrorKind::Unsupported`]).
pub fn stat(path: impl AsRef<Path>, follow: bool) -> io::Result<Attributes> {
    crate::platform::stat(path.as_ref(), follow)
}

/// Returns the times of a path, also those before 1970. With `follow`, those of a link's target.
///
/// # Errors
///
/// As [`stat`].
pub fn times(path: impl AsRef<Path>, follow: bool) -> io::Result<Times> {
    crate::platform::times(path.as_ref(), follow)
}

/// Sets times of a path, and in a sandbox those of a link itself without `follow`.
///
/// # Errors
///
/// As [`stat`].
pub fn set_times(path: impl AsRef<Path>, follow: bool, access: NewTime, modification: NewTime) -> io::Result<()> {
    crate::platform::set_times(path.as_ref(), follow, access, modification)
}

/// Sets the permissions of a file or a directory, and follows links. In a sandbox, only the nine permission bits are
/// set.
///
/// # Errors
///
/// As [`stat`].
pub fn set_mode(path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
    crate::platform::set_mode(path.as_ref(), mode)
}

/// Sets the owner, the group or both. In a sandbox, this must be granted, and does not work for a link itself.
///
/// # Errors
///
/// As [`stat`].
pub fn set_owner(path: impl AsRef<Path>, follow: bool, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    crate::platform::set_owner(path.as_ref(), follow, uid, gid)
}

/// Returns whether the user of the run may use a path so, as access(2) says it, and grants allow it; `None` if that is not known,
/// as in a build for a Unix host.
#[must_use]
pub fn allows(path: impl AsRef<Path>, read: bool, write: bool, execute: bool) -> Option<bool> {
    crate::platform::allows(path.as_ref(), read, write, execute)
}

/// Returns the number of a user.
#[must_use]
pub fn user_id(name: &str) -> Option<u32> {
    crate::platform::user_id(name)
}

/// Returns the number of a group.
#[must_use]
pub fn group_id(name: &str) -> Option<u32> {
    crate::platform::group_id(name)
}

/// Returns the umask: the permissions that new files do not get.
#[must_use]
pub fn umask() -> u32 {
    crate::platform::umask()
}
