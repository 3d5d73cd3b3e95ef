//! The folder to unpack into: which paths it contains, links included, and the modes of its members.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use modbox_sdk::Failure;
use modbox_sdk::files::{self, Attributes, CurrentMode, FileAttributes};
use modbox_sdk::fs::real_path;

use crate::member::Member;

/// The folder to unpack into.
pub(crate) struct Dest {
    pub(crate) path: PathBuf,
    /// The path in the arguments.
    pub(crate) named: PathBuf,
    /// The path without links.
    pub(crate) real: PathBuf,
    /// Folders that are inside `dest`. They stay inside: no member is below a link of the archive, and none replaces a
    /// folder.
    held: RefCell<HashSet<PathBuf>>,
    /// The umask; 0 for root, as in `tar`.
    umask: u32,
    pub(crate) wanted: FileAttributes,
    pub(crate) mode_is_given: bool,
}

impl Dest {
    /// Opens the folder, and reads the attributes for its members.
    ///
    /// # Errors
    ///
    /// The path is not a folder.
    pub(crate) fn new(named: &str, wanted: FileAttributes) -> Result<Self, Failure> {
        let no_folder = || Failure::new(format!("Destination '{}' is not a directory", named));
        if named.is_empty() {
            return Err(Failure::new("Destination '' is empty: name a folder"));
        }
        let path = modbox_sdk::fs::by_letters(&std::path::absolute(named)?);
        let real = real_path(&path)?;
        if !files::stat(&real, false).is_ok_and(|found| found.directory) {
            return Err(no_folder());
        }
        // These folders show the user that the module runs as, on a host and in a sandbox.
        let own = if cfg!(unix) { "/proc/self" } else { "/args" };
        let root = files::stat(own, true).is_ok_and(|found| found.uid == 0);
        let umask = if root { 0 } else { files::umask() };
        Ok(Self {
            path,
            named: named.into(),
            real,
            held: RefCell::default(),
            umask,
            mode_is_given: wanted.mode.is_some(),
            wanted,
        })
    }

    /// Returns whether the links on the way to a path form a circle.
    pub(crate) fn is_circle(&self, path: &Path) -> bool {
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        real_path(&self.path.join(folder)).is_err_and(|error| error.kind() == ErrorKind::InvalidInput)
    }

    /// Returns whether a path is inside this folder after its links are followed. The last name is not followed.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        if self.held.borrow().contains(folder) {
            return true;
        }
        let holds = real_path(&self.path.join(folder)).is_ok_and(|real| real.starts_with(&self.real));
        if holds {
            self.held.borrow_mut().insert(folder.to_owned());
        }
        holds
    }

    /// Returns the mode of a new member. Set-user-id, set-group-id and sticky bits are not copied.
    pub(crate) fn mode(&self, member: &Member) -> u32 {
        let kept = if member.crc32.is_some() { 0o777 } else { 0o777 & !self.umask };
        member.mode & kept
    }

    /// Returns the final mode of a member, given its current attributes.
    pub(crate) fn wanted_mode(&self, member: &Member, found: &Attributes) -> Result<u32, Failure> {
        let Some(mode) = &self.wanted.mode else { return Ok(self.mode(member)) };
        let now = CurrentMode { mode: found.mode, directory: found.directory, umask: files::umask() };
        files::resolve_mode(mode, now).map_err(|_| Failure::new("mode must be in octal or symbolic form"))
    }
}
