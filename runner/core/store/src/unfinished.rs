//! Files and folders that are being made. They have a temporary name, or none, and get their final name by one rename,
//! so that a reader never sees half of one. A file has no name where the filesystem supports that, so that a killed
//! process leaves nothing behind; what one does leave is recognised by the prefix of its name.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use modbox_cleanup::{Cleanup, UndoGuard};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::error::StoreError;

/// Prefix of temporary names, which no reader opens.
pub(crate) const PREFIX: &str = ".writing-";

/// Returns a new temporary path in a folder.
pub(crate) fn temporary_path(dir: &Path) -> PathBuf {
    let mut random = [0; 8];
    // If random bytes fail, the name still has the process id, and an existing file is not opened.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    dir.join(format!("{PREFIX}{}-{:016x}", std::process::id(), u64::from_le_bytes(random)))
}

/// File that is being written.
pub(crate) struct UnfinishedFile {
    pub(crate) file: File,
    /// The temporary path: of the file itself, or of the link that is then renamed.
    beside: PathBuf,
    named: bool,
    undo: UndoGuard,
}

impl UnfinishedFile {
    /// Creates an empty file that only this user can read.
    pub(crate) fn create(dir: &Path, cleanup: &Cleanup) -> Result<Self, StoreError> {
        let beside = temporary_path(dir);
        let removed = beside.clone();
        let undo = cleanup.register(move || drop(fs::remove_file(removed)));
        let owner_only = Mode::RUSR | Mode::WUSR;
        let nameless = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let (opened, named) = match rustix::fs::open(dir, nameless, owner_only) {
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                (rustix::fs::open(&beside, new, owner_only), true)
            }
            opened => (opened, false),
        };
        let file = opened.map_err(StoreError::io("create a file in", dir))?.into();
        Ok(Self { file, beside, named, undo })
    }

    /// Renames the file to its final path, and replaces any file there.
    pub(crate) fn publish(self, path: &Path) -> Result<(), StoreError> {
        self.give_name()
            .and_then(|()| fs::rename(&self.beside, path))
            .map_err(StoreError::io("rename a file to", path))?;
        self.undo.disarm();
        Ok(())
    }

    /// Gives the file its final path, and keeps any file there.
    pub(crate) fn publish_new(self, path: &Path) -> Result<(), StoreError> {
        // The guard removes the temporary name.
        match self.give_name().and_then(|()| fs::hard_link(&self.beside, path)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(StoreError::io("link a file to", path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Links a file without a name to the temporary path: a link cannot replace an existing file, but a rename can.
    fn give_name(&self) -> io::Result<()> {
        if self.named {
            return Ok(());
        }
        let nameless = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(rustix::fs::linkat(CWD, nameless, CWD, &self.beside, AtFlags::SYMLINK_FOLLOW)?)
    }
}

/// Folder that is being filled.
pub(crate) struct UnfinishedTree {
    path: PathBuf,
    undo: UndoGuard,
}

impl UnfinishedTree {
    /// Creates an empty folder that only this user can use.
    pub(crate) fn create(dir: &Path, cleanup: &Cleanup) -> Result<Self, StoreError> {
        let path = temporary_path(dir);
        let removed = path.clone();
        let made = cleanup.make(|| {
            DirBuilder::new().mode(0o700).create(&path)?;
            Ok(((), move || drop(fs::remove_dir_all(removed))))
        });
        let ((), undo) = made.map_err(StoreError::io("create", &path))?;
        Ok(Self { path, undo })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the folder to its final path, unless another process made the same tree meanwhile: a folder cannot
    /// replace a filled one.
    pub(crate) fn publish(self, path: &Path) -> Result<(), StoreError> {
        match fs::rename(&self.path, path) {
            Ok(()) => self.undo.disarm(),
            Err(error) if matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) => {}
            Err(error) => return Err(StoreError::io("rename a folder to", path)(error)),
        }
        Ok(())
    }
}
