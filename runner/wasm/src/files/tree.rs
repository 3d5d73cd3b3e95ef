//! The tree of what a guest sees: which path belongs to which grant. Pure; nothing is opened here.
//!
//! A node is a directory that exists only for the guest, a granted directory (a mount), a granted name, or a file
//! that is served from memory. A path is walked by its letters: where it enters a node, that node's grant decides, so the
//! innermost grant does. Below a mount, what is no node is the mount's, and the kernel resolves it beneath the
//! mounted directory. `..` leads back over what the same path went through and never above where the path starts.

use std::sync::Arc;

/// A node's index.
pub(super) type NodeId = usize;

/// The node of `/`.
pub(super) const ROOT: NodeId = 0;

/// What a node is; the numbers are indices of the guard's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A directory on the way to something granted.
    Virtual,
    /// A directory of a mount on the way to something nested in it.
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

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place<'p> {
    /// To a node; `dir` says that the path asks for a directory, by a `/` or a dot at its end.
    Node { id: NodeId, dir: bool },
    /// Into the directory that the path starts at, without meeting a node.
    Same { near: Option<Near<'p>> },
    /// Into a mount, by the rest of the path.
    Inside { mount: NodeId, rest: &'p str, near: Option<Near<'p>> },
    /// To a name that is not there, in a directory that only the guest has.
    Beside { near: Near<'p>, dir: bool },
    /// Below a name that is not there, or below a file.
    Below { parent: NodeId },
    /// Out of the directory that it starts at.
    Outside,
}

/// A last name, in a directory that is a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Near<'p> {
    pub(super) dir: NodeId,
    pub(super) name: &'p str,
}

impl Node {
    /// Returns its name in its directory; the root has none.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

/// A step of a walk: the node that it stands on, if any, and where the rest of the path begins.
#[derive(Clone, Copy)]
struct Step {
    node: Option<NodeId>,
    rest: usize,
}

impl Tree {
    /// Makes a tree with nothing but `/`.
    pub(super) fn new() -> Self {
        let root = Node { path: "/".into(), parent: ROOT, children: Vec::new(), kind: Kind::Virtual };
        Self { nodes: vec![root] }
    }

    /// Puts something in its place; outer places come before inner ones. Returns `None` when the place is taken, or
    /// lies in a file.
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

    /// Makes a node something else: a granted name that has become a directory, or is none any more.
    pub(super) fn change(&mut self, id: NodeId, kind: Kind) {
        self.nodes[id].kind = kind;
    }

    /// Returns the entry of a directory.
    pub(super) fn child(&self, dir: NodeId, name: &str) -> Option<NodeId> {
        self.nodes[dir].children.iter().copied().find(|id| self.nodes[*id].name() == name)
    }

    /// Returns the node in a place, if there is one.
    pub(super) fn find(&self, path: &str) -> Option<NodeId> {
        names(path).try_fold(ROOT, |at, name| self.child(at, name))
    }

    /// Returns the innermost node on the way to a place, and what of the path lies below it.
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

    /// Walks a path from a directory of a mount, which the guest knows by `below` in it.
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
                            None => {
                                Place::Beside { near: Near { dir: at, name: component }, dir: offset <= path.len() }
                            }
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
        let near = parent.filter(|_| !dir).map(|dir| Near { dir, name });
        if at < floor {
            return Place::Same { near };
        }
        let rest = path[steps[at].rest..].trim_start_matches('/');
        Place::Inside { mount: steps[at].node.unwrap_or(ROOT), rest: if rest.is_empty() { "." } else { rest }, near }
    }
}

/// The names of an absolute path.
pub(super) fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

/// A path below a directory, by its letters.
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
