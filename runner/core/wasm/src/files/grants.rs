//! Opens the grants of a policy: builds the tree, and opens the granted directories and the parents of granted names.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use modbox_policy::{Access, PathGrant, Policy, Shape, SingleFiles};
use modbox_scratch::RunDir;
use modbox_vocabulary::InputFile;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use wasmtime_wasi::filesystem::{Dir, OpenMode};

use crate::error::WasmError;
use crate::files::encoding::{to_guest, to_host};
use crate::files::ledger::Share;
use crate::files::open::{OpenRequest, open_beneath, stat_name};
use crate::files::tree::{Kind, NodeId, ROOT, Tree, names};

/// The guest's directory of its arguments.
pub(crate) const ARGS: &str = "/args";

/// The guest's temporary directory.
pub(crate) const TMP: &str = "/tmp";

/// The guest's working directory: its private `/tmp` under another name, below which nothing is granted. C libraries take an
/// empty path for the working directory. In `/tmp` it would lead to every grant below `/tmp`.
pub(crate) const WORKING: &str = "/args/.cwd";

/// A granted directory.
pub(crate) struct Mount {
    pub(crate) node: NodeId,
    pub(crate) host: PathBuf,
    pub(crate) writable: bool,
    pub(crate) share: Share,
    /// Whether nodes lie below the mount, so that paths in it must be walked.
    pub(crate) nested: bool,
    pub(crate) dir: Dir,
    /// The directory's number in the resource table, once an operation has needed it there. The guest gets no handle
    /// to it.
    pub(crate) listed: Option<u32>,
    /// The granted name that this mount replaced, when the guest created a directory there.
    pub(crate) name: Option<usize>,
}

impl Mount {
    /// Creates a mount of an open directory. The caller adds it to the tree.
    pub(crate) fn new(dir: OwnedFd, host: PathBuf, writable: bool, share: Share) -> Self {
        let mode = if writable { OpenMode::READ | OpenMode::WRITE } else { OpenMode::READ };
        let dir = Dir::new(dir.into(), OpenRequest::perms(writable), mode, true);
        Self { node: ROOT, host, writable, share, nested: false, dir, listed: None, name: None }
    }
}

/// A granted name.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) node: NodeId,
    /// The directory that contains the name.
    pub(crate) parent: Arc<OwnedFd>,
    /// The path on the host.
    pub(crate) host: PathBuf,
    /// The last component of the host path.
    pub(crate) name: OsString,
    pub(crate) writable: bool,
    /// Whether only a link is granted there, for looking at it and following it.
    pub(crate) is_link: bool,
}

/// All grants of a run, opened.
pub(crate) struct Grants {
    pub(crate) tree: Tree,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) names: Vec<Name>,
    pub(crate) memory: Vec<Arc<[u8]>>,
    /// The errors at which the ways to named paths end.
    pub(crate) failing: Vec<Errno>,
    /// What stands in for the machine's files.
    pub(crate) stand_ins: SingleFiles,
    /// The preopened directories, in the order in which the guest gets them.
    pub(crate) preopens: Vec<NodeId>,
}

/// A grant that cannot be used.
#[derive(Debug)]
pub(crate) struct UnusableGrant {
    pub(crate) path: PathBuf,
    pub(crate) why: std::io::Error,
}

impl From<UnusableGrant> for WasmError {
    fn from(UnusableGrant { path, why }: UnusableGrant) -> Self {
        Self::Open { path, source: why.into() }
    }
}

impl Grants {
    /// Opens the paths that a policy grants, and the guest's `/tmp` in the run's directory.
    pub(crate) fn open(policy: &Policy, files: &[InputFile], run_dir: &RunDir) -> Result<Self, UnusableGrant> {
        let unusable = |error| UnusableGrant { path: "/".into(), why: std::io::Error::other(error) };
        modbox_kernel::check_path_resolution().map_err(unusable)?;
        let (tree, preopens) = (Tree::new(), Vec::new());
        let stand_ins = policy.single_files().clone();
        let mut grants = Self {
            tree,
            mounts: Vec::new(),
            names: Vec::new(),
            memory: Vec::new(),
            failing: Vec::new(),
            stand_ins,
            preopens,
        };
        let mut paths: Vec<&PathGrant> = policy.paths().iter().collect();
        // Outer paths come first, so that they exist when the inner ones are inserted.
        paths.sort_by_key(|grant| names(&grant.guest).count());
        let root = paths.iter().position(|grant| grant.guest == "/").map(|at| paths.remove(at));
        if let Some(grant) = root {
            grants.add(grant, policy)?;
        }
        grants.add_args(files)?;
        let tmp = open_tmp(run_dir)?;
        grants.place_mount(WORKING, Mount { dir: tmp.dir.clone(), host: tmp.host.clone(), ..tmp })?;
        if !policy.allows_everything() {
            grants.place_mount(TMP, tmp)?;
        }
        for grant in paths {
            grants.add(grant, policy)?;
        }
        for link in policy.waypoints().links() {
            grants.add_link(link);
        }
        // A grant of the place takes precedence, and in a granted directory the kernel answers.
        let is_free = |grants: &Self, path: &str| !grants.is_shown(path, Path::new(path), false);
        for passed in policy.waypoints().passed() {
            if is_free(&grants, passed) {
                let _ = grants.place(passed, Kind::Virtual);
            }
        }
        for failing in policy.waypoints().failing() {
            if !is_free(&grants, &failing.path) {
                continue;
            }
            let kind = Kind::Failing(grants.failing.len());
            if grants.place(&failing.path, kind).is_ok() {
                grants.failing.push(Errno::from_raw_os_error(failing.errno));
            }
        }
        grants.order();
        Ok(grants)
    }

    fn add_args(&mut self, files: &[InputFile]) -> Result<(), UnusableGrant> {
        // Exists only for the guest, even if the host's `/` is granted.
        let args = self.place(ARGS, Kind::Virtual)?;
        self.tree.change(args, Kind::Virtual);
        for file in files {
            self.place(&format!("{ARGS}/{}", file.name), Kind::Memory(self.memory.len()))?;
            self.memory.push(Arc::clone(&file.contents));
        }
        Ok(())
    }

    fn add(&mut self, grant: &PathGrant, policy: &Policy) -> Result<(), UnusableGrant> {
        let host = policy.single_files().place(&grant.host);
        match open_grant(grant.shape, host).map_err(|errno| UnusableGrant { path: host.into(), why: errno.into() })? {
            OpenedGrant::Directory(dir) => {
                let writable = grant.access == Access::Write;
                self.place_mount(&grant.guest, Mount::new(dir, host.to_owned(), writable, Share::All))
            }
            // The directory that shows it was named after it.
            OpenedGrant::Name(..) if self.is_shown(&grant.guest, host, grant.access == Access::Write) => Ok(()),
            OpenedGrant::Name(parent, name) => {
                let node = self.place(&grant.guest, Kind::Name(self.names.len()))?;
                let (parent, host) = (Arc::new(parent), host.to_owned());
                let writable = grant.access == Access::Write;
                self.names.push(Name { node, parent, host, name, writable, is_link: false });
                Ok(())
            }
        }
    }

    /// Shows a link. One that has gone since it was met is missing for the guest, too.
    fn add_link(&mut self, link: &str) {
        let host = Path::new(link);
        if self.is_shown(link, host, false) {
            return;
        }
        let (Some(parent), Some(name)) = (host.parent(), host.file_name()) else { return };
        let Ok(parent) = open_dir(parent) else { return };
        let Ok(node) = self.place(link, Kind::Name(self.names.len())) else { return };
        let (parent, host, name) = (Arc::new(parent), host.to_owned(), name.to_owned());
        self.names.push(Name { node, parent, host, name, writable: false, is_link: true });
    }

    /// Returns whether a granted directory shows a path of the host at this place, for writing if that is asked for.
    fn is_shown(&self, guest: &str, host: &Path, writes: bool) -> bool {
        let guest = to_guest(guest.as_bytes());
        let (node, rest) = self.tree.innermost(&guest);
        let Kind::Mount(mount) = self.tree.node(node).kind else { return false };
        let mount = &self.mounts[mount];
        mount.share == Share::All && (mount.writable || !writes) && mount.host.join(&*to_host(rest)) == host
    }

    fn place_mount(&mut self, guest: &str, mount: Mount) -> Result<(), UnusableGrant> {
        let node = self.place(guest, Kind::Mount(self.mounts.len()))?;
        self.mounts.push(Mount { node, ..mount });
        Ok(())
    }

    /// Adds a node. The tree has each path in the spelling that guests see.
    fn place(&mut self, guest: &str, kind: Kind) -> Result<NodeId, UnusableGrant> {
        let node = self.tree.insert(&to_guest(guest.as_bytes()), kind).ok_or_else(|| UnusableGrant {
            path: guest.into(),
            why: std::io::Error::other("another grant already has this path, or a parent path that is a file"),
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
                Kind::Virtual | Kind::Name(_) | Kind::Memory(_) | Kind::Failing(_) => {}
            }
        }
        Ok(node)
    }

    /// Marks directories on the way to a nested grant as existing only for the guest if the outer mount lacks them.
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

    /// Orders the preopened directories: the guest's own ones, the granted ones, and a root for the rest. The working
    /// directory is reached by its path.
    fn order(&mut self) {
        let own = [ARGS, TMP].iter().filter_map(|path| self.tree.find(path));
        let own: Vec<NodeId> = own.filter(|id| self.tree.node(*id).kind != Kind::Inside).collect();
        let granted = self
            .mounts
            .iter()
            .map(|mount| mount.node)
            .filter(|node| *node != ROOT && !own.contains(node) && &*self.tree.node(*node).path != WORKING);
        let granted: Vec<NodeId> = granted.collect();
        self.preopens = own.into_iter().chain(granted).chain([ROOT]).collect();
    }
}

enum OpenedGrant {
    Directory(OwnedFd),
    Name(OwnedFd, OsString),
}

fn open_grant(shape: Shape, host: &Path) -> Result<OpenedGrant, Errno> {
    if shape == Shape::Directory {
        return open_dir(host).map(OpenedGrant::Directory);
    }
    let (Some(parent), Some(name)) = (host.parent(), host.file_name()) else { return Err(Errno::INVAL) };
    let parent = open_dir(parent)?;
    let is_dir = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if stat_name(parent.as_fd(), name).is_ok_and(is_dir) {
        // An earlier run was granted this name and created a directory there.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        return rustix::fs::openat(&parent, name, flags, Mode::empty()).map(OpenedGrant::Directory);
    }
    Ok(OpenedGrant::Name(parent, name.to_owned()))
}

/// Opens a granted directory. Its path had no links when it was granted, so a link on it now is newer and is refused.
fn open_dir(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Creates and opens the directory that the guest sees as `/tmp`.
fn open_tmp(run_dir: &RunDir) -> Result<Mount, UnusableGrant> {
    let unusable = |why| UnusableGrant { path: TMP.into(), why };
    let host = run_dir.tmp().map_err(|error| unusable(std::io::Error::other(error)))?;
    let dir = run_dir.open_tmp().map_err(|error| unusable(std::io::Error::other(error)))?;
    Ok(Mount::new(dir, host, true, Share::Tmp))
}
