//! Maps a descriptor and a path to the target of an operation.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use modbox_policy::Access;
use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::files::encoding::{canonical, to_host};
use crate::files::errno::failed;
use crate::files::follow::Follow;
use crate::files::guard::GuardView;
use crate::files::ledger::{QuotaExceeded, Share};
use crate::files::open::{TRIES, open_beneath, stat_name};
use crate::files::records::Record;
use crate::files::tree::{Descent, EntryName, Kind, NodeId, join};
use crate::files::ways::target::{Act, Entry, EntryDir, Located, MissingName, MountPath, Target};
use crate::files::ways::walk::{self, Folder, Lost, MAX_NAME, Spot, Start, walk};

/// Longest path taken; no kernel takes a longer one.
const MAX_PATH: usize = 4096;

impl From<QuotaExceeded> for FsError {
    fn from(_: QuotaExceeded) -> Self {
        ErrorCode::InsufficientSpace.into()
    }
}

/// Checks a path as the kernel does before it looks at the path's names, and returns its one spelling.
pub(crate) fn check_path(path: String) -> FsResult<String> {
    if path.is_empty() {
        return Err(ErrorCode::NoEntry.into());
    }
    let path = canonical(path);
    if to_host(&path).len() >= MAX_PATH {
        return Err(ErrorCode::NameTooLong.into());
    }
    if path.contains('\0') {
        return Err(ErrorCode::Invalid.into());
    }
    Ok(path)
}

impl GuardView<'_> {
    /// Finds the place of a path by its letters. `path` is one that was checked.
    pub(crate) fn locate(&mut self, fd: &Resource<Descriptor>, path: &str, act: Act) -> FsResult<Located> {
        let guard = &*self.guard;
        let (start, mount, dir, base) = match guard.records.get(fd)? {
            Record::Memory(_) | Record::File { .. } => return Err(ErrorCode::NotDirectory.into()),
            _ if path.starts_with('/') => return Err(self.outside(path, act)),
            Record::Virtual(node) => (Some(*node), None, None, guard.path_of(*node)),
            Record::Root(mount) => {
                let node = guard.grants.mounts[*mount].node;
                (Some(node), Some(*mount), None, guard.path_of(node))
            }
            Record::Dir { mount, path } => {
                let nested = guard.grants.mounts[*mount].nested;
                let start = nested.then(|| guard.grants.tree.find(path)).flatten();
                (start, Some(*mount), Some(fd.rep()), Arc::clone(path))
            }
        };
        let Some(start) = start.filter(|_| mount.is_none_or(|mount| guard.grants.mounts[mount].nested)) else {
            let Some(mount) = mount else { return Err(ErrorCode::NotDirectory.into()) };
            return self.in_mount(mount, dir, base, (path, None), act);
        };
        match guard.grants.tree.descend(start, path) {
            Descent::Walk => Ok(Located::Walk),
            Descent::Node(id) => match guard.grants.tree.node(id).kind {
                Kind::Virtual => Ok(Located::At(Target::Virtual(id))),
                Kind::Memory(index) => Ok(Located::At(Target::Memory(index))),
                Kind::Name(index) => Ok(Located::At(Target::Name { index, dir: false })),
                Kind::Failing(_) | Kind::Inside | Kind::Mount(_) => Ok(Located::Walk),
            },
            Descent::Beside { name, .. } if to_host(name).len() > MAX_NAME => Err(ErrorCode::NameTooLong.into()),
            Descent::Beside { dir, name } => {
                let near = EntryName { dir, name };
                Ok(Located::At(self.beside(near, false)))
            }
            Descent::Start { node } => {
                let Some(mount) = mount else { return Err(ErrorCode::NotDirectory.into()) };
                self.in_mount(mount, dir, base, (path, node), act)
            }
            Descent::Mount { id, rest, node } => {
                let Kind::Mount(mount) = self.guard.grants.tree.node(id).kind else { return Ok(Located::Walk) };
                self.in_mount(mount, None, self.guard.path_of(id), (rest, node), act)
            }
        }
    }

    fn in_mount(
        &mut self,
        mount: usize,
        dir: Option<u32>,
        base: Arc<str>,
        (path, node): (&str, Option<NodeId>),
        act: Act,
    ) -> FsResult<Located> {
        let dir = match dir {
            Some(dir) => dir,
            None => self.mount_dir(mount)?,
        };
        let path = if path.is_empty() { "." } else { path };
        let real = MountPath { dir, mount, base, path: path.to_owned(), node };
        let name = path.rsplit('/').next().unwrap_or_default();
        // Beside a granted name, the name can be that of a temporary.
        if node.is_none_or(|node| self.guard.writable_name(node, name).is_none()) {
            return Ok(Located::Mount(real));
        }
        Ok(match self.entry(real)? {
            Some(entry) => Located::At(self.near_or_real(entry, act)?),
            None => Located::Walk,
        })
    }

    /// Works on the target of a path. A path without a target is an error; it is recorded as a denial if a grant would
    /// help. `work` returns `None` for a link that has to be followed; then the path is walked again.
    pub(crate) fn on_path<T>(
        &mut self,
        fd: &Resource<Descriptor>,
        path: String,
        (act, follow): (Act, Follow),
        work: impl FnMut(&mut Self, Target) -> FsResult<Option<T>>,
    ) -> FsResult<T> {
        let path = check_path(path)?;
        let located = match self.locate(fd, &path, act)? {
            Located::Mount(real) => match self.entry(real)? {
                Some(entry) => Located::At(self.near_or_real(entry, act)?),
                None => Located::Walk,
            },
            located => located,
        };
        self.on_target(fd, &path, (act, follow), located, work)
    }

    /// Works on the target of a path that was located. `path` is one that was checked.
    pub(crate) fn on_target<T>(
        &mut self,
        fd: &Resource<Descriptor>,
        path: &str,
        (act, follow): (Act, Follow),
        located: Located,
        mut work: impl FnMut(&mut Self, Target) -> FsResult<Option<T>>,
    ) -> FsResult<T> {
        if let Located::At(target) = located
            && let Some(done) = work(self, target)?
        {
            return Ok(done);
        }
        for _ in 0..TRIES {
            let target = self.walk(fd, path, act, follow)?;
            if let Some(done) = work(self, target)? {
                return Ok(done);
            }
        }
        Err(ErrorCode::Loop.into())
    }

    /// Resolves a path to an entry that is made, removed or moved, or to what is in its place.
    pub(crate) fn target(&mut self, fd: &Resource<Descriptor>, path: String, act: Act) -> FsResult<Target> {
        self.on_path(fd, path, (act, Follow::Entry), |_, target| Ok(Some(target)))
    }

    /// Splits a path in a mount into its directory, which is opened, and its last name. `None` if the path has to be
    /// walked.
    fn entry(&self, real: MountPath) -> FsResult<Option<(Entry, Option<NodeId>)>> {
        let MountPath { dir, mount, base, path, node } = real;
        let trimmed = path.trim_end_matches('/');
        let (above, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        if matches!(name, "" | "." | "..") {
            return Ok(None);
        }
        let (dir, folder) = if above.is_empty() {
            (EntryDir::Table(dir), base)
        } else {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            match open_beneath(self.host_dir(dir)?, above, flags, Mode::empty()) {
                Ok(opened) => (EntryDir::Own(Arc::new(opened)), join(&base, above).into()),
                Err(refusal) if refusal.needs_walk() => return Ok(None),
                Err(refusal) => return Err(refusal.into()),
            }
        };
        let (name, slash) = (name.to_owned(), path.len() > trimmed.len());
        Ok(Some((Entry { mount, dir, folder, name, slash, is_kept: false }, node)))
    }

    /// Walks a path name by name.
    pub(crate) fn walk(&mut self, fd: &Resource<Descriptor>, path: &str, act: Act, follow: Follow) -> FsResult<Target> {
        let (base, mount) = match self.guard.records.get(fd)? {
            Record::Memory(_) | Record::File { .. } => return Err(ErrorCode::NotDirectory.into()),
            Record::Virtual(node) => (self.guard.path_of(*node), None),
            Record::Root(mount) => (self.guard.path_of(self.guard.grants.mounts[*mount].node), Some(*mount)),
            Record::Dir { mount, path } => (Arc::clone(path), Some(*mount)),
        };
        let dir = match (self.guard.records.get(fd)?, mount) {
            (Record::Dir { .. }, _) => Some(fd.rep()),
            (_, Some(mount)) => Some(self.mount_dir(mount)?),
            (_, None) => None,
        };
        let dir = match (mount, dir) {
            (Some(mount), Some(dir)) => Some((mount, self.host_dir(dir)?)),
            _ => None,
        };
        let spot = walk(self.guard, &Start { path: base, dir }, path, follow);
        match spot {
            Ok(Spot::Name(name)) => {
                let walk::Name { folder, node, name, slash } = name;
                let tree = &self.guard.grants.tree;
                let is_kept = node.and_then(|node| tree.child(node, &name)).is_some();
                let Folder { mount, dir, path, .. } = folder;
                let dir = EntryDir::Own(dir);
                self.near_or_real((Entry { mount, dir, folder: path.into(), name, slash, is_kept }, node), act)
            }
            Ok(Spot::Folder(folder)) => Ok(Target::Folder(folder)),
            Ok(Spot::Virtual(node)) => Ok(Target::Virtual(node)),
            Ok(Spot::Memory(index)) => Ok(Target::Memory(index)),
            Ok(Spot::Granted { index, slash }) => Ok(Target::Name { index, dir: slash }),
            Ok(Spot::Beside { dir, name, slash }) => Ok(self.beside(EntryName { dir, name: &name }, slash)),
            Err(Lost::Errno(errno)) => Err(failed(errno)),
            // Here the guest could only make what is missing, and nothing grants that.
            Err(Lost::Failing { node, errno: Errno::NOENT }) if act.access == Access::Write => {
                Err(self.deny_node(node, act))
            }
            Err(Lost::Failing { errno, .. }) => Err(failed(errno)),
            Err(Lost::NotGranted { dir, path }) => Err(self.guard.absent(dir, &path, act)),
        }
    }

    fn beside(&self, near: EntryName<'_>, slash: bool) -> Target {
        match self.guard.temporaries.find(near.dir, near.name) {
            Some(file) => Target::Temporary(file),
            None => Target::Beside(MissingName { dir: near.dir, name: near.name.to_owned(), slash }),
        }
    }

    /// Resolves a name in a mount that may lie beside a granted name. The result is a temporary if one has the name. It
    /// is a place for a new temporary when the mount is read-only and has no file of that name. Else it is the name in
    /// the mount.
    fn near_or_real(&self, (entry, node): (Entry, Option<NodeId>), act: Act) -> FsResult<Target> {
        let Some(dir) = node else { return Ok(Target::Entry(entry)) };
        match self.beside(EntryName { dir, name: &entry.name }, entry.slash) {
            Target::Beside(beside)
                if act.access == Access::Write
                    && !self.guard.grants.mounts[entry.mount].writable
                    && self.guard.writable_name(beside.dir, &beside.name).is_some() =>
            {
                let there = stat_name(self.entry_dir(&entry)?, &to_host(&entry.name));
                let absent = matches!(there, Err(Errno::NOENT));
                Ok(if absent { Target::Beside(beside) } else { Target::Entry(entry) })
            }
            Target::Beside(_) => Ok(Target::Entry(entry)),
            temporary => Ok(temporary),
        }
    }

    /// Returns the open directory of an entry.
    pub(crate) fn entry_dir<'s>(&'s self, entry: &'s Entry) -> FsResult<BorrowedFd<'s>> {
        match &entry.dir {
            EntryDir::Table(rep) => self.host_dir(*rep),
            EntryDir::Own(dir) => Ok(dir.as_fd()),
        }
    }

    /// Returns the number of a mount's directory. The first use puts it into the resource table. Every operation in a
    /// mount begins here.
    pub(crate) fn mount_dir(&mut self, index: usize) -> FsResult<u32> {
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
    pub(crate) fn host_dir(&self, rep: u32) -> FsResult<BorrowedFd<'_>> {
        match self.table.get(&Resource::<Descriptor>::new_borrow(rep))? {
            Descriptor::Dir(dir) => Ok(dir.dir.as_fd()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// Calls `fstat` on the host file behind a descriptor in the table.
    pub(crate) fn host_stat(&self, fd: &Resource<Descriptor>) -> FsResult<Stat> {
        let file = match self.table.get(fd)? {
            Descriptor::Dir(dir) => &dir.dir,
            Descriptor::File(file) => &file.file,
        };
        Ok(rustix::fs::fstat(file).map_err(std::io::Error::from)?)
    }
}
