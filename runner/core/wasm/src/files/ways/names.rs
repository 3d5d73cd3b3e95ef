//! Operations on granted names and on the temporaries beside them. Each works on one name in a directory that is held
//! open, so no path can lead elsewhere.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use modbox_vocabulary::Operation;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::files::errno::failed;
use crate::files::follow::Follow;
use crate::files::grants::Mount;
use crate::files::guard::GuardView;
use crate::files::ledger::Share;
use crate::files::open::{FileAndStat, OpenRequest, Refusal, stat_name};
use crate::files::replacing::temporaries::Temporary;
use crate::files::stat::{is_directory, is_link};
use crate::files::tree::Kind;
use crate::files::ways::target::{Act, MissingName};

pub(crate) const OPEN: Operation = Operation::OpenAt;

/// The host directory and name behind a granted name or a temporary.
pub(crate) struct HostName {
    pub(crate) parent: Arc<OwnedFd>,
    pub(crate) name: std::ffi::OsString,
}

impl HostName {
    pub(crate) fn stat(&self) -> FsResult<Stat> {
        stat_name(self.parent.as_fd(), &self.name).map_err(failed)
    }

    pub(crate) fn unlink(&self) -> FsResult<()> {
        let unlinked = rustix::fs::unlinkat(&*self.parent, self.name.as_os_str(), AtFlags::empty());
        unlinked.map_err(failed)
    }
}

impl From<&Temporary> for HostName {
    fn from(file: &Temporary) -> Self {
        Self { parent: Arc::clone(&file.parent), name: file.host_name.as_str().into() }
    }
}

impl GuardView<'_> {
    /// Returns the host directory and name of a granted name.
    pub(crate) fn host_name(&self, index: usize) -> HostName {
        let name = &self.guard.grants.names[index];
        HostName { parent: Arc::clone(&name.parent), name: name.name.clone() }
    }

    /// Refuses a change of a granted name that is read-only.
    pub(crate) fn writable(&self, index: usize, act: Act) -> FsResult<()> {
        let name = &self.guard.grants.names[index];
        if name.writable {
            return Ok(());
        }
        self.deny_name(index, act);
        Err(ErrorCode::NotPermitted.into())
    }

    pub(crate) fn deny_name(&self, index: usize, act: Act) {
        self.guard.deny(act, &self.guard.path_of(self.guard.grants.names[index].node));
    }

    /// Opens a granted name. `None` if it is a link that has to be followed.
    pub(crate) fn open_name(
        &mut self,
        index: usize,
        dir: bool,
        request: &OpenRequest,
    ) -> FsResult<Option<Resource<Descriptor>>> {
        let act = if request.writes() { Act::write(OPEN) } else { Act::read(OPEN) };
        let host = self.host_name(index);
        let is_followed = request.follow() == Follow::Always && host.stat().is_ok_and(|stat| is_link(&stat));
        if is_followed {
            return Ok(None);
        }
        let existing = request.of_existing().filter(|_| !self.guard.grants.names[index].writable);
        let request = existing.as_ref().unwrap_or(request);
        if request.writes() || existing.is_some() && host.stat().is_err() {
            self.writable(index, act)?;
        }
        if dir {
            host.stat()?;
            return Err(ErrorCode::NotDirectory.into());
        }
        if self.guard.grants.names[index].is_link {
            self.stat_of_name(index, dir)?;
            return Err(ErrorCode::Loop.into());
        }
        let permit = self.permit()?;
        let node = self.guard.grants.names[index].node;
        let opened = match request.name(host.parent.as_fd(), &host.name, &self.guard.ledger) {
            // Another process made it a directory after it was granted as a file.
            Ok(FileAndStat { stat, .. }) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                self.deny_name(index, act);
                return Err(ErrorCode::NotPermitted.into());
            }
            Ok(opened) => opened,
            Err(Refusal::Link) if request.follow() == Follow::Always => return Ok(None),
            Err(refusal) => return Err(self.refused(refusal, || self.guard.path_of(node).to_string(), act)),
        };
        let writable = self.guard.grants.names[index].writable;
        let path = (self.guard.path_of(node), String::new());
        self.insert_file(opened, request, writable, Share::All, path, permit).map(Some)
    }

    pub(crate) fn open_temporary(&mut self, file: &Temporary, request: &OpenRequest) -> FsResult<Resource<Descriptor>> {
        let permit = self.permit()?;
        let opened = request
            .name(file.parent.as_fd(), OsStr::new(&file.host_name), &self.guard.ledger)
            .map_err(FsError::from)?;
        let path = (self.guard.path_of(file.dir), file.name.clone());
        self.insert_file(opened, request, true, Share::All, path, permit)
    }

    /// Creates a temporary beside a writable granted name.
    pub(crate) fn open_beside(
        &mut self,
        beside: &MissingName,
        request: &OpenRequest,
    ) -> FsResult<Resource<Descriptor>> {
        let act = if request.writes() { Act::write(OPEN) } else { Act::read(OPEN) };
        let name = self.guard.writable_name(beside.dir, &beside.name);
        let Some(index) = name.filter(|_| request.writes()) else { return Err(self.guard.absent_beside(beside, act)) };
        if !request.create {
            return Err(self.guard.absent_beside(beside, act));
        }
        if beside.slash {
            return Err(ErrorCode::IsDirectory.into());
        }
        let permit = self.permit()?;
        self.guard.ledger.take_file()?;
        let name = &self.guard.grants.names[index];
        let place = (&name.parent, name.host.parent().unwrap_or_else(|| Path::new("/")));
        let flags = request.access();
        let made = self.guard.temporaries.make((beside.dir, &beside.name), place, flags);
        let (fd, _) = made.inspect_err(|_| self.guard.ledger.give_file())?;
        let stat = rustix::fs::fstat(&fd).map_err(failed)?;
        let path = (self.guard.path_of(beside.dir), beside.name.clone());
        self.insert_file(FileAndStat { fd, stat, mode: 0 }, request, true, Share::All, path, permit)
    }

    /// Returns the status of a granted name, which may be a link. `dir`: the path asks for a directory.
    pub(crate) fn stat_of_name(&self, index: usize, dir: bool) -> FsResult<Stat> {
        let stat = self.host_name(index).stat()?;
        if self.guard.grants.names[index].is_link && !is_link(&stat) {
            return Err(ErrorCode::Access.into());
        }
        if dir && !is_directory(&stat) {
            return Err(ErrorCode::NotDirectory.into());
        }
        Ok(stat)
    }

    /// Creates a directory at a granted name that does not exist. From then on it is a granted directory.
    pub(crate) fn make_name_dir(&mut self, index: usize, act: Act) -> FsResult<()> {
        self.writable(index, act)?;
        self.guard.ledger.take_file()?;
        let host = self.host_name(index);
        let made = rustix::fs::mkdirat(
            &*host.parent,
            host.name.as_os_str(),
            Mode::from_raw_mode(0o777).difference(self.guard.new_mask),
        );
        made.map_err(failed).inspect_err(|_| self.guard.ledger.give_file())?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(&*host.parent, host.name.as_os_str(), flags, Mode::empty());
        let dir = dir.map_err(failed)?;
        let grants = &mut self.guard.grants;
        let (node, path) = (grants.names[index].node, grants.names[index].host.clone());
        grants.mounts.push(Mount { node, name: Some(index), ..Mount::new(dir, path, true, Share::All) });
        grants.tree.change(node, Kind::Mount(grants.mounts.len() - 1));
        Ok(())
    }

    /// Removes a directory that was created at a granted name. The grant is that of a name again.
    pub(crate) fn remove_name_dir(&mut self, mount: usize) -> FsResult<()> {
        let Some(index) = self.guard.grants.mounts[mount].name else { return Err(ErrorCode::Busy.into()) };
        let host = self.host_name(index);
        let removed = rustix::fs::unlinkat(&*host.parent, host.name.as_os_str(), AtFlags::REMOVEDIR);
        removed.map_err(failed)?;
        let node = self.guard.grants.names[index].node;
        self.guard.grants.tree.change(node, Kind::Name(index));
        Ok(())
    }
}
