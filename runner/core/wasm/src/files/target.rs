//! What a path leads to.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use modbox_policy::Access;
use modbox_vocabulary::Operation;

use crate::files::encoding::to_host;
use crate::files::temporaries::Temporary;
use crate::files::tree::{NodeId, join};
use crate::files::walk::Folder;

/// An operation with its access, for records of denials.
#[derive(Debug, Clone, Copy)]
pub(super) struct Act {
    pub(super) name: Operation,
    pub(super) access: Access,
}

impl Act {
    pub(super) const fn read(name: Operation) -> Self {
        Self { name, access: Access::Read }
    }

    pub(super) const fn write(name: Operation) -> Self {
        Self { name, access: Access::Write }
    }
}

/// Target of an operation.
#[derive(Debug)]
pub(super) enum Target {
    /// A name in a directory of a mount.
    Entry(Entry),
    /// A directory of a mount, by a path that names no entry of another one.
    Folder(Folder),
    /// A directory that exists only for the guest.
    Virtual(NodeId),
    /// A file in memory.
    Memory(usize),
    /// A granted name. `dir` says that the path asks for a directory.
    Name { index: usize, dir: bool },
    /// A temporary beside a granted name.
    Temporary(Temporary),
    /// A missing name, in a directory that exists only for the guest or beside a writable granted name.
    Beside(MissingName),
}

/// Where a path leads as far as its letters tell.
pub(super) enum Located {
    /// A path in a mount, which the kernel can resolve if it has no links.
    Mount(MountPath),
    /// A place that the guard knows.
    At(Target),
    /// The path has to be walked.
    Walk,
}

/// A path below a directory of a mount.
#[derive(Debug)]
pub(super) struct MountPath {
    /// The directory's number in the resource table.
    pub(super) dir: u32,
    pub(super) mount: usize,
    /// The directory's path as the guest sees it.
    pub(super) base: Arc<str>,
    pub(super) path: String,
    /// The node of the directory that has the last name, if it has one.
    pub(super) node: Option<NodeId>,
}

impl MountPath {
    /// Returns the guest's path.
    pub(super) fn guest(&self) -> String {
        join(&self.base, &self.path)
    }
}

/// A name in an open directory of a mount. No call on it follows a link.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) mount: usize,
    pub(super) dir: EntryDir,
    /// The directory's path in the guest.
    pub(super) folder: Arc<str>,
    /// The name as the guest spells it.
    pub(super) name: String,
    /// Whether the path asks for a directory, by a `/` at its end.
    pub(super) slash: bool,
    /// Whether a grant lies below the name, which then has to stay.
    pub(super) is_kept: bool,
}

/// The directory of an entry.
#[derive(Debug)]
pub(super) enum EntryDir {
    /// One in the resource table.
    Table(u32),
    /// One that was opened for the operation.
    Own(Arc<OwnedFd>),
}

impl Entry {
    /// Returns the guest's path.
    pub(super) fn guest(&self) -> String {
        join(&self.folder, &self.name)
    }

    /// Returns the host's name.
    pub(super) fn plain_name(&self) -> OsString {
        to_host(&self.name).into_owned()
    }

    /// Returns the host's name, with a `/` behind it if the path has one: for calls that follow no link at the end, even so.
    pub(super) fn name_and_slash(&self) -> OsString {
        let mut name = self.plain_name();
        if self.slash {
            name.push("/");
        }
        name
    }
}

/// A missing name in a directory of the tree.
#[derive(Debug)]
pub(super) struct MissingName {
    pub(super) dir: NodeId,
    pub(super) name: String,
    /// Whether the path asks for a directory, by a `/` at its end.
    pub(super) slash: bool,
}
