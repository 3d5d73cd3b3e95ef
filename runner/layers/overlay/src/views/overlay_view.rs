//! An overlay that is read in the same way whether this process or another one keeps its mount.
//!
//! This file does not decide which one is made, and compares nothing.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType};

use crate::changes::closed_modes::ClosedModes;
use crate::changes::overlay_marks::OverlayMarks;
use crate::changes::scan;
use crate::quota::Bound;
use crate::tree_root::TreeRoot;
use crate::views::mount::OverlayMount;
use crate::views::user_overlay::UserOverlay;

#[derive(Debug)]
pub(crate) enum OverlayView {
    /// One of this process: root's, or that of a user who may mount in this namespace.
    Own(OverlayMount),
    /// One of an ordinary user, in another process.
    Kept(UserOverlay),
}

impl OverlayView {
    /// Returns the merged view.
    pub(crate) fn view(&self) -> &TreeRoot {
        match self {
            Self::Own(mount) => &mount.view,
            Self::Kept(overlay) => overlay.view(),
        }
    }

    /// Returns the directory with what was written.
    pub(crate) fn upper(&self) -> &TreeRoot {
        match self {
            Self::Own(mount) => &mount.upper,
            Self::Kept(overlay) => overlay.upper(),
        }
    }

    /// Returns the overlay's own directory.
    pub(crate) fn work(&self) -> &TreeRoot {
        match self {
            Self::Own(mount) => &mount.work,
            Self::Kept(overlay) => overlay.work(),
        }
    }

    /// Returns which bound of the quota is reached.
    pub(crate) fn reached(&self) -> Option<Bound> {
        match self {
            Self::Own(mount) => mount.reached(),
            Self::Kept(overlay) => Bound::reached(overlay.upper()),
        }
    }

    /// Returns how the upper directory is marked.
    pub(crate) fn marks(&self) -> OverlayMarks {
        match self {
            Self::Own(mount) => mount.marks,
            Self::Kept(_) => OverlayMarks::User,
        }
    }

    /// Makes the view read-only for every holder of a descriptor, so that it can be read. A user opens what the module
    /// closed before, while that is still possible; `closed` has the modes that the module left.
    ///
    /// # Errors
    ///
    /// A file stays open for writing.
    pub(crate) fn freeze(&self, closed: &ClosedModes) -> io::Result<()> {
        if self.marks() == OverlayMarks::User {
            self.open_closed(closed)?;
        }
        match self {
            Self::Own(mount) => mount.freeze(),
            Self::Kept(overlay) => overlay.freeze(),
        }
    }

    /// Opens what was written and is closed to its owner, the directories before what is in them.
    fn open_closed(&self, closed: &ClosedModes) -> io::Result<()> {
        let stat = rustix::fs::fstat(self.upper())?;
        match closed.open_as(self.view(), (stat.st_dev, stat.st_ino)) {
            // It was frozen before.
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => return Ok(()),
            opened => opened?,
        }
        let mut pending = vec![PathBuf::new()];
        while let Some(directory) = pending.pop() {
            for name in self.upper().names(&directory)? {
                let path = directory.join(name);
                let stat = rustix::fs::statat(self.upper(), &path, AtFlags::SYMLINK_NOFOLLOW)?;
                if scan::is_whiteout(&stat) {
                    continue;
                }
                if let Some(entry) = self.view().look(Path::new(&path))? {
                    closed.open_as(entry, (stat.st_dev, stat.st_ino))?;
                }
                if FileType::from_raw_mode(stat.st_mode).is_dir() {
                    pending.push(path);
                }
            }
        }
        Ok(())
    }
}
