//! From a policy to what a guard holds: the tree, the granted directories, opened, and the granted names.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_scratch::RunDir;
use modbox_vocabulary::InputFile;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use wasmtime_wasi::filesystem::{Dir, OpenMode};

use crate::files::ledger::Share;
use crate::files::open::{Asked, open_beneath, stat_name};
use crate::files::tree::{Kind, NodeId, ROOT, Tree, names};

/// Where a guest finds its arguments.
pub(super) const ARGS: &str = "/args";

/// Where a guest has a directory of its own.
pub(super) const TMP: &str = "/tmp";

/// A granted directory.
pub(super) struct Mount {
    pub(super) node: NodeId,
    pub(super) host: PathBuf,
    pub(super) writable: bool,
    pub(super) share: Share,
    /// Whether nodes lie below it, so that paths in it must be walked.
    pub(super) nested: bool,
    pub(super) dir: Dir,
    /// The directory's number in the table of the run's resources, once an operation needed it there. No handle of the
    /// guest's leads to it.
    pub(super) listed: Option<u32>,
    /// The granted name in whose place the guest has made it.
    pub(super) name: Option<usize>,
}

impl Mount {
    /// Makes a mount of an open directory that is not in the tree yet.
    pub(super) fn new(dir: OwnedFd, host: PathBuf, writable: bool, share: Share) -> Self {
        let mode = if writable { OpenMode::READ | OpenMode::WRITE } else { OpenMode::READ };
        let dir = Dir::new(dir.into(), Asked::perms(writable), mode, true);
        Self { node: ROOT, host, writable, share, nested: false, dir, listed: None, name: None }
    }
}

/// A granted name.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) node: NodeId,
    /// The directory that it lies in.
    pub(super) parent: Arc<OwnedFd>,
    /// Its path on the host.
    pub(super) host: PathBuf,
    /// Its name there.
    pub(super) name: OsString,
    pub(super) writable: bool,
}

/// Everything that a guest may reach.
pub(super) struct Grants {
    pub(super) tree: Tree,
    pub(super) mounts: Vec<Mount>,
    pub(super) names: Vec<Name>,
    pub(super) memory: Vec<Arc<[u8]>>,
    /// In the order in which a guest gets them.
    pub(super) preopens: Vec<NodeId>,
}

/// A grant that cannot be used.
#[derive(Debug)]
pub(super) struct Unusable {
    pub(super) path: PathBuf,
    pub(super) why: std::io::Error,
}

impl Grants {
    /// Opens what a policy grants, and the guest's own `/tmp` in the directory of the run.
    pub(super) fn open(policy: &Policy, files: &[InputFile], run_dir: &RunDir) -> Result<Self, Unusable> {
        let (tree, preopens) = (Tree::new(), Vec::new());
        let mut grants = Self { tree, mounts: Vec::new(), names: Vec::new(), memory: Vec::new(), preopens };
        let mut paths: Vec<&PathGrant> = policy.paths().iter().collect();
        // Outer ones first, so that the inner ones find them.
        paths.sort_by_key(|grant| names(&grant.guest).count());
        let root = paths.iter().position(|grant| grant.guest == "/").map(|at| paths.remove(at));
        if let Some(grant) = root {
            grants.add(grant)?;
        }
        grants.add_args(files)?;
        if !policy.allows_everything() {
            grants.place_mount(TMP, own_tmp(run_dir)?)?;
        }
        for grant in paths {
            grants.add(grant)?;
        }
        grants.order();
        Ok(grants)
    }

    fn add_args(&mut self, files: &[InputFile]) -> Result<(), Unusable> {
        // A directory of the guest's own, also where the host's `/` is granted.
        let args = self.place(ARGS, Kind::Virtual)?;
        self.tree.change(args, Kind::Virtual);
        for file in files {
            self.place(&format!("{ARGS}/{}", file.name), Kind::Memory(self.memory.len()))?;
            self.memory.push(Arc::clone(&file.contents));
        }
        Ok(())
    }

    fn add(&mut self, grant: &PathGrant) -> Result<(), Unusable> {
        match open_grant(grant).map_err(|errno| Unusable { path: grant.host.clone(), why: errno.into() })? {
            Found::Directory(dir) => {
                let writable = grant.access == Access::Write;
                self.place_mount(&grant.guest, Mount::new(dir, grant.host.clone(), writable, Share::All))
            }
            Found::Name(parent, name) => {
                let node = self.place(&grant.guest, Kind::Name(self.names.len()))?;
                let (parent, host) = (Arc::new(parent), grant.host.clone());
                self.names.push(Name { node, parent, host, name, writable: grant.access == Access::Write });
                Ok(())
            }
        }
    }

    fn place_mount(&mut self, guest: &str, mount: Mount) -> Result<(), Unusable> {
        let node = self.place(guest, Kind::Mount(self.mounts.len()))?;
        self.mounts.push(Mount { node, ..mount });
        Ok(())
    }

    fn place(&mut self, guest: &str, kind: Kind) -> Result<NodeId, Unusable> {
        let node = self.tree.insert(guest, kind).ok_or_else(|| Unusable {
            path: guest.into(),
            why: std::io::Error::other("another grant has this place, or a file around it"),
        })?;
        let (mut at, mut inside) = (node, Vec::new());
        while at != ROOT {
            at = self.tree.node(at).parent;
            match self.tree.node(at).kind {
                Kind::Mount(outer) => {
                    self.mounts[outer].nested = true;
                    self.fill_gaps(outer, &std::mem::take(&mut inside));
                }
                Kind::Inside => inside.push(at),
                Kind::Virtual | Kind::Name(_) | Kind::Memory(_) => {}
            }
        }
        Ok(node)
    }

    /// Directories on the way to a nested grant that the mount around it does not have are there for the guest alone.
    fn fill_gaps(&mut self, outer: usize, inside: &[NodeId]) {
        let mount = &self.mounts[outer];
        let base = self.tree.node(mount.node).path.len();
        let missing = |node: &&NodeId| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let below = self.tree.node(**node).path[base..].trim_start_matches('/');
            open_beneath(mount.dir.dir.as_fd(), below, flags, Mode::empty()).is_err()
        };
        let missing: Vec<NodeId> = inside.iter().filter(missing).copied().collect();
        for node in missing {
            self.tree.change(node, Kind::Virtual);
        }
    }

    /// What a guest is given: its own directories, the granted ones, and a root for the rest.
    fn order(&mut self) {
        let own = [ARGS, TMP].iter().filter_map(|path| self.tree.find(path));
        let own: Vec<NodeId> = own.filter(|id| self.tree.node(*id).kind != Kind::Inside).collect();
        let granted = self.mounts.iter().map(|mount| mount.node).filter(|node| *node != ROOT && !own.contains(node));
        let granted: Vec<NodeId> = granted.collect();
        self.preopens = own.into_iter().chain(granted).chain([ROOT]).collect();
    }
}

enum Found {
    Directory(OwnedFd),
    Name(OwnedFd, OsString),
}

fn open_grant(grant: &PathGrant) -> Result<Found, Errno> {
    if grant.shape == Shape::Directory {
        return open_dir(&grant.host).map(Found::Directory);
    }
    let (Some(parent), Some(name)) = (grant.host.parent(), grant.host.file_name()) else { return Err(Errno::INVAL) };
    let parent = open_dir(parent)?;
    let is_dir = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if stat_name(parent.as_fd(), name).is_ok_and(is_dir) {
        // An earlier run was granted the name and made a directory of it.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        return rustix::fs::openat(&parent, name, flags, Mode::empty()).map(Found::Directory);
    }
    Ok(Found::Name(parent, name.to_owned()))
}

/// Opens a directory whose path was cleared of links when it was granted: a link on it now was put there since.
fn open_dir(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty()),
        other => other,
    }
}

/// Makes and opens the directory that a guest sees as `/tmp`.
fn own_tmp(run_dir: &RunDir) -> Result<Mount, Unusable> {
    let unusable = |why| Unusable { path: TMP.into(), why };
    let host = run_dir.tmp().map_err(|error| unusable(std::io::Error::other(error)))?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = rustix::fs::open(&host, flags, Mode::empty()).map_err(|errno| unusable(errno.into()))?;
    Ok(Mount::new(dir, host, true, Share::Tmp))
}
