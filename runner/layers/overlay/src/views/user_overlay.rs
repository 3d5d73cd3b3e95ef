//! One overlay of an ordinary user, which another process keeps.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::process::Pid;

use crate::quota::Quota;
use crate::tree_root::TreeRoot;
use crate::views::user_mounts::{MadeOverlay, UserMounts};

/// An overlay that another process keeps.
#[derive(Debug)]
pub(crate) struct UserOverlay {
    overlay: MadeOverlay,
    mounts: Arc<UserMounts>,
}

impl UserOverlay {
    /// Makes an overlay over an open directory that is at a path.
    ///
    /// # Errors
    ///
    /// This user has no namespaces, or the kernel makes no overlay in them.
    pub(crate) fn new(mounts: Arc<UserMounts>, path: &Path, lower: &TreeRoot, quota: Quota) -> io::Result<Self> {
        Ok(Self { overlay: mounts.make(path, lower, quota)?, mounts })
    }

    /// Returns the merged view.
    pub(crate) fn view(&self) -> &TreeRoot {
        &self.overlay.view
    }

    /// Returns the directory with what was written.
    pub(crate) fn upper(&self) -> &TreeRoot {
        &self.overlay.upper
    }

    /// Returns the overlay's own directory.
    pub(crate) fn work(&self) -> &TreeRoot {
        &self.overlay.work
    }

    /// Attaches the view to an empty directory, for processes that join the namespaces of [`Self::process`].
    pub(crate) fn attach(&self, at: &Path) -> io::Result<()> {
        self.mounts.attach(self.overlay.number, at)
    }

    /// Makes the view read-only for every holder of a descriptor.
    ///
    /// # Errors
    ///
    /// A file stays open for writing, or the process has ended.
    pub(crate) fn freeze(&self) -> io::Result<()> {
        self.mounts.freeze(self.overlay.number)
    }

    /// Returns the process that keeps it.
    pub(crate) fn process(&self) -> Pid {
        self.mounts.process()
    }
}
