//! The tree of paths that a guest sees. It maps each path to its grant. Pure: nothing is opened here.
//!
//! A node is one of: a directory that exists only for the guest; a granted directory (a mount); a granted name, which
//! is one name in a directory; a file that is served from memory. A path is walked lexically. Each node on the way
//! replaces the grant of the node before it, so the innermost grant decides. Below a mount, a path that meets no node
//! belongs to the mount, and the kernel resolves it beneath the mounted directory. `..` leads back over the components
//! of the same path, and never above the directory where the path starts.

use std::sync::Arc;

/// Index of a node.
pub(super) type NodeId = usize;

/// The node of `/`.
pub(super) const ROOT: NodeId = 0;

/// Kind of a node. The numbers are indices into the guard's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) path: Arc<str>,
    pub(super) parent: NodeId,
    pub(super) children: Vec<NodeId>,
    pub(super) kind: Kind,
}

/// Destination of a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place<'p> {
    /// A node. `dir`: the path asks for a directory, by a `/` or a dot at its end.
    Node { id: NodeId, dir: bool },
    /// A path in the directory where the walk starts; no node was met.
    Same { near: Option<EntryName<'p>> },
    /// A path in a mount; `rest` is the part below the mount.
    Inside { mount: NodeId, rest: &'p str, near: Option<EntryName<'p>> },
    /// A missing name in a directory that exists only for the guest.
    Beside { near: EntryName<'p>, dir: bool },
    /// A path below a missing name, or below a file.
    Below { parent: NodeId },
    /// A path that leads out of the directory where it starts.
    Outside,
}

/// The last name of a path, in a directory that is a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryName<'p> {
    pub(super) dir: NodeId,
    pub(super) name: &'p str,
}

impl Node {
    /// Returns the node's name in its directory; empty for the root.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

/// State of a walk: the current node, if any, and the offset of the rest of the path.
#[derive(Clone, Copy)]
struct Step {
    node: Option<NodeId>,
    rest: usize,
}

impl Tree {
    /// Creates a tree that has only `/`.
    pub(super) fn new() -> Self {
        let root = Node { path: "/".into(), parent: ROOT, children: Vec::new(), kind: Kind::Virtual };
        Self { nodes: vec![root] }
    }

    /// Inserts a node. Insert outer paths before inner ones. Returns `None` when the path is taken or lies below a
    /// file.
    pub(super) fn insert(&mut self, path: &str, kind: Kind) -> Option<NodeId> {
        let mut at = ROOT;
        for name in names(path) {
            at = match (self.nodes[at].kind, self.child(at, name)) {
                (Kind::Name(_) | Kind::Memory(_), _) => return None,
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

    /// Returns a node.
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// Changes the kind of a node, such as when a granted name becomes a directory, or is removed and becomes a name
    /// again.
    pub(super) fn change(&mut self, id: NodeId, kind: Kind) {
        self.nodes[id].kind = kind;
    }

    /// Returns the node of an entry in a directory.
    pub(super) fn child(&self, dir: NodeId, name: &str) -> Option<NodeId> {
        self.nodes[dir].children.iter().copied().find(|id| self.nodes[*id].name() == name)
    }

    /// Returns the node at a path, if there is one.
    pub(super) fn find(&self, path: &str) -> Option<NodeId> {
        names(path).try_fold(ROOT, |at, name| self.child(at, name))
    }

    /// Returns the innermost node on the way to a path, and the part of the path below it.
    pub(super) fn innermost<'p>(&self, path: &'p str) -> (NodeId, &'p str) {
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

    /// Walks a path from a directory that is a node.
    pub(super) fn walk<'p>(&self, start: NodeId, path: &'p str) -> Place<'p> {
        self.go(vec![Step { node: Some(start), rest: 0 }], path)
    }

    /// Walks a path from a directory of a mount. `below` is that directory's path relative to the mount.
    pub(super) fn walk_inside<'p>(&self, mount: NodeId, below: &str, path: &'p str) -> Place<'p> {
        let mut steps = vec![Step { node: Some(mount), rest: 0 }];
        for name in names(below) {
            let node = steps.last().and_then(|step| self.child(step.node?, name));
            steps.push(Step { node, rest: 0 });
        }
        self.go(steps, path)
    }

    fn go<'p>(&self, mut steps: Vec<Step>, path: &'p str) -> Place<'p> {
        let floor = steps.len();
        let (mut name, mut dir) = ("", false);
        let mut offset = 0;
        for component in path.split('/') {
            let end = offset + component.len();
            offset = end + 1;
            let top = *steps.last().expect("a walk stands somewhere");
            let kind = top.node.map(|id| self.nodes[id].kind);
            dir = matches!(component, "" | "." | "..");
            match (component, kind) {
                ("" | ".", _) => {}
                (_, Some(Kind::Name(_) | Kind::Memory(_))) => {
                    return Place::Below { parent: top.node.unwrap_or(ROOT) };
                }
                ("..", _) if steps.len() == floor => return Place::Outside,
                ("..", _) => {
                    steps.pop();
                }
                (_, Some(Kind::Virtual)) => {
                    let at = top.node.unwrap_or(ROOT);
                    let Some(child) = self.child(at, component) else {
                        let rest = path.get(offset..).unwrap_or("");
                        return match names(rest).next() {
                            Some(_) => Place::Below { parent: at },
                            None => Place::Beside {
                                near: EntryName { dir: at, name: component },
                                dir: offset <= path.len(),
                            },
                        };
                    };
                    steps.push(Step { node: Some(child), rest: offset.min(path.len()) });
                    name = component;
                }
                _ => {
                    let node = top.node.and_then(|id| self.child(id, component));
                    steps.push(Step { node, rest: offset.min(path.len()) });
                    name = component;
                }
            }
        }
        self.end(&steps, floor, path, (name, dir))
    }

    fn end<'p>(&self, steps: &[Step], floor: usize, path: &'p str, (name, dir): (&'p str, bool)) -> Place<'p> {
        let top = steps[steps.len() - 1];
        let moved = steps.len() > floor;
        if let Some(id) = top.node {
            let kind = self.nodes[id].kind;
            let start = !moved && matches!(kind, Kind::Mount(_));
            if !start && kind != Kind::Inside {
                return Place::Node { id, dir };
            }
        }
        let is_mount = |step: &Step| step.node.is_some_and(|id| matches!(self.nodes[id].kind, Kind::Mount(_)));
        let at = steps.iter().rposition(is_mount).unwrap_or(0);
        let parent = moved.then(|| steps.get(steps.len().wrapping_sub(2))?.node).flatten();
        let near = parent.filter(|_| !dir).map(|dir| EntryName { dir, name });
        if at < floor {
            return Place::Same { near };
        }
        let rest = path[steps[at].rest..].trim_start_matches('/');
        Place::Inside { mount: steps[at].node.unwrap_or(ROOT), rest: if rest.is_empty() { "." } else { rest }, near }
    }
}

/// Returns the components of an absolute path.
pub(super) fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

/// Joins a path to a directory lexically.
pub(super) fn join(dir: &str, path: &str) -> String {
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
