//! Looks at the directory of a mount without using the mount.
//!
//! Most guests look at `/tmp` when they start, to make it their working directory, and never again. Such a look takes one
//! system call on the descriptor of the mount, and the run's directory is known to be unchanged.

use rustix::fs::Stat;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;

use crate::files::grants::Mount;
use crate::files::guard::{FileGuard, GuardView};
use crate::files::records::Record;
use crate::files::tree::{Descent, Kind, NodeId};

impl GuardView<'_> {
    /// Returns the status of the directory that a path leads to, if it is that of a mount in which no operation has
    /// taken place.
    pub(crate) fn stat_unused(&self, fd: &Resource<Descriptor>, path: &str) -> FsResult<Option<Stat>> {
        let mount = match self.guard.records.get(fd)? {
            Record::Root(mount) if path == "." => Some(&self.guard.grants.mounts[*mount]),
            Record::Virtual(node) => self.guard.mount_at(*node, path),
            _ => None,
        };
        let unused = mount.filter(|mount| mount.listed.is_none());
        let stat = unused.map(|mount| rustix::fs::fstat(&mount.dir.dir)).transpose();
        Ok(stat.map_err(std::io::Error::from)?)
    }
}

impl FileGuard {
    /// Returns the mount whose own directory a path from a node leads to.
    fn mount_at(&self, node: NodeId, path: &str) -> Option<&Mount> {
        if path.starts_with('/') {
            return None;
        }
        let Descent::Mount { id, rest: "", .. } = self.grants.tree.descend(node, path) else { return None };
        let Kind::Mount(mount) = self.grants.tree.node(id).kind else { return None };
        Some(&self.grants.mounts[mount])
    }
}
