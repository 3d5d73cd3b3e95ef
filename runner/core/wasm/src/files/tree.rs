//! The tree of paths that a guest sees. It maps each path without links to its grant. Pure: nothing is opened here.
//!
//! A node is one of: a directory that exists only for the guest; a granted directory (a mount); a granted name, which
//! is one name in a directory; a file that is served from memory. Each node on the way to a path replaces the grant of
//! the node before it, so the innermost grant decides. Below a mount, a path that meets no node belongs to the mount, and
//! the kernel resolves it beneath the mounted directory. Letters do not tell where `..` or a link leads; `walk` does.

use std::sync::Arc;

/// Index of a node.
pub(crate) type NodeId = usize;

/// The node of `/`.
pub(crate) const ROOT: NodeId = 0;

/// Kind of a node. The numbers are indices into the guard's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A directory that exists only for the guest, on the way to a grant.
    Virtual,
    /// A directory of a mount, on the way to a grant nested in it.
    Inside,
    /// A granted directory.
    Mount(usize),
    /// A granted name in a directory.
    Name(usize),
    /// A file in memory.
    Memory(usize),
    /// A place where the way to a path ends with an error.
    Failing(usize),
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) path: Arc<str>,
    pub(crate) parent: NodeId,
    pub(crate) children: Vec<NodeId>,
    pub(crate) kind: Kind,
}

/// Where a path leads by its letters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Descent<'p> {
    /// Letters do not tell: the path has `..`, or goes on below a file, a missing name or a directory of a mount that is a
    /// node.
    Walk,
    /// A node, which is the last name of the path.
    Node(NodeId),
    /// A missing name in a directory that exists only for the guest.
    Beside { dir: NodeId, name: &'p str },
    /// A path in the mount where it starts. `node` is the directory of the last name, if it is a node.
    Start { node: Option<NodeId> },
    /// A path in a mount; `rest` is the part below the mount, empty for the mount itself.
    Mount { id: NodeId, rest: &'p str, node: Option<NodeId> },
}

/// The last name of a path, in a directory that is a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryName<'p> {
    pub(crate) dir: NodeId,
    pub(crate) name: &'p str,
}

impl Node {
    /// Returns the node's name in its directory; empty for the root.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// Creates a tree that has only `/`.
    pub(crate) fn new() -> Self {
        let root = Node { path: "/".into(), parent: ROOT, children: Vec::new(), kind: Kind::Virtual };
        Self { nodes: vec![root] }
    }

    /// Inserts a node. Insert outer paths before inner ones. Returns `None` when the path is taken or lies below a
    /// file.
    pub(crate) fn insert(&mut self, path: &str, kind: Kind) -> Option<NodeId> {
        let mut at = ROOT;
        for name in names(path) {
            at = match (self.nodes[at].kind, self.child(at, name)) {
                (Kind::Name(_) | Kind::Memory(_) | Kind::Failing(_), _) => return None,
                (_, Some(child)) => child,
                (Kind::Virtual, None) => self.add(at, name, Kind::Virtual),
                (Kind::Mount(_) | Kind::Inside, None) => self.add(at, name, Kind::Inside),
            };
        }
        if !matches!(self.nodes[at].kind, Kind::Virtual | Kind::Inside) {
            return None;
        }
        self.nodes[at].kind = kind;
        Some(at)
    }

    fn add(&mut self, parent: NodeId, name: &str, kind: Kind) -> NodeId {
        let path = join(&self.nodes[parent].path, name).into();
        let id = self.nodes.len();
        self.nodes.push(Node { path, parent, children: Vec::new(), kind });
        self.nodes[parent].children.push(id);
        id
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// Changes the kind of a node, such as when a granted name becomes a directory, or is removed and becomes a name
    /// again.
    pub(crate) fn change(&mut self, id: NodeId, kind: Kind) {
        self.nodes[id].kind = kind;
    }

    /// Returns the node of an entry in a directory.
    pub(crate) fn child(&self, dir: NodeId, name: &str) -> Option<NodeId> {
        self.nodes[dir].children.iter().copied().find(|id| self.nodes[*id].name() == name)
    }

    /// Returns the node at a path, if there is one.
    pub(crate) fn find(&self, path: &str) -> Option<NodeId> {
        names(path).try_fold(ROOT, |at, name| self.child(at, name))
    }

    /// Returns the innermost node on the way to a path, and the part of the path below it.
    pub(crate) fn innermost<'p>(&self, path: &'p str) -> (NodeId, &'p str) {
        let (mut at, mut found, mut rest) = (ROOT, ROOT, path.trim_start_matches('/'));
        let mut offset = path.len() - rest.len();
        for name in names(path) {
            let Some(child) = self.child(at, name) else { break };
            at = child;
            offset += path[offset..].find(name).unwrap_or(0) + name.len();
            if self.nodes[at].kind != Kind::Inside {
                (found, rest) = (at, path[offset..].trim_start_matches('/'));
            }
        }
        (found, rest)
    }

    /// Follows a path from a directory that is a node, as far as its names are nodes. The names below that are left to the
    /// kernel.
    pub(crate) fn descend<'p>(&self, start: NodeId, path: &'p str) -> Descent<'p> {
        let mut at = start;
        let mut mount = None;
        let mut offset = 0;
        let is_dir = path.ends_with('/') || path.ends_with("/.") || path == ".";
        if names(path).any(|name| name == "..") {
            return Descent::Walk;
        }
        for name in path.split('/') {
            offset += name.len() + 1;
            if matches!(name, "" | ".") {
                continue;
            }
            let rest = path.get(offset..).unwrap_or("");
            let is_last = names(rest).all(|name| name == ".");
            let Some(child) = self.child(at, name) else {
                return match self.nodes[at].kind {
                    Kind::Virtual if is_last && !is_dir => Descent::Beside { dir: at, name },
                    Kind::Mount(_) | Kind::Inside => {
                        let node = (is_last && !is_dir).then_some(at);
                        mount.map_or(Descent::Start { node }, |(id, rest)| Descent::Mount { id, rest, node })
                    }
                    Kind::Virtual | Kind::Name(_) | Kind::Memory(_) | Kind::Failing(_) => Descent::Walk,
                };
            };
            match self.nodes[child].kind {
                Kind::Mount(_) => mount = Some((child, rest.trim_start_matches('/'))),
                Kind::Virtual => mount = None,
                Kind::Inside if is_last => return Descent::Walk,
                Kind::Inside => {}
                Kind::Name(_) | Kind::Memory(_) if is_last && !is_dir => return Descent::Node(child),
                Kind::Name(_) | Kind::Memory(_) | Kind::Failing(_) => return Descent::Walk,
            }
            at = child;
        }
        match self.nodes[at].kind {
            Kind::Virtual => Descent::Node(at),
            _ if at == start => Descent::Start { node: None },
            Kind::Mount(_) => Descent::Mount { id: at, rest: "", node: None },
            Kind::Inside | Kind::Name(_) | Kind::Memory(_) | Kind::Failing(_) => Descent::Walk,
        }
    }
}

/// Returns the components of an absolute path.
pub(crate) fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

/// Joins a path to a directory lexically.
pub(crate) fn join(dir: &str, path: &str) -> String {
    let mut all = String::with_capacity(dir.len() + path.len() + 2);
    for name in names(dir) {
        push(&mut all, name);
    }
    for name in names(path) {
        match name {
            "." => {}
            ".." => all.truncate(all.rfind('/').unwrap_or(0)),
            name => push(&mut all, name),
        }
    }
    if all.is_empty() {
        all.push('/');
    }
    all
}

fn push(path: &mut String, name: &str) {
    path.push('/');
    path.push_str(name);
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
