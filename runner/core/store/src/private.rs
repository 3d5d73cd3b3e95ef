//! Opens files and folders of the store without following a link, and tells whether they are this user's own.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::error::StoreError;

/// Returns whether this user owns a file or folder and no other user can write to it.
pub(crate) fn is_private(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// Opens a file for reading. Returns `None` if it is missing, or if a link is in its place.
pub(crate) fn open_file(path: &Path) -> Result<Option<File>, StoreError> {
    // Without NONBLOCK, opening a FIFO in the file's place would block.
    open(path, OFlags::NONBLOCK)
}

/// Opens a folder for reading. Returns `None` if it is missing, or if a link or a file is in its place.
pub(crate) fn open_dir(path: &Path) -> Result<Option<File>, StoreError> {
    open(path, OFlags::DIRECTORY)
}

fn open(path: &Path, flags: OFlags) -> Result<Option<File>, StoreError> {
    match rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | flags, Mode::empty()) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(StoreError::io("open", path)(errno)),
    }
}
