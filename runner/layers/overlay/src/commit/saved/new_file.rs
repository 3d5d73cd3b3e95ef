//! A new file that only its user may read, and that has its name when it is whole.
//!
//! Where the file system allows it, the file has no name before, so that a killed process leaves nothing. This file does
//! not know what is written.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::commit::plan::TEMPORARY_PREFIX;

/// A file without its name.
#[derive(Debug)]
pub(super) struct NewFile {
    pub(super) file: File,
    directory: OwnedFd,
    name: OsString,
    /// The name before, where a file must have one.
    temporary: Option<OsString>,
}

impl NewFile {
    /// Makes a file beside the name that it will have.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(Errno::ISDIR)?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        let directory =
            rustix::fs::openat(CWD, parent, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let mode = Mode::RUSR | Mode::WUSR;
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(&directory, ".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => return Ok(Self { file: file.into(), directory, name, temporary: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let temporary = temporary(&name);
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(&directory, &temporary, flags, mode)?;
        Ok(Self { file: file.into(), directory, name, temporary: Some(temporary) })
    }

    /// Writes the file to the disk and gives it its name. An existing file stays.
    pub(super) fn publish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        match &self.temporary {
            None => {
                let place = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                rustix::fs::linkat(CWD, place, &self.directory, &self.name, AtFlags::SYMLINK_FOLLOW)?;
            }
            Some(temporary) => {
                let (directory, flags) = (&self.directory, RenameFlags::NOREPLACE);
                rustix::fs::renameat_with(directory, temporary, directory, &self.name, flags)?;
                self.temporary = None;
            }
        }
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary
            && let Err(error) = rustix::fs::unlinkat(&self.directory, temporary, AtFlags::empty())
        {
            tracing::warn!(%error, "failed to remove an unfinished file of changes");
        }
    }
}

/// Returns a name that no other process uses at the same time.
fn temporary(name: &OsStr) -> OsString {
    let mut temporary = OsString::from(format!("{TEMPORARY_PREFIX}{}-", rustix::process::getpid().as_raw_nonzero()));
    temporary.push(name);
    temporary
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::trees::tree_tests::{read_file, tree};

    #[test]
    fn a_file_has_its_name_when_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new");
        let mut new = NewFile::create(&path).unwrap();
        new.file.write_all(b"whole").unwrap();
        assert!(!path.exists());
        new.publish().unwrap();
        assert_eq!(read_file(&path), b"whole");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        let other = NewFile::create(&path).unwrap();
        assert_eq!(other.publish().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        drop(NewFile::create(&directory.path().join("left")).unwrap());
        assert_eq!((read_file(&path).as_slice(), tree(directory.path()).len()), (&b"whole"[..], 1));
    }
}
