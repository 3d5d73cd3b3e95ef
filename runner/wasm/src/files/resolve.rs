//! Maps a descriptor and a path to the target of an operation, and records the denials on the way.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use modbox_policy::{Access, normalize};
use modbox_vocabulary::Operation;
use rustix::fs::{Mode, OFlags, Stat};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::files::grants::ARGS;
use crate::files::guard::{FileGuard, GuardView};
use crate::files::ledger::{QuotaExceeded, Share, flag};
use crate::files::open::{Refusal, open_beneath, stat_name};
use crate::files::records::Record;
use crate::files::temporaries::Temporary;
use crate::files::tree::{EntryName, Kind, NodeId, Place, join};

/// Longest path taken; no kernel takes a longer one.
const MAX_PATH: usize = 4096;

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
    /// A path in a mount.
    Real(MountPath),
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

/// A path below a directory of a mount.
#[derive(Debug)]
pub(super) struct MountPath {
    /// The directory's number in the resource table.
    pub(super) dir: u32,
    pub(super) mount: usize,
    /// The directory's path as the guest sees it.
    pub(super) base: Arc<str>,
    pub(super) path: String,
}

/// A missing name in a directory of the tree.
#[derive(Debug)]
pub(super) struct MissingName {
    pub(super) dir: NodeId,
    pub(super) name: String,
}

impl From<QuotaExceeded> for FsError {
    fn from(_: QuotaExceeded) -> Self {
        ErrorCode::InsufficientSpace.into()
    }
}

/// Checks a path as the kernel does before it looks at the path's names.
pub(super) fn check_path(path: &str) -> FsResult<()> {
    if path.is_empty() {
        return Err(ErrorCode::NoEntry.into());
    }
    if path.len() > MAX_PATH {
        return Err(ErrorCode::NameTooLong.into());
    }
    if path.contains('\0') {
        return Err(ErrorCode::Invalid.into());
    }
    Ok(())
}

impl GuardView<'_> {
    /// Resolves a path to its target. A path without a target is an error; it is recorded as a denial if a grant would
    /// help.
    pub(super) fn target(&mut self, fd: &Resource<Descriptor>, path: String, act: Act) -> FsResult<Target> {
        check_path(&path)?;
        let guard = &*self.guard;
        let (place, base, mount, dir) = match guard.records.get(fd)? {
            Record::Memory(_) | Record::File { .. } => return Err(ErrorCode::NotDirectory.into()),
            _ if path.starts_with('/') => return Err(self.outside(&path, act)),
            Record::Virtual(node) => (guard.grants.tree.walk(*node, &path), guard.path_of(*node), None, None),
            Record::Root(mount) => {
                let base = guard.path_of(guard.grants.mounts[*mount].node);
                (guard.place_inside(*mount, &base, &path), base, Some(*mount), None)
            }
            Record::Dir { mount, path: base } => {
                (guard.place_inside(*mount, base, &path), Arc::clone(base), Some(*mount), Some(fd.rep()))
            }
        };
        match place {
            Place::Node { id, dir } => self.node_target(id, dir),
            Place::Outside => Err(self.outside(&join(&base, &path), act)),
            Place::Below { parent } => Err(self.below(parent, &join(&base, &path), act)),
            Place::Beside { near, .. } => Ok(self.beside(near)),
            Place::Same { near } => {
                let Some(mount) = mount else { return Err(ErrorCode::NotDirectory.into()) };
                let near = near.map(|near| self.beside(near));
                let dir = match dir {
                    Some(dir) => dir,
                    None => self.mount_dir(mount)?,
                };
                self.near_or_real(near, MountPath { dir, mount, base, path }, act)
            }
            Place::Inside { mount: node, rest, near } => {
                let Kind::Mount(mount) = self.guard.grants.tree.node(node).kind else {
                    return Err(ErrorCode::NotDirectory.into());
                };
                let near = near.map(|near| self.beside(near));
                let (dir, base) = (self.mount_dir(mount)?, self.guard.path_of(node));
                self.near_or_real(near, MountPath { dir, mount, base, path: rest.to_owned() }, act)
            }
        }
    }

    fn node_target(&mut self, id: NodeId, dir: bool) -> FsResult<Target> {
        Ok(match self.guard.grants.tree.node(id).kind {
            Kind::Virtual | Kind::Inside => Target::Virtual(id),
            Kind::Memory(_) if dir => return Err(ErrorCode::NotDirectory.into()),
            Kind::Memory(index) => Target::Memory(index),
            Kind::Name(index) => Target::Name { index, dir },
            Kind::Mount(mount) => {
                let (dir, base) = (self.mount_dir(mount)?, self.guard.path_of(id));
                Target::Real(MountPath { dir, mount, base, path: ".".to_owned() })
            }
        })
    }

    fn beside(&self, near: EntryName<'_>) -> Target {
        match self.guard.temporaries.find(near.dir, near.name) {
            Some(file) => Target::Temporary(file),
            None => Target::Beside(MissingName { dir: near.dir, name: near.name.to_owned() }),
        }
    }

    /// Resolves a name in a mount that lies beside a granted name. The result is a temporary if one has the name. It
    /// is a place for a new temporary when the mount is read-only and has no file of that name. Else it is the path in
    /// the mount.
    fn near_or_real(&self, near: Option<Target>, real: MountPath, act: Act) -> FsResult<Target> {
        match near {
            Some(Target::Temporary(file)) => Ok(Target::Temporary(file)),
            Some(Target::Beside(beside))
                if act.access == Access::Write
                    && !self.guard.grants.mounts[real.mount].writable
                    && self.guard.writable_name(beside.dir, &beside.name).is_some() =>
            {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let dir = self.host_dir(real.dir)?;
                let there = open_beneath(dir, &real.path, flags, Mode::empty());
                let absent = matches!(there, Err(Refusal::Code(ErrorCode::NoEntry)));
                Ok(if absent { Target::Beside(beside) } else { Target::Real(real) })
            }
            _ => Ok(Target::Real(real)),
        }
    }

    /// Returns the number of a mount's directory. The first use puts it into the resource table. Every operation in a
    /// mount begins here.
    pub(super) fn mount_dir(&mut self, index: usize) -> FsResult<u32> {
        let mount = &mut self.guard.grants.mounts[index];
        if let Some(rep) = mount.listed {
            return Ok(rep);
        }
        if mount.share == Share::Tmp {
            self.guard.run_dir.mark_used();
        }
        let rep = self.table.push(Descriptor::Dir(mount.dir.clone()))?.rep();
        mount.listed = Some(rep);
        Ok(rep)
    }

    /// Returns a host directory by its number in the resource table.
    pub(super) fn host_dir(&self, rep: u32) -> FsResult<BorrowedFd<'_>> {
        match self.table.get(&Resource::<Descriptor>::new_borrow(rep))? {
            Descriptor::Dir(dir) => Ok(dir.dir.as_fd()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// Calls `fstat` on the host file behind a descriptor in the table.
    pub(super) fn host_stat(&self, fd: &Resource<Descriptor>) -> FsResult<Stat> {
        let file = match self.table.get(fd)? {
            Descriptor::Dir(dir) => &dir.dir,
            Descriptor::File(file) => &file.file,
        };
        Ok(rustix::fs::fstat(file).map_err(std::io::Error::from)?)
    }

    fn below(&self, parent: NodeId, guest: &str, act: Act) -> FsError {
        match self.guard.grants.tree.node(parent).kind {
            Kind::Memory(_) => ErrorCode::NotDirectory.into(),
            Kind::Name(index) => {
                let name = &self.guard.grants.names[index];
                let there = stat_name(name.parent.as_fd(), &name.name).is_ok();
                if there { ErrorCode::NotDirectory.into() } else { ErrorCode::NoEntry.into() }
            }
            _ => self.guard.absent(parent, guest, act),
        }
    }

    /// Records a path that leads above the directory where it starts, and returns the error.
    fn outside(&self, guest: &str, act: Act) -> FsError {
        let guest = join(guest, "");
        if !self.guard.covers(&guest, act.access) {
            self.guard.deny(act, &guest);
        }
        ErrorCode::NotPermitted.into()
    }

    /// Passes on the error of an operation in a mount, and records it if it is a denial.
    pub(super) fn refused(&self, real: &MountPath, act: Act, error: FsError) -> FsError {
        if matches!(error.downcast_ref(), Some(ErrorCode::NotPermitted)) {
            self.guard.deny_real(real, act);
        }
        error
    }
}

impl FileGuard {
    pub(super) fn path_of(&self, node: NodeId) -> Arc<str> {
        Arc::clone(&self.grants.tree.node(node).path)
    }

    fn place_inside<'p>(&self, mount: usize, base: &str, path: &'p str) -> Place<'p> {
        let mount = &self.grants.mounts[mount];
        if !mount.nested {
            return Place::Same { near: None };
        }
        let at = &self.grants.tree.node(mount.node).path;
        self.grants.tree.walk_inside(mount.node, base.strip_prefix(&**at).unwrap_or(base), path)
    }

    /// Returns the writable granted name in a directory that a temporary of this name most likely replaces.
    pub(super) fn writable_name(&self, dir: NodeId, temporary: &str) -> Option<usize> {
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

    /// Records a denial of a path; the record names it as the guest did.
    pub(super) fn deny(&self, act: Act, guest: &str) {
        self.ledger.deny(act.access, guest, act.name, || flag(act.access, &self.host_of(guest), guest));
    }

    /// Records a denial in a mount: a change to a read-only mount, or a path that leads out of the mount.
    pub(super) fn deny_real(&self, real: &MountPath, act: Act) {
        let mount = &self.grants.mounts[real.mount];
        let guest = join(&real.base, &real.path);
        if act.access == Access::Write && !mount.writable {
            return self.deny(act, &guest);
        }
        let at = &self.grants.tree.node(mount.node).path;
        let below = Path::new(&guest).strip_prefix(&**at);
        let Ok(below) = below else {
            if !self.covers(&guest, act.access) {
                self.deny(act, &guest);
            }
            return;
        };
        // The mount's grant does not cover the target of a link on the path.
        let access = if mount.writable { Access::Write } else { act.access };
        let leads_to = |host: &Path| host.canonicalize().ok().or_else(|| by_link(host));
        let target = if mount.share == Share::Tmp { None } else { leads_to(&mount.host.join(below)) };
        if target.as_ref().is_some_and(|target| target.starts_with(&mount.host)) {
            return;
        }
        let host = target.unwrap_or_else(|| guest.clone().into());
        self.ledger.deny(act.access, &guest, act.name, || flag(access, &host, &guest));
    }

    /// Records that a FIFO, socket or device was refused. No flag allows one.
    pub(super) fn deny_special(&self, guest: &str, act: Act) {
        self.ledger.deny(act.access, guest, act.name, String::new);
    }

    /// Returns the error for a path that no grant covers: "no entry" for reading, "not permitted" for a change.
    /// Records it.
    pub(super) fn absent(&self, dir: NodeId, guest: &str, act: Act) -> FsError {
        if &*self.grants.tree.node(dir).path != ARGS {
            self.deny(act, guest);
        }
        match act.access {
            Access::Read => ErrorCode::NoEntry.into(),
            Access::Write => ErrorCode::NotPermitted.into(),
        }
    }

    /// Like [`FileGuard::absent`], for a name in a directory of the tree.
    pub(super) fn absent_beside(&self, beside: &MissingName, act: Act) -> FsError {
        self.absent(beside.dir, &join(&self.path_of(beside.dir), &beside.name), act)
    }

    /// Returns the error for changing a missing name. Where a temporary may be created, the name is only missing and
    /// no denial is recorded.
    pub(super) fn gone_beside(&self, beside: &MissingName, act: Act) -> FsError {
        match self.writable_name(beside.dir, &beside.name) {
            Some(_) => ErrorCode::NoEntry.into(),
            None => self.absent_beside(beside, act),
        }
    }

    /// Returns whether a grant covers a path of the guest.
    fn covers(&self, guest: &str, access: Access) -> bool {
        let (node, rest) = self.grants.tree.innermost(guest);
        match self.grants.tree.node(node).kind {
            Kind::Mount(mount) => access == Access::Read || self.grants.mounts[mount].writable,
            Kind::Name(name) => rest.is_empty() && (access == Access::Read || self.grants.names[name].writable),
            Kind::Memory(_) | Kind::Virtual | Kind::Inside => rest.is_empty() && access == Access::Read,
        }
    }

    /// Returns whether an operator's grant, of a directory or a name, covers a path of the guest. The guest's own
    /// directories do not count.
    pub(super) fn is_granted(&self, guest: &str) -> bool {
        let (node, rest) = self.grants.tree.innermost(guest);
        match self.grants.tree.node(node).kind {
            Kind::Mount(mount) => self.grants.mounts[mount].share == Share::All,
            Kind::Name(_) => rest.is_empty(),
            Kind::Memory(_) | Kind::Virtual | Kind::Inside => false,
        }
    }

    /// Returns the machine's path for a path of the guest.
    pub(super) fn host_of(&self, guest: &str) -> PathBuf {
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

/// Returns the target of a dangling link, made absolute.
fn by_link(path: &Path) -> Option<PathBuf> {
    let target = path.read_link().ok()?;
    Some(normalize(&path.parent()?.join(target)))
}
