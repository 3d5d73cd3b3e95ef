//! Directory listings: first the entries of the guest's tree, then those of a host directory, read on demand. A listing
//! holds one buffer of `getdents64`, however large the directory is.
//!
//! A path of WASI is a string, so a name that is not UTF-8 cannot be listed, and a guest could do nothing with it. Such
//! a name is left out, with a note for the operator. An error instead would let one file make a directory unreadable.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, DirectoryEntry};

use crate::files::ledger::Permit;

/// A listing in progress.
pub(super) struct Listing {
    tree: std::vec::IntoIter<DirectoryEntry>,
    /// Names that the host's entries must not show: the tree has an entry for them.
    hidden: BTreeSet<String>,
    host: Option<HostListing>,
    permit: Permit,
}

/// The part of a listing that the host gives.
struct HostListing {
    dir: Dir,
    /// The guest's path of the directory.
    path: Arc<str>,
    /// Whether a name was left out.
    left_out: bool,
}

/// The entries that the tree adds to a directory.
#[derive(Default)]
pub(super) struct TreeEntries {
    pub(super) entries: Vec<DirectoryEntry>,
    pub(super) hidden: BTreeSet<String>,
}

impl Listing {
    /// Starts a listing of a directory that exists only for the guest.
    pub(super) fn of_tree(tree: TreeEntries, permit: Permit) -> Self {
        Self { tree: tree.entries.into_iter(), hidden: tree.hidden, host: None, permit }
    }

    /// Starts a listing of a host directory, which the guest sees at `path`.
    pub(super) fn of_host(
        dir: BorrowedFd<'_>,
        path: Arc<str>,
        tree: TreeEntries,
        permit: Permit,
    ) -> rustix::io::Result<Self> {
        // Opened again, so that each listing starts at the first entry.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(dir, c".", flags, Mode::empty())?;
        let host = HostListing { dir: Dir::new(fd)?, path, left_out: false };
        Ok(Self { host: Some(host), ..Self::of_tree(tree, permit) })
    }

    /// Returns the next entry.
    pub(super) fn next(&mut self) -> FsResult<Option<DirectoryEntry>> {
        if let Some(entry) = self.tree.next() {
            return Ok(Some(entry));
        }
        let Some(HostListing { dir, path, left_out }) = &mut self.host else { return Ok(None) };
        loop {
            let entry = match dir.read() {
                None => return Ok(None),
                Some(entry) => entry.map_err(std::io::Error::from)?,
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => dir.fd().map_or(FileType::Unknown, |fd| type_of(fd, name)),
                known => known,
            };
            let Ok(name) = name.to_str() else {
                if !std::mem::replace(left_out, true) {
                    let note = format!("`{path}` has names that are not UTF-8, which the module cannot see");
                    self.permit.ledger().note(note);
                }
                continue;
            };
            if !self.hidden.contains(name) {
                return Ok(Some(DirectoryEntry { type_: descriptor_type(kind), name: name.to_owned() }));
            }
        }
    }
}

/// Returns an entry's type by `fstatat`: some filesystems list names without types.
fn type_of(dir: BorrowedFd<'_>, name: &std::ffi::CStr) -> FileType {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

/// Returns WASI's name for a file type.
pub(super) fn descriptor_type(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}
