//! What a path leads to.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use modbox_policy::Access;
use modbox_vocabulary::Operation;

use crate::files::encoding::to_host;
use crate::files::replacing::temporaries::Temporary;
use crate::files::tree::{NodeId, join};
use crate::files::ways::walk::Folder;

/// An operation with its access, for records of denials.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    pub(crate) name: Operation,
    pub(crate) access: Access,
}

impl Act {
    pub(crate) const fn read(name: Operation) -> Self {
        Self { name, access: Access::Read }
    }

    pub(crate) const fn write(name: Operation) -> Self {
        Self { name, access: Access::Write }
    }
}

/// Target of an operation.
#[derive(Debug)]
pub(crate) enum Target {
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
pub(crate) enum Located {
    /// A path in a mount, which the kernel can resolve if it has no links.
    Mount(MountPath),
    /// A place that the guard knows.
    At(Target),
    /// The path has to be walked.
    Walk,
}

/// A path below a directory of a mount.
#[derive(Debug)]
pub(crate) struct MountPath {
    /// The directory's number in the resource table.
    pub(crate) dir: u32,
    pub(crate) mount: usize,
    /// The directory's path as the guest sees it.
    pub(crate) base: Arc<str>,
    pub(crate) path: String,
    /// The node of the directory that has the last name, if it has one.
    pub(crate) node: Option<NodeId>,
}

impl MountPath {
    /// Returns the guest's path.
    pub(crate) fn guest(&self) -> String {
        join(&self.base, &self.path)
    }
}

/// A name in an open directory of a mount. No call on it follows a link.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) mount: usize,
    pub(crate) dir: EntryDir,
    /// The directory's path in the guest.
    pub(crate) folder: Arc<str>,
    /// The name as the guest spells it.
    pub(crate) name: String,
    /// Whether the path asks for a directory, by a `/` at its end.
    pub(crate) slash: bool,
    /// Whether a grant lies below the name, which then has to stay.
    pub(crate) is_kept: bool,
}

/// The directory of an entry.
#[derive(Debug)]
pub(crate) enum EntryDir {
    /// One in the resource table.
    Table(u32),
    /// One that was opened for the operation.
    Own(Arc<OwnedFd>),
}

impl Entry {
    /// Returns the guest's path.
    pub(crate) fn guest(&self) -> String {
        join(&self.folder, &self.name)
    }

    /// Returns the host's name.
    pub(crate) fn plain_name(&self) -> OsString {
        to_host(&self.name).into_owned()
    }

    /// Returns the host's name, with a `/` behind it if the path has one: for calls that follow no link at the end, even so.
    pub(crate) fn name_and_slash(&self) -> OsString {
        let mut name = self.plain_name();
        if self.slash {
            name.push("/");
        }
        name
    }
}

/// A missing name in a directory of the tree.
#[derive(Debug)]
pub(crate) struct MissingName {
    pub(crate) dir: NodeId,
    pub(crate) name: String,
    /// Whether the path asks for a directory, by a `/` at its end.
    pub(crate) slash: bool,
}
