//! Directory listings: first the entries of the guest's tree, then those of a host directory, read on demand. A listing
//! holds one buffer of `getdents64`, however large the directory is.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::DirectoryEntry;

use crate::files::encoding::to_guest;
use crate::files::errno::failed;
use crate::files::ledger::Permit;
use crate::files::stat::descriptor_type;

/// A listing in progress.
pub(crate) struct Listing {
    tree: std::vec::IntoIter<DirectoryEntry>,
    /// Names that the host's entries must not show: the tree has an entry for them.
    hidden: BTreeSet<String>,
    host: Option<Dir>,
    _permit: Permit,
}

/// The entries that the tree adds to a directory.
#[derive(Default)]
pub(crate) struct TreeEntries {
    pub(crate) entries: Vec<DirectoryEntry>,
    pub(crate) hidden: BTreeSet<String>,
}

impl Listing {
    /// Starts a listing of a directory that exists only for the guest.
    pub(crate) fn of_tree(tree: TreeEntries, permit: Permit) -> Self {
        Self { tree: tree.entries.into_iter(), hidden: tree.hidden, host: None, _permit: permit }
    }

    /// Starts a listing of a host directory.
    pub(crate) fn of_host(dir: BorrowedFd<'_>, tree: TreeEntries, permit: Permit) -> rustix::io::Result<Self> {
        // Opened again, so that each listing starts at the first entry.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(dir, c".", flags, Mode::empty()) {
            // A directory that this user can list and not search.
            Err(Errno::ACCESS) => {
                let fd = rustix::io::fcntl_dupfd_cloexec(dir, 0)?;
                rustix::fs::seek(&fd, SeekFrom::Start(0))?;
                fd
            }
            other => other?,
        };
        Ok(Self { host: Some(Dir::new(fd)?), ..Self::of_tree(tree, permit) })
    }

    pub(crate) fn next(&mut self) -> FsResult<Option<DirectoryEntry>> {
        if let Some(entry) = self.tree.next() {
            return Ok(Some(entry));
        }
        let Some(dir) = &mut self.host else { return Ok(None) };
        loop {
            let entry = match dir.read() {
                None => return Ok(None),
                Some(entry) => entry.map_err(failed)?,
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => dir.fd().map_or(FileType::Unknown, |fd| type_of(fd, name)),
                known => known,
            };
            let name = to_guest(name.to_bytes());
            if !self.hidden.contains(&*name) {
                return Ok(Some(DirectoryEntry { type_: descriptor_type(kind), name: name.into_owned() }));
            }
        }
    }
}

/// Returns an entry's type by `fstatat`: some filesystems list names without types.
fn type_of(dir: BorrowedFd<'_>, name: &std::ffi::CStr) -> FileType {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}
