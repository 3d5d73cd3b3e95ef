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
            None => link(&self.file, &self.folder, &path)?,
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

/// Gives a file without a name one, in place of what has it. Readers find one or the other: processes that pull the same
/// module replace each other's blobs.
fn link(file: &File, folder: &Path, path: &Path) -> io::Result<()> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |path: &Path| rustix::fs::linkat(CWD, &own, CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from);
    match link(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let named = tempfile::Builder::new().prefix(leftovers::PREFIX).make_in(folder, link)?;
            Ok(named.into_temp_path().persist(path)?)
        }
        linked => linked,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_blob_that_is_written_again_is_there_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let write = || {
            let mut blob = BlobWriter::new(dir.path()).unwrap();
            blob.write_all(b"content").unwrap();
            blob.finish().unwrap()
        };
        let path = dir.path().join(write().hex());
        std::thread::scope(|scope| {
            let writers = [(); 2].map(|()| scope.spawn(|| (0..200).for_each(|_| drop(write()))));
            while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                assert!(path.exists());
            }
        });
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
    }
}
