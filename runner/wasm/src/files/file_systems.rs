//! `modbox:host/file-systems`: how much space there is where a granted file lies. It tells what `df` tells every user of the
//! machine, of file systems with granted files alone.

use std::os::fd::AsFd;

use modbox_vocabulary::Operation;
use rustix::fs::{Mode, OFlags, StatVfs};
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, PathFlags};

use crate::bindings::file_systems_guest::modbox::host::file_systems::{self, FileSystem};
use crate::files::attributes::downcast;
use crate::files::guard::{Files, GuardView, HasGuard};
use crate::files::open::open_beneath;
use crate::files::resolve::{Act, Target};

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
        let found = match self.target(fd, path, act)? {
            Target::Real(real) => {
                let mut open = OFlags::PATH | OFlags::CLOEXEC;
                open.set(OFlags::NOFOLLOW, !flags.contains(PathFlags::SYMLINK_FOLLOW));
                let file = open_beneath(self.host_dir(real.dir)?, &real.path, open, Mode::empty());
                file_system(file.map_err(|refused| self.kept_in(&real, act, refused))?)?
            }
            Target::Name { index, dir } => {
                self.stat_of_name(index, dir, flags, act)?;
                let host = self.host_name(index);
                let open = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = rustix::fs::openat(&*host.parent, host.name.as_os_str(), open, Mode::empty());
                file_system(file.map_err(std::io::Error::from)?)?
            }
            Target::Temporary(file) => file_system(&*file.parent)?,
            Target::Virtual(_) | Target::Memory(_) => return Err(ErrorCode::Unsupported.into()),
            Target::Beside(beside) => return Err(self.guard.absent_beside(&beside, act)),
        };
        Ok(found)
    }
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
    } = rustix::fs::fstatvfs(file).map_err(std::io::Error::from)?;
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
