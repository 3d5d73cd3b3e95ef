//! `modbox:host/file-systems`: how much space there is where a granted file lies. It tells what `df` tells every user of the
//! machine, of file systems with granted files alone.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use modbox_vocabulary::Operation;
use rustix::fs::{Mode, OFlags, Stat, StatVfs};
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, PathFlags};

use crate::bindings::file_systems_guest::modbox::host::file_systems::{self, FileSystem};
use crate::files::errno::failed;
use crate::files::follow::Follow;
use crate::files::guard::{Files, GuardView, HasGuard};
use crate::files::operations::attributes::downcast;
use crate::files::stat::is_link;
use crate::files::ways::target::{Act, Target};

/// Links the interface.
pub(crate) fn add_file_systems<T: HasGuard + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    file_systems::add_to_linker::<T, Files>(linker, T::guard)
}

impl file_systems::Host for GuardView<'_> {
    fn at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> wasmtime::Result<Result<FileSystem, ErrorCode>> {
        downcast(self.file_system(&fd, flags, path))
    }
}

impl GuardView<'_> {
    fn file_system(&mut self, fd: &Resource<Descriptor>, flags: PathFlags, path: String) -> FsResult<FileSystem> {
        let act = Act::read(Operation::Stat);
        let follow = Follow::links(flags.contains(PathFlags::SYMLINK_FOLLOW));
        self.on_path(fd, path, (act, follow), |view, target| view.file_system_of(target, follow, act))
    }

    /// Returns the file system of a target. `None` if it is a link that has to be followed.
    fn file_system_of(&mut self, target: Target, follow: Follow, act: Act) -> FsResult<Option<FileSystem>> {
        let is_followed = |stat: &Stat| follow == Follow::Always && is_link(stat);
        let found = match target {
            Target::Entry(entry) => {
                if self.stat_unless_followed(&entry, follow)?.is_none() {
                    return Ok(None);
                }
                file_system(open_name(self.entry_dir(&entry)?, &entry.plain_name())?)
            }
            Target::Folder(folder) => file_system(&*folder.dir),
            Target::Name { index, dir } => {
                if is_followed(&self.stat_of_name(index, dir)?) {
                    return Ok(None);
                }
                let host = self.host_name(index);
                file_system(open_name(host.parent.as_fd(), &host.name)?)
            }
            Target::Temporary(file) => file_system(&*file.parent),
            Target::Virtual(_) | Target::Memory(_) => return Err(ErrorCode::Unsupported.into()),
            Target::Beside(beside) => return Err(self.guard.absent_beside(&beside, act)),
        };
        found.map(Some)
    }
}

fn open_name(dir: BorrowedFd<'_>, name: &OsStr) -> FsResult<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty()).map_err(failed)
}

fn file_system(file: impl AsFd) -> FsResult<FileSystem> {
    let StatVfs {
        f_bsize,
        f_frsize,
        f_blocks,
        f_bfree,
        f_bavail,
        f_files,
        f_ffree,
        f_favail,
        f_fsid,
        f_flag,
        f_namemax,
        ..
    } = rustix::fs::fstatvfs(file).map_err(failed)?;
    Ok(FileSystem {
        block_size: f_bsize,
        fragment_size: f_frsize,
        blocks: f_blocks,
        blocks_free: f_bfree,
        blocks_available: f_bavail,
        inodes: f_files,
        inodes_free: f_ffree,
        inodes_available: f_favail,
        identity: f_fsid,
        mount_flags: f_flag.bits(),
        longest_name: f_namemax,
    })
}
