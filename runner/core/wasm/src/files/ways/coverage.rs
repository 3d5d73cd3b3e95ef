//! Which grant covers a path of the guest, by its letters, and where the path is on the host.

use std::path::PathBuf;
use std::sync::Arc;

use modbox_policy::Access;

use crate::files::guard::FileGuard;
use crate::files::ledger::Share;
use crate::files::tree::{Kind, NodeId};

impl FileGuard {
    pub(crate) fn path_of(&self, node: NodeId) -> Arc<str> {
        Arc::clone(&self.grants.tree.node(node).path)
    }

    /// Returns the writable granted name in a directory that a temporary of this name most likely replaces.
    pub(crate) fn writable_name(&self, dir: NodeId, temporary: &str) -> Option<usize> {
        let tree = &self.grants.tree;
        let names = tree.node(dir).children.iter().filter_map(|child| match tree.node(*child).kind {
            Kind::Name(index) if self.grants.names[index].writable => Some(index),
            _ => None,
        });
        names.max_by_key(|index| {
            let name = tree.node(self.grants.names[*index].node).name();
            if temporary.contains(name) { name.len() } else { 0 }
        })
    }

    /// Returns whether a grant covers a path of the guest.
    pub(crate) fn covers(&self, guest: &str, access: Access) -> bool {
        let (node, rest) = self.grants.tree.innermost(guest);
        match self.grants.tree.node(node).kind {
            Kind::Mount(mount) => access == Access::Read || self.grants.mounts[mount].writable,
            Kind::Name(name) => rest.is_empty() && (access == Access::Read || self.grants.names[name].writable),
            Kind::Memory(_) | Kind::Failing(_) | Kind::Virtual | Kind::Inside => {
                rest.is_empty() && access == Access::Read
            }
        }
    }

    /// Returns whether an operator's grant, of a directory or a name, covers a path of the guest. The guest's own
    /// directories do not count.
    pub(crate) fn is_granted(&self, guest: &str) -> bool {
        let (node, rest) = self.grants.tree.innermost(guest);
        match self.grants.tree.node(node).kind {
            Kind::Mount(mount) => self.grants.mounts[mount].share == Share::All,
            Kind::Name(_) => rest.is_empty(),
            Kind::Memory(_) | Kind::Failing(_) | Kind::Virtual | Kind::Inside => false,
        }
    }

    /// Returns the machine's path for a path of the guest.
    pub(crate) fn host_of(&self, guest: &str) -> PathBuf {
        let (node, rest) = self.grants.tree.innermost(guest);
        let opened = match self.grants.tree.node(node).kind {
            Kind::Mount(mount) if self.grants.mounts[mount].share == Share::All => {
                let host = &self.grants.mounts[mount].host;
                if rest.is_empty() { host.clone() } else { host.join(rest) }
            }
            Kind::Name(name) => self.grants.names[name].host.clone(),
            _ => guest.into(),
        };
        self.grants.stand_ins.stands_for(opened)
    }
}
