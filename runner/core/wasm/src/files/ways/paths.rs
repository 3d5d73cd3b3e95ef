//! Opening and looking at one path.

use std::os::fd::AsFd;
use std::sync::Arc;

use modbox_vocabulary::Operation;
use rustix::fs::Stat;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, MetadataHashValue, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::files::errno::failed;
use crate::files::follow::Follow;
use crate::files::grants::Mount;
use crate::files::guard::GuardView;
use crate::files::ledger::{Permit, Share};
use crate::files::open::{FileAndStat, OpenRequest, Refusal, stat_beneath, stat_name};
use crate::files::open_file::OpenFile;
use crate::files::records::{Record, stand_in};
use crate::files::stat::{self, is_directory, is_link};
use crate::files::tree::join;
use crate::files::ways::names::{HostName, OPEN};
use crate::files::ways::resolve::check_path;
use crate::files::ways::target::{Act, Entry, Located, MountPath, Target};
use crate::files::ways::walk::Folder;

/// Distinguishes nodes from files in memory in an identity hash.
pub(crate) const NODE: u64 = 0;
pub(crate) const MEMORY: u64 = 1;

type Fd = Resource<Descriptor>;

/// What is known of a path after a look at it.
enum Sight {
    Host(Stat),
    Virtual(usize),
    Memory(usize),
}

impl GuardView<'_> {
    pub(crate) fn open(
        &mut self,
        fd: &Fd,
        follow: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        let request = OpenRequest::read(follow, open, flags, self.guard.new_mask)?;
        let act = if request.writes() { Act::write(OPEN) } else { Act::read(OPEN) };
        let path = check_path(path)?;
        let located = self.locate(fd, &path, act)?;
        if let Located::Mount(real) = &located
            && let Some(opened) = self.open_real(real, &request, act)?
        {
            return Ok(opened);
        }
        let follow = request.follow();
        self.on_target(fd, &path, (act, follow), located, |view, target| view.open_target(target, &request, act))
    }

    /// Opens a target. `None` if it is a link that has to be followed.
    fn open_target(&mut self, target: Target, request: &OpenRequest, act: Act) -> FsResult<Option<Fd>> {
        match target {
            Target::Entry(entry) => self.open_entry(&entry, request, act),
            Target::Folder(folder) => self.open_folder(&folder, request, act).map(Some),
            Target::Virtual(_) if request.exclusive => Err(ErrorCode::Exist.into()),
            Target::Virtual(_) if request.writes() => Err(ErrorCode::IsDirectory.into()),
            Target::Virtual(node) => self.insert_own(Record::Virtual(node)).map(Some),
            Target::Memory(_) if request.writes() => Err(ErrorCode::NotPermitted.into()),
            Target::Memory(_) if request.directory => Err(ErrorCode::NotDirectory.into()),
            Target::Memory(index) => self.insert_own(Record::Memory(index)).map(Some),
            Target::Name { index, dir } => self.open_name(index, dir, request),
            Target::Temporary(file) => self.open_temporary(&file, request).map(Some),
            Target::Beside(beside) => self.open_beside(&beside, request).map(Some),
        }
    }

    /// Opens a path in a mount with `openat2`, then `fstat`. `None` if it has to be walked.
    fn open_real(&mut self, real: &MountPath, request: &OpenRequest, act: Act) -> FsResult<Option<Fd>> {
        if let Some(request) = self.unwritable(real.mount, request) {
            return match self.open_real(real, &request, act) {
                Err(error) if is_missing(&error) => Err(self.cannot_change(|| real.guest(), act)),
                other => other,
            };
        }
        if request.writes() && !self.guard.grants.mounts[real.mount].writable {
            // A link can lead to where the grant allows it.
            let follows = request.follow() == Follow::Always;
            let seen = stat_beneath(self.host_dir(real.dir)?, &real.path, follows);
            if seen.is_err_and(|refusal| refusal.needs_walk()) {
                return Ok(None);
            }
            return Err(self.cannot_change(|| real.guest(), act));
        }
        let permit = self.permit()?;
        match request.beneath(self.host_dir(real.dir)?, &real.path, &self.guard.ledger) {
            Ok(opened) => {
                let guest = (Arc::clone(&real.base), real.path.clone());
                self.insert_real(real.mount, guest, opened, request, permit).map(Some)
            }
            Err(refusal) if refusal.needs_walk() => Ok(None),
            Err(refusal) => Err(self.refused(refusal, || real.guest(), act)),
        }
    }

    fn open_entry(&mut self, entry: &Entry, request: &OpenRequest, act: Act) -> FsResult<Option<Fd>> {
        if let Some(request) = self.unwritable(entry.mount, request) {
            return match self.open_entry(entry, &request, act) {
                Err(error) if is_missing(&error) => Err(self.cannot_change(|| entry.guest(), act)),
                other => other,
            };
        }
        if request.writes() && !self.guard.grants.mounts[entry.mount].writable {
            let is_followed = request.follow() == Follow::Always && self.stat_entry(entry).is_ok_and(|it| is_link(&it));
            return if is_followed { Ok(None) } else { Err(self.cannot_change(|| entry.guest(), act)) };
        }
        if entry.slash && request.create {
            return Err(ErrorCode::IsDirectory.into());
        }
        let permit = self.permit()?;
        let request = if entry.slash { &request.of_directory() } else { request };
        // The name without the slash: with it, the kernel would follow a link.
        let opened = request.name(self.entry_dir(entry)?, &entry.plain_name(), &self.guard.ledger);
        match opened {
            Ok(opened) => {
                let guest = (Arc::clone(&entry.folder), entry.name.clone());
                self.insert_real(entry.mount, guest, opened, request, permit).map(Some)
            }
            Err(Refusal::Link) if request.follow() == Follow::Always => Ok(None),
            Err(Refusal::Link) if request.directory => Err(ErrorCode::NotDirectory.into()),
            Err(refusal) => Err(self.refused(refusal, || entry.guest(), act)),
        }
    }

    fn open_folder(&mut self, folder: &Folder, request: &OpenRequest, act: Act) -> FsResult<Fd> {
        let permit = self.permit()?;
        let opened = request.name(folder.dir.as_fd(), ".".as_ref(), &self.guard.ledger);
        match opened {
            Ok(opened) => {
                self.insert_real(folder.mount, (folder.path.as_str().into(), String::new()), opened, request, permit)
            }
            Err(refusal) => Err(self.refused(refusal, || folder.path.clone(), act)),
        }
    }

    fn insert_real(
        &mut self,
        mount: usize,
        (base, path): (Arc<str>, String),
        opened: FileAndStat,
        request: &OpenRequest,
        permit: Permit,
    ) -> FsResult<Fd> {
        let Mount { writable, share, .. } = self.guard.grants.mounts[mount];
        if !is_directory(&opened.stat) {
            return self.insert_file(opened, request, writable, share, (base, path), permit);
        }
        let dir = Dir::new(opened.fd.into(), OpenRequest::perms(writable), request.mode, true);
        self.insert(Descriptor::Dir(dir), Record::Dir { mount, path: join(&base, &path).into() }, permit)
    }

    pub(crate) fn permit(&self) -> FsResult<Permit> {
        self.guard.ledger.take_descriptor().map_err(|_| ErrorCode::InsufficientMemory.into())
    }

    fn insert_own(&mut self, record: Record) -> FsResult<Fd> {
        let permit = self.permit()?;
        self.insert(stand_in()?, record, permit)
    }

    pub(crate) fn insert_file(
        &mut self,
        opened: FileAndStat,
        request: &OpenRequest,
        writable: bool,
        share: Share,
        (base, path): (Arc<str>, String),
        permit: Permit,
    ) -> FsResult<Fd> {
        let file = File::new(opened.fd.into(), OpenRequest::perms(writable), request.mode, true);
        let size = u64::try_from(opened.stat.st_size).unwrap_or(0);
        if request.writes() {
            self.guard.ledger.written_programs.note(|| join(&base, &path), &file.file, opened.mode);
        }
        let open = Arc::new(OpenFile::new(Arc::clone(&file.file), size, share, permit));
        let record = Record::File { open, granted: writable, mode: request.mode, base, path };
        self.insert(Descriptor::File(file), record, None)
    }

    fn insert(&mut self, descriptor: Descriptor, record: Record, permit: impl Into<Option<Permit>>) -> FsResult<Fd> {
        let fd = self.table.push(descriptor)?;
        self.guard.records.insert(&fd, record, permit.into());
        Ok(fd)
    }

    pub(crate) fn look(&mut self, fd: &Fd, follow: PathFlags, path: String) -> FsResult<DescriptorStat> {
        Ok(match self.see(fd, follow, path)? {
            Sight::Host(stat) => stat::of_host(&stat),
            Sight::Virtual(_) => stat::of_virtual(DescriptorType::Directory, 0, self.guard.made),
            Sight::Memory(index) => self.stat_memory(index),
        })
    }

    pub(crate) fn identity(&mut self, fd: &Fd, follow: PathFlags, path: String) -> FsResult<MetadataHashValue> {
        Ok(match self.see(fd, follow, path)? {
            Sight::Host(stat) => stat::hash_of_host(&stat),
            Sight::Virtual(node) => stat::hash_of_virtual(NODE, node),
            Sight::Memory(index) => stat::hash_of_virtual(MEMORY, index),
        })
    }

    /// Returns the status of a file of the host at a path.
    pub(crate) fn stat_at(&mut self, fd: &Fd, follow: PathFlags, path: String) -> FsResult<Stat> {
        match self.see(fd, follow, path)? {
            Sight::Host(stat) => Ok(stat),
            Sight::Virtual(_) | Sight::Memory(_) => Err(ErrorCode::Unsupported.into()),
        }
    }

    /// Looks at a path. A guest's `stat` may ask for the identity first, so a denial names `stat-at` in any case.
    fn see(&mut self, fd: &Fd, follow: PathFlags, path: String) -> FsResult<Sight> {
        let act = Act::read(Operation::StatAt);
        let follow = Follow::links(follow.contains(PathFlags::SYMLINK_FOLLOW));
        let path = check_path(path)?;
        if let Some(stat) = self.stat_unused(fd, &path)? {
            return Ok(Sight::Host(stat));
        }
        let located = self.locate(fd, &path, act)?;
        if let Located::Mount(real) = &located {
            match stat_beneath(self.host_dir(real.dir)?, &real.path, follow == Follow::Always) {
                Ok(stat) => return Ok(Sight::Host(stat)),
                Err(refusal) if refusal.needs_walk() => {}
                Err(refusal) => return Err(self.refused(refusal, || real.guest(), act)),
            }
        }
        self.on_target(fd, &path, (act, follow), located, |view, target| view.see_target(target, follow, act))
    }

    /// Looks at a target. `None` if it is a link that has to be followed.
    fn see_target(&mut self, target: Target, follow: Follow, act: Act) -> FsResult<Option<Sight>> {
        let stat = match target {
            Target::Entry(entry) => match self.stat_unless_followed(&entry, follow)? {
                Some(stat) => stat,
                None => return Ok(None),
            },
            Target::Folder(folder) => rustix::fs::fstat(&*folder.dir).map_err(failed)?,
            Target::Name { index, dir } => self.stat_of_name(index, dir)?,
            Target::Temporary(file) => HostName::from(&file).stat()?,
            Target::Virtual(node) => return Ok(Some(Sight::Virtual(node))),
            Target::Memory(index) => return Ok(Some(Sight::Memory(index))),
            Target::Beside(beside) => return Err(self.guard.absent_beside(&beside, act)),
        };
        Ok((follow != Follow::Always || !is_link(&stat)).then_some(Sight::Host(stat)))
    }

    /// Returns the status of an entry, which may be a link.
    pub(crate) fn stat_entry(&self, entry: &Entry) -> FsResult<Stat> {
        let stat = stat_name(self.entry_dir(entry)?, &entry.plain_name()).map_err(failed)?;
        if entry.slash && !is_directory(&stat) && !is_link(&stat) {
            return Err(ErrorCode::NotDirectory.into());
        }
        Ok(stat)
    }

    /// Returns the status of an entry, or `None` if it is a link that has to be followed.
    pub(crate) fn stat_unless_followed(&self, entry: &Entry, follow: Follow) -> FsResult<Option<Stat>> {
        let stat = self.stat_entry(entry)?;
        Ok((!follow.follows(entry.slash) || !is_link(&stat)).then_some(stat))
    }

    pub(crate) fn stat_memory(&self, index: usize) -> DescriptorStat {
        let size = self.guard.grants.memory[index].len() as u64;
        stat::of_virtual(DescriptorType::RegularFile, size, self.guard.made)
    }

    /// Returns a request without the right to make a file, if it is one in a read-only mount that changes no file that is
    /// there.
    fn unwritable(&self, mount: usize, request: &OpenRequest) -> Option<OpenRequest> {
        if self.guard.grants.mounts[mount].writable { None } else { request.of_existing() }
    }

    /// Refuses a change in a read-only mount.
    pub(crate) fn may_change(&self, mount: usize, guest: impl Fn() -> String, act: Act) -> FsResult<()> {
        if self.guard.grants.mounts[mount].writable { Ok(()) } else { Err(self.cannot_change(guest, act)) }
    }

    /// Refuses to make an entry in a read-only mount. As on Linux, one that is there is the first thing that is told.
    pub(crate) fn may_make(&self, entry: &Entry, act: Act) -> FsResult<()> {
        let mount = &self.guard.grants.mounts[entry.mount];
        if !mount.writable && stat_name(self.entry_dir(entry)?, &entry.plain_name()).is_ok() {
            return Err(ErrorCode::Exist.into());
        }
        self.may_change(entry.mount, || entry.guest(), act)
    }

    /// Records a change that its grant does not allow.
    fn cannot_change(&self, guest: impl Fn() -> String, act: Act) -> FsError {
        self.guard.deny(act, &guest());
        ErrorCode::NotPermitted.into()
    }

    /// Refuses a change of a directory that exists only for the guest.
    pub(crate) fn deny_node(&self, node: usize, act: Act) -> FsError {
        let path = self.guard.path_of(node);
        self.guard.absent(node, &path, act)
    }

    /// Converts a refusal to the guest's error. A special file is recorded.
    pub(crate) fn refused(&self, refusal: Refusal, guest: impl Fn() -> String, act: Act) -> FsError {
        if matches!(refusal, Refusal::Special) {
            self.guard.deny_special(&guest(), act);
        }
        refusal.into()
    }
}

fn is_missing(error: &FsError) -> bool {
    matches!(error.downcast_ref(), Some(ErrorCode::NoEntry))
}
