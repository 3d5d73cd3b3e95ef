//! Private directories for copies: in memory for root, in the caller's scratch directory for other users.
//!
//! A file system in memory holds the quota. In a scratch directory only the copy is within the quota; what the module
//! writes there is for the limits of the caller.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::quota::{Bound, Quota};
use crate::tree_root::TreeRoot;
use crate::views::mount::{PrivateSpace, StepError};

/// Name of the directory with the copy. The one around it is closed to other users, whatever mode the copy has.
const INNER: &str = "copy";

/// A private directory, which is removed with this value.
#[derive(Debug)]
pub(crate) enum PrivatePlace {
    /// In memory.
    Memory(PrivateSpace),
    /// In a scratch directory.
    Scratch {
        /// The scratch directory.
        around: TreeRoot,
        /// The name in it.
        name: String,
    },
}

impl PrivatePlace {
    /// Makes a private directory, and returns it with the empty directory for the copy.
    pub(crate) fn new(quota: Quota, scratch: &Path) -> Result<(Self, TreeRoot), StepError> {
        // Root in a container may not mount.
        if rustix::process::geteuid().is_root()
            && let Ok(space) = PrivateSpace::new(quota)
        {
            let inner = space.directory(INNER)?;
            return Ok((Self::Memory(space), TreeRoot::new(inner)));
        }
        let failed = |cause| ("make a private directory", io::Error::from(cause));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let around = rustix::fs::openat(CWD, scratch, flags, Mode::empty()).map_err(failed)?;
        let name = (0_u32..)
            .map(|number| format!("layer-{}-{number}", rustix::process::getpid().as_raw_nonzero()))
            .find_map(|name| match rustix::fs::mkdirat(&around, &*name, Mode::RWXU) {
                Err(Errno::EXIST) => None,
                result => Some(result.map(|()| name)),
            });
        let name = name.ok_or_else(|| failed(Errno::EXIST))?.map_err(failed)?;
        let place = Self::Scratch { around: TreeRoot::new(around), name };
        let Self::Scratch { around, name } = &place else { return Err(failed(Errno::INVAL)) };
        let inner = Path::new(name).join(INNER);
        rustix::fs::mkdirat(around, &inner, Mode::RWXU).map_err(failed)?;
        let inner = around.open_directory(&inner).map_err(|cause| ("make a private directory", cause))?;
        Ok((place, TreeRoot::new(inner)))
    }

    /// Returns the path of the directory with the copy. A place in memory is attached to the empty directory `at` first,
    /// in the mount namespace of this thread.
    pub(crate) fn attach(&self, at: &Path) -> io::Result<PathBuf> {
        match self {
            Self::Memory(space) => {
                space.attach(at)?;
                Ok(at.join(INNER))
            }
            Self::Scratch { around, name } => {
                let around = std::fs::read_link(format!("/proc/self/fd/{}", around.as_fd().as_raw_fd()))?;
                Ok(around.join(name).join(INNER))
            }
        }
    }

    /// Returns which bound of the quota is reached, if the place is in memory.
    pub(crate) fn reached(&self) -> Option<Bound> {
        match self {
            Self::Memory(space) => space.reached(),
            Self::Scratch { .. } => None,
        }
    }

    /// Prevents further writes, where the place allows it.
    ///
    /// # Errors
    ///
    /// A file stays open for writing.
    pub(crate) fn freeze(&self) -> io::Result<()> {
        match self {
            Self::Memory(space) => space.freeze(),
            // The caller ends the module's processes first; a user has no other way.
            Self::Scratch { .. } => Ok(()),
        }
    }
}

impl Drop for PrivatePlace {
    fn drop(&mut self) {
        if let Self::Scratch { around, name } = self
            && let Err(error) = remove(around, Path::new(name))
        {
            tracing::warn!(%error, name, "failed to remove the copy of a granted directory");
        }
    }
}

/// Removes a tree, of which the module may have closed directories.
fn remove(root: &TreeRoot, top: &Path) -> io::Result<()> {
    let mut directories = vec![top.to_owned()];
    let mut next = 0;
    while let Some(directory) = directories.get(next).cloned() {
        next += 1;
        rustix::fs::chmodat(root, &directory, Mode::RWXU, AtFlags::empty())?;
        let opened = root.open_directory(&directory)?;
        for entry in rustix::fs::Dir::new(opened)? {
            let entry = entry?;
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            let path = directory.join(name);
            let stat = rustix::fs::statat(root, &path, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode).is_dir() {
                directories.push(path);
            } else {
                rustix::fs::unlinkat(root, &path, AtFlags::empty())?;
            }
        }
    }
    for directory in directories.iter().rev() {
        rustix::fs::unlinkat(root, directory, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}
