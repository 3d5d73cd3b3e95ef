//! Resolves a path name by name, as the kernel does, in the file system that the guest sees.
//!
//! Most paths have no links, and one `openat2` resolves them beneath a granted directory. This walk is for the others. It
//! opens one name at a time and never follows a link by the kernel: it reads the link and goes on with its target. An
//! absolute target starts again at the guest's root, so a link leads to what is granted and to nothing else. `..` is
//! the directory around the present one in the guest's file system; the kernel's `..` is never used.
//!
//! The walk ends at a name in an open directory. An operation then works on that name without following it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::files::encoding::{to_guest, to_host};
use crate::files::follow::Follow;
use crate::files::guard::FileGuard;
use crate::files::ledger::Share;
use crate::files::open::{Refusal, open_beneath, stat_name};
use crate::files::planted::may_follow;
use crate::files::stat::is_link;
use crate::files::tree::{Kind, NodeId, ROOT, names};

/// The most links on the way to a file (Linux, `MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// The longest name (Linux, `NAME_MAX`).
pub(crate) const MAX_NAME: usize = 255;

/// Where a walk starts: a directory that the guest holds.
pub(crate) struct Start<'d> {
    /// The directory's path in the guest, without links.
    pub(crate) path: Arc<str>,
    /// The open directory, if it is one of the host.
    pub(crate) dir: Option<(usize, BorrowedFd<'d>)>,
}

/// An open directory of a mount.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) mount: usize,
    pub(crate) dir: Arc<OwnedFd>,
    /// The directory's path in the guest, without links.
    pub(crate) path: String,
    pub(crate) last: Last,
}

/// How a path ends that leads to a directory without naming an entry of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// With the name of a granted directory, or `/`.
    Grant,
    /// With `.`.
    Dot,
    /// With `..`.
    DotDot,
}

/// A name in an open directory of a mount.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) folder: Folder,
    /// The node of the directory, if it has one.
    pub(crate) node: Option<NodeId>,
    /// The name as the guest spells it.
    pub(crate) name: String,
    /// Whether the path asks for a directory, by a `/` at its end.
    pub(crate) slash: bool,
}

/// The end of a walk.
#[derive(Debug)]
pub(crate) enum Spot {
    Name(Name),
    Folder(Folder),
    /// A directory that exists only for the guest.
    Virtual(NodeId),
    /// A file in memory.
    Memory(usize),
    /// A granted name. `slash`: the path asks for a directory.
    Granted {
        index: usize,
        slash: bool,
    },
    /// A name in a directory that exists only for the guest.
    Beside {
        dir: NodeId,
        name: String,
        slash: bool,
    },
}

/// Why a walk ends before the path does.
#[derive(Debug)]
pub(crate) enum Lost {
    /// The kernel's error.
    Errno(Errno),
    /// The way to a path that an argument names ends here.
    Failing { node: NodeId, errno: Errno },
    /// Nothing grants the path, given as the guest sees it, without links.
    NotGranted { dir: NodeId, path: String },
}

impl From<Errno> for Lost {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<Refusal> for Lost {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Errno(errno) => Self::Errno(errno),
            // The path had no links when its names were walked: another process has moved something since.
            Refusal::Link | Refusal::Escape => Self::Errno(Errno::NOENT),
            Refusal::Special => Self::Errno(Errno::NOTDIR),
            Refusal::QuotaExceeded => Self::Errno(Errno::NOSPC),
        }
    }
}

/// The directory that a walk has reached.
enum Here {
    Virtual(NodeId),
    Real(usize, Arc<OwnedFd>),
}

struct Walk<'g> {
    guard: &'g FileGuard,
    /// The names on the way from the root to the present directory.
    names: Vec<String>,
    /// The nodes of the root and of these names.
    nodes: Vec<Option<NodeId>>,
    here: Here,
    /// The rest of the path, last name first.
    rest: Vec<String>,
    /// Whether the last name has to be a directory.
    slash: bool,
    last: Last,
    links: usize,
}

pub(crate) fn walk(guard: &FileGuard, start: &Start<'_>, path: &str, follow: Follow) -> Result<Spot, Lost> {
    let mut walk = Walk::new(guard, start)?;
    walk.add(path);
    walk.slash = path.ends_with('/');
    while let Some(name) = walk.rest.pop() {
        if let Some(spot) = walk.step(name, follow)? {
            return Ok(spot);
        }
    }
    Ok(walk.end())
}

impl<'g> Walk<'g> {
    fn new(guard: &'g FileGuard, start: &Start<'_>) -> Result<Self, Lost> {
        let mut nodes = vec![Some(ROOT)];
        let mut all = Vec::new();
        for name in names(&start.path) {
            nodes.push(nodes.last().copied().flatten().and_then(|node| guard.grants.tree.child(node, name)));
            all.push(name.to_owned());
        }
        let here = match start.dir {
            Some((mount, dir)) => Here::Real(mount, Arc::new(rustix::io::fcntl_dupfd_cloexec(dir, 0)?)),
            None => Here::Virtual(nodes.last().copied().flatten().unwrap_or(ROOT)),
        };
        let (rest, last) = (Vec::new(), Last::Grant);
        Ok(Self { guard, names: all, nodes, here, rest, slash: false, last, links: 0 })
    }

    /// Puts the names of a path before the rest.
    fn add(&mut self, path: &str) {
        self.rest.extend(path.split('/').rev().filter(|name| !name.is_empty()).map(str::to_owned));
    }

    fn kind(&self, node: NodeId) -> Kind {
        self.guard.grants.tree.node(node).kind
    }

    /// The node of the present directory.
    fn node(&self) -> Option<NodeId> {
        self.nodes.last().copied().flatten()
    }

    fn path(&self) -> String {
        let mut path = String::from("/");
        path.push_str(&self.names.join("/"));
        path
    }

    /// Takes one name. Returns the end of the walk if it is reached.
    fn step(&mut self, name: String, follow: Follow) -> Result<Option<Spot>, Lost> {
        match name.as_str() {
            "." => {
                self.search()?;
                self.last = Last::Dot;
                return Ok(None);
            }
            ".." => {
                self.up()?;
                self.last = Last::DotDot;
                return Ok(None);
            }
            _ => self.last = Last::Grant,
        }
        if to_host(&name).len() > MAX_NAME {
            return Err(Errno::NAMETOOLONG.into());
        }
        let child = self.node().and_then(|node| self.guard.grants.tree.child(node, &name));
        match child.map(|child| (child, self.kind(child))) {
            Some((child, Kind::Virtual)) => {
                self.enter(name, Some(child), Here::Virtual(child));
                Ok(None)
            }
            Some((child, Kind::Mount(mount))) => {
                let dir = self.mount_dir(mount)?;
                self.enter(name, Some(child), Here::Real(mount, dir));
                Ok(None)
            }
            Some((_, Kind::Memory(_))) if !self.rest.is_empty() || self.slash => Err(Errno::NOTDIR.into()),
            Some((_, Kind::Memory(index))) => Ok(Some(Spot::Memory(index))),
            Some((_, Kind::Name(index))) => self.granted(index, follow),
            Some((node, Kind::Failing(index))) => match self.guard.grants.failing[index] {
                // It is a file, and nothing grants it.
                Errno::NOTDIR if self.rest.is_empty() && !self.slash => self.missing(name),
                errno => Err(Lost::Failing { node, errno }),
            },
            Some((child, Kind::Inside)) => self.real(name, Some(child), follow),
            None if matches!(self.here, Here::Real(..)) => self.real(name, None, follow),
            None => self.missing(name),
        }
    }

    fn enter(&mut self, name: String, node: Option<NodeId>, here: Here) {
        self.names.push(name);
        self.nodes.push(node);
        self.here = here;
    }

    /// Returns a mount's directory, for the walk to hold.
    fn mount_dir(&self, mount: usize) -> Result<Arc<OwnedFd>, Lost> {
        let mount = &self.guard.grants.mounts[mount];
        if mount.share == Share::Tmp {
            self.guard.run_dir.mark_used();
        }
        Ok(Arc::new(rustix::io::fcntl_dupfd_cloexec(mount.dir.dir.as_fd(), 0)?))
    }

    /// Asks for the right to search the present directory, which a look-up in it needs, of `.` and `..` too.
    fn search(&self) -> Result<(), Lost> {
        if let Here::Real(_, dir) = &self.here {
            rustix::fs::statat(&**dir, c".", AtFlags::empty())?;
        }
        Ok(())
    }

    /// Goes to the directory around the present one. It is opened anew, by its path from its mount.
    fn up(&mut self) -> Result<(), Lost> {
        self.search()?;
        if self.names.pop().is_none() {
            return Ok(());
        }
        self.nodes.pop();
        if let Some(node) = self.node().filter(|node| self.kind(*node) == Kind::Virtual) {
            self.here = Here::Virtual(node);
            return Ok(());
        }
        let mounts = self.nodes.iter().enumerate().rev();
        let found = mounts.filter_map(|(at, node)| Some((at, self.kind((*node)?)))).find_map(|(at, kind)| match kind {
            Kind::Mount(mount) => Some((at, mount)),
            _ => None,
        });
        let (at, mount) = found.ok_or(Errno::NOENT)?;
        let below = self.names[at..].join("/");
        let dir = self.mount_dir(mount)?;
        let dir = if below.is_empty() { dir } else { Arc::new(open_dir(dir.as_fd(), &below)?) };
        self.here = Here::Real(mount, dir);
        Ok(())
    }

    /// Meets a granted name.
    fn granted(&mut self, index: usize, follow: Follow) -> Result<Option<Spot>, Lost> {
        let is_last = self.rest.is_empty();
        let (guard, slash) = (self.guard, self.slash);
        let granted = &guard.grants.names[index];
        if is_last && !follow.follows(slash) {
            return Ok(Some(Spot::Granted { index, slash }));
        }
        match stat_name(granted.parent.as_fd(), &granted.name) {
            Ok(stat) if is_link(&stat) => {
                if is_last {
                    may_follow(granted.parent.as_fd(), &stat)?;
                }
                self.follow(granted.parent.as_fd(), Path::new(&granted.name), is_last)?;
                Ok(None)
            }
            Ok(_) if !is_last => Err(Errno::NOTDIR.into()),
            Err(errno) if !is_last => Err(errno.into()),
            _ => Ok(Some(Spot::Granted { index, slash })),
        }
    }

    /// Meets a name in a directory of the host.
    fn real(&mut self, name: String, node: Option<NodeId>, follow: Follow) -> Result<Option<Spot>, Lost> {
        let Here::Real(mount, dir) = &self.here else { return Err(Errno::NOTDIR.into()) };
        let (mount, dir) = (*mount, Arc::clone(dir));
        let is_last = self.rest.is_empty();
        if is_last && !follow.follows(self.slash) {
            return Ok(Some(self.at_name(mount, dir, name)));
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match rustix::fs::openat(&*dir, &*to_host(&name), flags, Mode::empty()) {
            Err(Errno::NOENT) if is_last => return Ok(Some(self.at_name(mount, dir, name))),
            other => other?,
        };
        let stat = rustix::fs::fstat(&opened)?;
        if is_link(&stat) {
            if is_last {
                may_follow(dir.as_fd(), &stat)?;
            }
            self.follow(opened.as_fd(), Path::new(""), is_last)?;
            return Ok(None);
        }
        if is_last {
            return Ok(Some(self.at_name(mount, dir, name)));
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Err(Errno::NOTDIR.into());
        }
        self.enter(name, node, Here::Real(mount, Arc::new(opened)));
        Ok(None)
    }

    fn at_name(&self, mount: usize, dir: Arc<OwnedFd>, name: String) -> Spot {
        let folder = Folder { mount, dir, path: self.path(), last: Last::Grant };
        Spot::Name(Name { folder, node: self.node(), name, slash: self.slash })
    }

    /// Goes on with the target of a link.
    fn follow(&mut self, dir: BorrowedFd<'_>, name: &Path, is_last: bool) -> Result<(), Lost> {
        if self.links == MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        self.links += 1;
        let target = rustix::fs::readlinkat(dir, name, Vec::new())?;
        let target = to_guest(target.as_bytes());
        if target.starts_with('/') {
            self.names.clear();
            self.nodes.truncate(1);
            self.here = match self.kind(ROOT) {
                Kind::Mount(mount) => Here::Real(mount, self.mount_dir(mount)?),
                _ => Here::Virtual(ROOT),
            };
        }
        self.slash |= is_last && target.ends_with('/');
        self.add(&target);
        Ok(())
    }

    /// Meets a name that no grant leads to, in a directory that exists only for the guest.
    fn missing(&self, name: String) -> Result<Option<Spot>, Lost> {
        let dir = self.node().unwrap_or(ROOT);
        if self.rest.is_empty() {
            return Ok(Some(Spot::Beside { dir, name, slash: self.slash }));
        }
        let mut path = Path::new(&self.path()).join(name);
        path.extend(self.rest.iter().rev());
        Err(Lost::NotGranted { dir, path: path.to_string_lossy().into_owned() })
    }

    /// Returns the present directory, where a path ends that names no entry.
    fn end(self) -> Spot {
        let path = self.path();
        match self.here {
            Here::Virtual(node) => Spot::Virtual(node),
            Here::Real(mount, dir) => Spot::Folder(Folder { mount, dir, path, last: self.last }),
        }
    }
}

/// Opens a directory below another one, by a path that has no links.
fn open_dir(dir: BorrowedFd<'_>, below: &str) -> Result<OwnedFd, Refusal> {
    open_beneath(dir, below, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
