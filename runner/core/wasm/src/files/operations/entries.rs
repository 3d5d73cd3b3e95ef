//! Makes, removes and reads entries of directories: folders and symbolic links, and files that are removed. Each call
//! works on one name in an open directory, by the kernel's rules for a `/` at the end, and follows no link.

use std::os::fd::AsFd;

use modbox_vocabulary::Operation;
use rustix::fs::{AtFlags, Mode};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::files::encoding::{to_guest, to_host};
use crate::files::errno::failed;
use crate::files::follow::Follow;
use crate::files::guard::GuardView;
use crate::files::ways::names::HostName;
use crate::files::ways::target::{Act, Target};
use crate::files::ways::walk::{Folder, Last};

type Fd = Resource<Descriptor>;

impl GuardView<'_> {
    pub(crate) fn make_dir(&mut self, fd: &Fd, path: String) -> FsResult<()> {
        let act = Act::write(Operation::CreateDirectoryAt);
        match self.target(fd, path, act)? {
            Target::Entry(entry) => {
                self.may_make(&entry, act)?;
                self.guard.ledger.take_file()?;
                let mode = Mode::from_raw_mode(0o777).difference(self.guard.new_mask);
                let made = rustix::fs::mkdirat(self.entry_dir(&entry)?, entry.name_and_slash(), mode);
                made.map_err(failed).inspect_err(|_| self.guard.ledger.give_file())
            }
            Target::Name { index, .. } => self.make_name_dir(index, act),
            Target::Beside(beside) => Err(self.guard.absent_beside(&beside, act)),
            Target::Folder(_) | Target::Virtual(_) | Target::Memory(_) | Target::Temporary(_) => {
                Err(ErrorCode::Exist.into())
            }
        }
    }

    pub(crate) fn remove_dir(&mut self, fd: &Fd, path: String) -> FsResult<()> {
        let act = Act::write(Operation::RemoveDirectoryAt);
        match self.target(fd, path, act)? {
            Target::Entry(entry) => {
                self.may_change(entry.mount, || entry.guest(), act)?;
                let dir = self.entry_dir(&entry)?;
                rustix::fs::unlinkat(dir, entry.name_and_slash(), AtFlags::REMOVEDIR).map_err(failed)
            }
            Target::Folder(folder) => self.remove_folder(&folder, act),
            Target::Name { index, .. } => {
                self.writable(index, act)?;
                self.host_name(index).stat()?;
                Err(ErrorCode::NotDirectory.into())
            }
            Target::Memory(_) | Target::Temporary(_) => Err(ErrorCode::NotDirectory.into()),
            Target::Virtual(node) => Err(self.deny_node(node, act)),
            Target::Beside(beside) => Err(self.guard.absent_beside(&beside, act)),
        }
    }

    fn remove_folder(&mut self, folder: &Folder, act: Act) -> FsResult<()> {
        if self.is_grant(folder) {
            let mount = &self.guard.grants.mounts[folder.mount];
            if mount.name.is_some() {
                return self.remove_name_dir(folder.mount);
            }
            return Err(self.deny_node(mount.node, act));
        }
        Err(match folder.last {
            Last::Dot | Last::Grant => ErrorCode::Invalid.into(),
            Last::DotDot => ErrorCode::NotEmpty.into(),
        })
    }

    /// Returns whether a folder is a granted directory itself. Its entry in the directory around it is not granted.
    pub(crate) fn is_grant(&self, folder: &Folder) -> bool {
        *folder.path == *self.guard.path_of(self.guard.grants.mounts[folder.mount].node)
    }

    pub(crate) fn unlink(&mut self, fd: &Fd, path: String) -> FsResult<()> {
        let act = Act::write(Operation::UnlinkFileAt);
        match self.target(fd, path, act)? {
            Target::Entry(entry) => {
                self.may_change(entry.mount, || entry.guest(), act)?;
                let dir = self.entry_dir(&entry)?;
                rustix::fs::unlinkat(dir, entry.name_and_slash(), AtFlags::empty()).map_err(failed)
            }
            Target::Folder(_) => Err(ErrorCode::IsDirectory.into()),
            Target::Name { index, dir } => {
                self.writable(index, act)?;
                if dir {
                    self.host_name(index).stat()?;
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
            Target::Beside(beside) => Err(self.guard.absent_beside(&beside, act)),
        }
    }

    pub(crate) fn read_link(&mut self, fd: &Fd, path: String) -> FsResult<String> {
        let act = Act::read(Operation::ReadlinkAt);
        let target = self.on_path(fd, path, (act, Follow::Never), |view, target| view.link_target(target, act))?;
        Ok(to_guest(&target).into_owned())
    }

    /// Returns the target of a link. `None` if it has to be followed first.
    fn link_target(&self, target: Target, act: Act) -> FsResult<Option<Vec<u8>>> {
        let target = match target {
            Target::Entry(entry) => {
                if entry.slash && self.stat_unless_followed(&entry, Follow::Never)?.is_none() {
                    return Ok(None);
                }
                rustix::fs::readlinkat(self.entry_dir(&entry)?, entry.plain_name(), Vec::new())
            }
            Target::Name { index, dir } => {
                self.stat_of_name(index, dir)?;
                let host = self.host_name(index);
                rustix::fs::readlinkat(host.parent.as_fd(), &*host.name, Vec::new())
            }
            Target::Folder(_) | Target::Virtual(_) | Target::Memory(_) | Target::Temporary(_) => {
                return Err(ErrorCode::Invalid.into());
            }
            Target::Beside(beside) => return Err(self.guard.absent_beside(&beside, act)),
        };
        Ok(Some(target.map_err(failed)?.into_bytes()))
    }

    pub(crate) fn make_link(&mut self, fd: &Fd, to: &str, path: String) -> FsResult<()> {
        let act = Act::write(Operation::SymlinkAt);
        match self.target(fd, path, act)? {
            Target::Entry(entry) => {
                self.may_make(&entry, act)?;
                self.may_link_to(to, act)?;
                self.guard.ledger.take_file()?;
                let dir = self.entry_dir(&entry)?;
                let made = rustix::fs::symlinkat(&*to_host(to), dir, entry.name_and_slash());
                made.map_err(failed).inspect_err(|_| self.guard.ledger.give_file())
            }
            Target::Name { index, .. } => {
                self.writable(index, act)?;
                let there = self.host_name(index).stat().is_ok();
                // The grant is for a file; it does not cover the target of a link that replaced it.
                Err(if there { ErrorCode::Exist.into() } else { ErrorCode::NotPermitted.into() })
            }
            Target::Folder(_) | Target::Virtual(_) | Target::Memory(_) | Target::Temporary(_) => {
                Err(ErrorCode::Exist.into())
            }
            Target::Beside(beside) => Err(self.guard.absent_beside(&beside, act)),
        }
    }

    /// Returns the error for moving or linking a directory that a path names without an entry.
    pub(crate) fn not_an_entry(&self, folder: &Folder, act: Act) -> FsError {
        if self.is_grant(folder) {
            return self.deny_node(self.guard.grants.mounts[folder.mount].node, act);
        }
        ErrorCode::Busy.into()
    }
}
