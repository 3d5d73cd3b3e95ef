//! Operations on one path.

use std::os::fd::AsFd;
use std::sync::Arc;

use modbox_vocabulary::Operation;
use rustix::fs::{FileType, Stat, Timestamps};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, HostDescriptor, MetadataHashValue, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::files::guard::{GuardView, finish_now};
use crate::files::ledger::{Permit, Share};
use crate::files::names::{HostName, OPEN, code};
use crate::files::open::{FileAndStat, OpenRequest, Refusal, stat_beneath};
use crate::files::open_file::OpenFile;
use crate::files::records::{Record, stand_in};
use crate::files::resolve::{Act, MountPath, Target};
use crate::files::tree::join;
use crate::files::{stat, times};

/// Distinguishes nodes from files in memory in an identity hash.
pub(super) const NODE: u64 = 0;
pub(super) const MEMORY: u64 = 1;

type Fd = Resource<Descriptor>;

impl GuardView<'_> {
    pub(super) fn open(
        &mut self,
        fd: &Fd,
        follow: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        let request = OpenRequest::read(follow, open, flags)?;
        let act = if request.writes() { Act::write(OPEN) } else { Act::read(OPEN) };
        match self.target(fd, path, act)? {
            Target::Real(real) => match self.open_real(&real, &request)? {
                Ok((opened, permit)) => self.insert_real(real, opened, &request, permit),
                Err(Refusal::Unavailable) => self.open_stock(real, follow, open, flags),
                Err(refused) => Err(self.kept_in(&real, act, refused)),
            },
            Target::Virtual(_) if request.exclusive => Err(ErrorCode::Exist.into()),
            Target::Virtual(_) if request.writes() => Err(ErrorCode::IsDirectory.into()),
            Target::Virtual(node) => self.insert_own(Record::Virtual(node)),
            Target::Memory(_) if request.writes() => Err(ErrorCode::NotPermitted.into()),
            Target::Memory(_) if request.directory => Err(ErrorCode::NotDirectory.into()),
            Target::Memory(index) => self.insert_own(Record::Memory(index)),
            Target::Name { index, dir } => self.open_name(index, dir, &request),
            Target::Temporary(file) => self.open_temporary(&file, &request),
            Target::Beside(beside) => self.open_beside(&beside, &request),
        }
    }

    /// Opens a file in a mount with `openat2`, then `fstat`.
    fn open_real(&self, real: &MountPath, request: &OpenRequest) -> FsResult<Result<(FileAndStat, Permit), Refusal>> {
        if request.writes() {
            self.may_change(real, Act::write(OPEN))?;
        }
        let permit = self.permit()?;
        let opened = request.beneath(self.host_dir(real.dir)?, &real.path, &self.guard.ledger);
        Ok(opened.map(|opened| (opened, permit)))
    }

    fn insert_real(
        &mut self,
        real: MountPath,
        opened: FileAndStat,
        request: &OpenRequest,
        permit: Permit,
    ) -> FsResult<Fd> {
        let mount = &self.guard.grants.mounts[real.mount];
        let (writable, share) = (mount.writable, mount.share);
        if FileType::from_raw_mode(opened.stat.st_mode) != FileType::Directory {
            return self.insert_file(opened, request, writable, share, (real.base, real.path), permit);
        }
        let dir = Dir::new(opened.fd.into(), OpenRequest::perms(writable), request.mode, true);
        let path = join(&real.base, &real.path).into();
        self.insert(Descriptor::Dir(dir), Record::Dir { mount: real.mount, path }, permit)
    }

    /// Opens a file without `openat2`: checks its type, then lets wasmtime-wasi open it component by component.
    fn open_stock(
        &mut self,
        real: MountPath,
        follow: PathFlags,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        let act = if open == OpenFlags::empty() { Act::read(OPEN) } else { Act::write(OPEN) };
        let seen = finish_now(self.stock().stat_at(Resource::new_borrow(real.dir), follow, real.path.clone()));
        let new = match seen {
            Ok(seen) if matches!(seen.type_, DescriptorType::RegularFile | DescriptorType::Directory) => false,
            Ok(DescriptorStat { type_: DescriptorType::SymbolicLink, .. }) => false,
            Ok(_) => {
                self.guard.deny_special(&join(&real.base, &real.path), act);
                return Err(ErrorCode::NotPermitted.into());
            }
            Err(error) => match error.downcast_ref() {
                Some(ErrorCode::NoEntry) if open.contains(OpenFlags::CREATE) => true,
                _ => return Err(self.refused(&real, act, error)),
            },
        };
        let permit = self.permit()?;
        if new {
            self.guard.ledger.take_file()?;
        }
        let dir = Resource::new_borrow(real.dir);
        let opened = finish_now(self.stock().open_at(dir, follow, real.path.clone(), open, flags));
        let opened = opened.inspect_err(|_| {
            if new {
                self.guard.ledger.give_file()
            }
        })?;
        let mount = &self.guard.grants.mounts[real.mount];
        let (writable, share) = (mount.writable, mount.share);
        match self.table.delete(opened)? {
            Descriptor::File(file) => {
                let size = file.file.metadata()?.len();
                let open = OpenFile::new(Arc::clone(&file.file), size, share, permit);
                let handle = File::new(file.file.try_clone()?, file.perms, file.open_mode, true);
                let record = Record::File { open: Arc::new(open), writable, base: real.base, path: real.path };
                self.insert(Descriptor::File(handle), record, None)
            }
            Descriptor::Dir(dir) => {
                let handle = Dir::new(dir.dir.try_clone()?, dir.perms, dir.open_mode, true);
                let path = join(&real.base, &real.path).into();
                self.insert(Descriptor::Dir(handle), Record::Dir { mount: real.mount, path }, permit)
            }
        }
    }

    pub(super) fn permit(&self) -> FsResult<Permit> {
        self.guard.ledger.take_descriptor().map_err(|_| ErrorCode::InsufficientMemory.into())
    }

    fn insert_own(&mut self, record: Record) -> FsResult<Fd> {
        let permit = self.permit()?;
        self.insert(stand_in()?, record, permit)
    }

    pub(super) fn insert_file(
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
        let open = OpenFile::new(Arc::clone(&file.file), size, share, permit);
        self.insert(Descriptor::File(file), Record::File { open: Arc::new(open), writable, base, path }, None)
    }

    fn insert(&mut self, descriptor: Descriptor, record: Record, permit: impl Into<Option<Permit>>) -> FsResult<Fd> {
        let fd = self.table.push(descriptor)?;
        self.guard.records.insert(&fd, record, permit.into());
        Ok(fd)
    }

    pub(super) fn look(&mut self, fd: &Fd, follow: PathFlags, path: String) -> FsResult<DescriptorStat> {
        let act = Act::read(Operation::StatAt);
        if let Some(stat) = self.stat_unused(fd, &path)? {
            return Ok(stat::of_host(&stat));
        }
        match self.target(fd, path, act)? {
            Target::Real(real) => {
                if let Some(stat) = self.stat_real(&real, follow, act)? {
                    return Ok(stat::of_host(&stat));
                }
                let seen = finish_now(self.stock().stat_at(Resource::new_borrow(real.dir), follow, real.path.clone()));
                seen.map_err(|error| self.refused(&real, act, error))
            }
            Target::Virtual(_) => Ok(stat::of_virtual(DescriptorType::Directory, 0, self.guard.made)),
            Target::Memory(index) => Ok(self.stat_memory(index)),
            Target::Name { index, dir } => Ok(stat::of_host(&self.stat_of_name(index, dir, follow, act)?)),
            Target::Temporary(file) => Ok(stat::of_host(&HostName::from(&file).stat()?)),
            Target::Beside(beside) => Err(self.guard.absent_beside(&beside, act)),
        }
    }

    /// Returns the status of a path in a mount, or `None` if this system lacks `openat2`.
    fn stat_real(&self, real: &MountPath, follow: PathFlags, act: Act) -> FsResult<Option<Stat>> {
        let follow = follow.contains(PathFlags::SYMLINK_FOLLOW);
        match stat_beneath(self.host_dir(real.dir)?, &real.path, follow) {
            Ok(stat) => Ok(Some(stat)),
            Err(Refusal::Unavailable) => Ok(None),
            Err(refused) => Err(self.kept_in(real, act, refused)),
        }
    }

    pub(super) fn stat_memory(&self, index: usize) -> DescriptorStat {
        let size = self.guard.grants.memory[index].len() as u64;
        stat::of_virtual(DescriptorType::RegularFile, size, self.guard.made)
    }

    pub(super) fn identity(&mut self, fd: &Fd, follow: PathFlags, path: String) -> FsResult<MetadataHashValue> {
        // A guest's `stat` may ask for the identity first, so the denial names `stat-at`.
        let act = Act::read(Operation::StatAt);
        if let Some(stat) = self.stat_unused(fd, &path)? {
            return Ok(stat::hash_of_host(&stat));
        }
        match self.target(fd, path, act)? {
            Target::Real(real) => {
                if let Some(stat) = self.stat_real(&real, follow, act)? {
                    return Ok(stat::hash_of_host(&stat));
                }
                let dir = Resource::new_borrow(real.dir);
                let seen = finish_now(self.stock().metadata_hash_at(dir, follow, real.path.clone()));
                seen.map_err(|error| self.refused(&real, act, error))
            }
            Target::Virtual(node) => Ok(stat::hash_of_virtual(NODE, node)),
            Target::Memory(index) => Ok(stat::hash_of_virtual(MEMORY, index)),
            Target::Name { index, dir } => Ok(stat::hash_of_host(&self.stat_of_name(index, dir, follow, act)?)),
            Target::Temporary(file) => Ok(stat::hash_of_host(&HostName::from(&file).stat()?)),
            Target::Beside(beside) => Err(self.guard.absent_beside(&beside, act)),
        }
    }

    pub(super) fn make_dir(&mut self, fd: &Fd, path: String) -> FsResult<()> {
        let act = Act::write(Operation::CreateDirectoryAt);
        match self.target(fd, path, act)? {
            Target::Real(real) => {
                self.may_change(&real, act)?;
                self.guard.ledger.take_file()?;
                let made =
                    finish_now(self.stock().create_directory_at(Resource::new_borrow(real.dir), real.path.clone()));
                made.map_err(|error| {
                    self.guard.ledger.give_file();
                    self.refused(&real, act, error)
                })
            }
            Target::Name { index, .. } => self.make_name_dir(index, act),
            Target::Beside(beside) => Err(self.guard.absent_beside(&beside, act)),
            Target::Virtual(_) | Target::Memory(_) | Target::Temporary(_) => Err(ErrorCode::Exist.into()),
        }
    }

    pub(super) fn remove_dir(&mut self, fd: &Fd, path: String) -> FsResult<()> {
        let act = Act::write(Operation::RemoveDirectoryAt);
        match self.target(fd, path, act)? {
            Target::Real(real) if self.is_made(&real) => self.remove_name_dir(real.mount),
            Target::Real(real) => {
                self.may_change(&real, act)?;
                let removed =
                    finish_now(self.stock().remove_directory_at(Resource::new_borrow(real.dir), real.path.clone()));
                removed.map_err(|error| self.refused(&real, act, error))
            }
            Target::Name { index, .. } => {
                self.writable(index, act)?;
                self.host_name(index).stat()?;
                Err(ErrorCode::NotDirectory.into())
            }
            Target::Memory(_) | Target::Temporary(_) => Err(ErrorCode::NotDirectory.into()),
            Target::Virtual(node) => Err(self.deny_node(node, act)),
            Target::Beside(beside) => Err(self.guard.gone_beside(&beside, act)),
        }
    }

    /// Returns whether a target is a directory that the guest created at a granted name.
    fn is_made(&self, real: &MountPath) -> bool {
        let mount = &self.guard.grants.mounts[real.mount];
        mount.name.is_some() && real.path == "." && *real.base == *self.guard.path_of(mount.node)
    }

    pub(super) fn unlink(&mut self, fd: &Fd, path: String) -> FsResult<()> {
        let act = Act::write(Operation::UnlinkFileAt);
        match self.target(fd, path, act)? {
            Target::Real(real) => {
                self.may_change(&real, act)?;
                let removed =
                    finish_now(self.stock().unlink_file_at(Resource::new_borrow(real.dir), real.path.clone()));
                removed.map_err(|error| self.refused(&real, act, error))
            }
            Target::Name { index, dir } => {
                self.writable(index, act)?;
                if dir {
                    return Err(ErrorCode::NotDirectory.into());
                }
                self.host_name(index).unlink()
            }
            Target::Temporary(file) => {
                self.guard.temporaries.remove(&file);
                HostName::from(&file).unlink()
            }
            Target::Virtual(node) => Err(self.deny_node(node, act)),
            Target::Memory(_) => Err(ErrorCode::NotPermitted.into()),
            Target::Beside(beside) => Err(self.guard.gone_beside(&beside, act)),
        }
    }

    pub(super) fn read_link(&mut self, fd: &Fd, path: String) -> FsResult<String> {
        let act = Act::read(Operation::ReadlinkAt);
        match self.target(fd, path, act)? {
            Target::Real(real) => {
                let seen = finish_now(self.stock().readlink_at(Resource::new_borrow(real.dir), real.path.clone()));
                seen.map_err(|error| self.refused(&real, act, error))
            }
            Target::Name { index, dir } => {
                self.stat_of_name(index, dir, PathFlags::SYMLINK_FOLLOW, act)?;
                Err(ErrorCode::Invalid.into())
            }
            Target::Virtual(_) | Target::Memory(_) | Target::Temporary(_) => Err(ErrorCode::Invalid.into()),
            Target::Beside(beside) => Err(self.guard.absent_beside(&beside, act)),
        }
    }

    pub(super) fn make_link(&mut self, fd: &Fd, to: String, path: String) -> FsResult<()> {
        let act = Act::write(Operation::SymlinkAt);
        match self.target(fd, path, act)? {
            Target::Real(real) => {
                self.may_change(&real, act)?;
                if to.starts_with('/') {
                    return self.make_absolute_link(&real, &to, act);
                }
                self.guard.ledger.take_file()?;
                let made = finish_now(self.stock().symlink_at(Resource::new_borrow(real.dir), to, real.path.clone()));
                made.inspect_err(|_| self.guard.ledger.give_file())
            }
            Target::Name { index, .. } => {
                self.writable(index, act)?;
                let there = self.host_name(index).stat().is_ok();
                // The grant is for a file; it does not cover the target of a link that replaced it.
                Err(if there { ErrorCode::Exist.into() } else { ErrorCode::NotPermitted.into() })
            }
            Target::Virtual(_) | Target::Memory(_) | Target::Temporary(_) => Err(ErrorCode::Exist.into()),
            Target::Beside(beside) => Err(self.guard.absent_beside(&beside, act)),
        }
    }

    pub(super) fn set_path_times(
        &mut self,
        fd: &Fd,
        follow: PathFlags,
        path: String,
        times: &Timestamps,
    ) -> FsResult<()> {
        let act = Act::write(Operation::SetTimesAt);
        match self.target(fd, path, act)? {
            Target::Real(real) => {
                self.may_change(&real, act)?;
                let follow = follow.contains(PathFlags::SYMLINK_FOLLOW);
                let dir = self.host_dir(real.dir)?;
                times::set_beneath(dir, &real.path, follow, times).map_err(|refused| {
                    if matches!(refused, Refusal::Escape) {
                        self.guard.deny_real(&real, act);
                    }
                    code(refused)
                })
            }
            Target::Name { index, dir } => {
                self.writable(index, act)?;
                self.stat_of_name(index, dir, follow, act)?;
                self.set_name_times(&self.host_name(index), times)
            }
            Target::Temporary(file) => self.set_name_times(&HostName::from(&file), times),
            Target::Virtual(node) => Err(self.deny_node(node, act)),
            Target::Memory(_) => Err(ErrorCode::NotPermitted.into()),
            Target::Beside(beside) => Err(self.guard.gone_beside(&beside, act)),
        }
    }

    #[expect(clippy::unused_self, reason = "read as the others are")]
    fn set_name_times(&self, host: &HostName, times: &Timestamps) -> FsResult<()> {
        Ok(times::set_name(host.parent.as_fd(), &host.name, times).map_err(std::io::Error::from)?)
    }

    /// Refuses a change in a read-only mount.
    pub(super) fn may_change(&self, real: &MountPath, act: Act) -> FsResult<()> {
        if self.guard.grants.mounts[real.mount].writable {
            return Ok(());
        }
        self.guard.deny_real(real, act);
        Err(ErrorCode::NotPermitted.into())
    }

    /// Refuses a change of a directory that exists only for the guest.
    pub(super) fn deny_node(&self, node: usize, act: Act) -> FsError {
        let path = self.guard.path_of(node);
        self.guard.absent(node, &path, act)
    }
}
