//! The folder to unpack into: what is in it, whichever links are on the way, and what its members get.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use modbox_sdk::Failure;
use modbox_sdk::files::{self, Attributes, FileAttributes, Now};
use modbox_sdk::fs::real_path;

use crate::member::Member;

/// The folder to unpack into.
pub(crate) struct Dest {
    pub(crate) path: PathBuf,
    /// Without links.
    pub(crate) real: PathBuf,
    /// Folders that were found to be in it. They stay there: no member is behind a link of the archive, and none takes a folder's place.
    held: RefCell<HashSet<PathBuf>>,
    /// What new files are not given; nothing for root, as `tar` has it.
    umask: u32,
    pub(crate) wanted: FileAttributes,
    pub(crate) mode_is_given: bool,
}

impl Dest {
    /// Looks at the folder that is named, and at what its members shall be like.
    ///
    /// # Errors
    ///
    /// What is no folder.
    pub(crate) fn new(named: &str, wanted: FileAttributes) -> Result<Self, Failure> {
        let no_folder = || Failure::new(format!("Destination '{}' is not a directory", named));
        let path = std::path::absolute(named)?;
        let real = real_path(&path)?;
        if !files::stat(&real, false).is_ok_and(|found| found.directory) {
            return Err(no_folder());
        }
        // The folders that tell whom this runs as, here and in a sandbox.
        let own = if cfg!(unix) { "/proc/self" } else { "/args" };
        let root = files::stat(own, true).is_ok_and(|found| found.uid == 0);
        let umask = if root { 0 } else { files::umask() };
        Ok(Self { path, real, held: RefCell::default(), umask, mode_is_given: wanted.mode.is_some(), wanted })
    }

    /// Whether a place is in this folder, whichever links are on the way there; the last name is not looked at.
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

    /// The mode that a member gets. Set-user-id, set-group-id and sticky bits are not taken over.
    pub(crate) fn mode(&self, member: &Member) -> u32 {
        let kept = if member.crc32.is_some() { 0o777 } else { 0o777 & !self.umask };
        member.mode & kept
    }

    /// The mode that a member has in the end, given what is there.
    pub(crate) fn wanted_mode(&self, member: &Member, found: &Attributes) -> Result<u32, Failure> {
        let Some(mode) = &self.wanted.mode else { return Ok(self.mode(member)) };
        let now = Now { mode: found.mode, directory: found.directory, umask: files::umask() };
        files::resolve_mode(mode, now).map_err(|_| Failure::new("mode must be in octal or symbolic form"))
    }
}
