//! Directory listings: entries of the guest's own tree, then those of a directory of the host, read as they are asked
//! for. A listing holds one buffer of the kernel's, however large the directory is.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, DirectoryEntry, ErrorCode};

use crate::files::ledger::Permit;

/// A listing under way.
pub(super) struct Listing {
    own: std::vec::IntoIter<DirectoryEntry>,
    /// Names that are the tree's, whatever the host has there.
    hidden: BTreeSet<String>,
    host: Option<Dir>,
    _permit: Permit,
}

/// What the tree adds to a directory.
#[derive(Default)]
pub(super) struct Own {
    pub(super) entries: Vec<DirectoryEntry>,
    pub(super) hidden: BTreeSet<String>,
}

impl Listing {
    /// Begins a listing of a directory that only the guest has.
    pub(super) fn of_tree(own: Own, permit: Permit) -> Self {
        Self { own: own.entries.into_iter(), hidden: own.hidden, host: None, _permit: permit }
    }

    /// Begins a listing of a directory of the host.
    pub(super) fn of_host(dir: BorrowedFd<'_>, own: Own, permit: Permit) -> rustix::io::Result<Self> {
        // Opened anew, so that each listing begins at the first entry.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(dir, c".", flags, Mode::empty())?;
        Ok(Self { host: Some(Dir::new(fd)?), ..Self::of_tree(own, permit) })
    }

    /// Returns the next entry.
    pub(super) fn next(&mut self) -> FsResult<Option<DirectoryEntry>> {
        if let Some(entry) = self.own.next() {
            return Ok(Some(entry));
        }
        let Some(dir) = &mut self.host else { return Ok(None) };
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
            let Ok(name) = name.to_str() else { return Err(ErrorCode::IllegalByteSequence.into()) };
            if !self.hidden.contains(name) {
                return Ok(Some(DirectoryEntry { type_: descriptor_type(kind), name: name.to_owned() }));
            }
        }
    }
}

/// Some filesystems list names without their types.
fn type_of(dir: BorrowedFd<'_>, name: &std::ffi::CStr) -> FileType {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

/// Returns WASI's name for a type of file.
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
