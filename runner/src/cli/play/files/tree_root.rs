//! One opened folder of a play's tree. Files in it are opened through it, so that neither `..` nor a link leads out.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use crate::cli::play::extent::Extent;

/// A folder of a play's tree, opened once.
#[derive(Debug)]
pub(crate) struct Root {
    /// The path by which the play names it.
    pub(crate) path: PathBuf,
    /// The path without links.
    pub(crate) real: PathBuf,
    dir: RwLock<Arc<Dir>>,
    /// How much of it belongs to the play.
    pub(crate) extent: Extent,
}

impl Root {
    /// Opens a folder. `real` is its path without links.
    pub(crate) fn open(path: PathBuf, real: PathBuf, extent: Extent) -> std::io::Result<Self> {
        let dir = Dir::open_ambient_dir(&real, ambient_authority())?;
        Ok(Self { path, real, dir: RwLock::new(Arc::new(dir)), extent })
    }

    /// Says whether it is the folder of a play, which may come from another person.
    pub(crate) fn is_of_play(&self) -> bool {
        matches!(self.extent, Extent::Project | Extent::Shared)
    }

    /// Returns why a path beneath it does not belong to the play, by its name or where links of the play lead it.
    pub(crate) fn left_out(&self, rest: &Path) -> Option<&'static str> {
        let by_name = self.extent.left_out(rest);
        if by_name.is_some() || !self.is_of_play() {
            return by_name;
        }
        self.extent.left_out(&self.dir().canonicalize(rest).ok()?)
    }

    pub(crate) fn dir(&self) -> Arc<Dir> {
        Arc::clone(&self.dir.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Opens the folder again. It stays as it is if a link leads elsewhere now.
    pub(crate) fn reopen(&self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat2(CWD, &self.real, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        if let Ok(opened) = opened {
            *self.dir.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Dir::from(opened));
        }
    }
}
