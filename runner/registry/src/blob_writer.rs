//! A blob while it is written: it has no name in the layout until all of it is there.
//!
//! Where the file system can, it has no name at all, so that nothing of it stays after SIGKILL.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use tempfile::TempPath;

use crate::digest::Digest;
use crate::leftovers;

/// Permissions of a blob: what has a digest never changes.
const MODE: u32 = 0o444;

/// A blob that is being written.
#[derive(Debug)]
pub struct BlobWriter {
    folder: PathBuf,
    file: File,
    /// The name that it has meanwhile, where the file system makes no file without one.
    name: Option<TempPath>,
    hash: Sha256,
    size: u64,
}

impl BlobWriter {
    /// Begins a blob in the folder that it is to be in.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let (file, name) = match rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => (File::from(file), None),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let (file, name) = tempfile::Builder::new().prefix(leftovers::PREFIX).tempfile_in(folder)?.into_parts();
                (file, Some(name))
            }
            Err(errno) => return Err(errno.into()),
        };
        Ok(Self { folder: folder.to_owned(), file, name, hash: Sha256::new(), size: 0 })
    }

    /// Returns the number of bytes so far.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the digest of the bytes so far.
    pub(crate) fn digest(&self) -> Digest {
        Digest::from_hash(self.hash.clone())
    }

    /// Gives the blob its name, which is its digest, unless the layout has it already.
    pub(crate) fn finish(self) -> io::Result<Digest> {
        let digest = self.digest();
        self.file.set_permissions(Permissions::from_mode(MODE))?;
        self.file.sync_all()?;
        let path = self.folder.join(digest.hex());
        match self.name {
            // A damaged blob of the same name is replaced.
            Some(name) => name.persist(&path).map_err(|error| error.error)?,
            None => link(&self.file, &path)?,
        }
        Ok(digest)
    }
}

impl Write for BlobWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Gives a file without a name one, in place of what has it.
fn link(file: &File, path: &Path) -> io::Result<()> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = || rustix::fs::linkat(CWD, &own, CWD, path, AtFlags::SYMLINK_FOLLOW);
    match link() {
        Err(Errno::EXIST) => {
            // The caller replaces damaged blobs only. Another process can be replacing this one.
            match rustix::fs::unlink(path) {
                Err(Errno::NOENT) => {}
                removed => removed?,
            }
            match link() {
                Err(Errno::EXIST) => Ok(()),
                linked => Ok(linked?),
            }
        }
        linked => Ok(linked?),
    }
}
