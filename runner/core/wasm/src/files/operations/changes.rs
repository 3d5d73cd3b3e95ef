//! `modbox:host/file-changes`: looks at files and changes of files that neither WASI 0.2 nor `modbox:host/files` has. The
//! paths lead to the same files as in `wasi:filesystem`.

use std::os::fd::AsFd;

use modbox_vocabulary::Operation;
use rustix::fs::{Access, AtFlags, Mode, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, PathFlags};

use crate::bindings::modbox::host::file_changes::{self, FileTimes, Lost, NewTime, Permissions, Time};
use crate::files::errno::failed;
use crate::files::follow::Follow;
use crate::files::guard::{Files, GuardView, HasGuard};
use crate::files::operations::attributes::downcast;
use crate::files::replacing::keep;
use crate::files::stat::is_link;
use crate::files::ways::target::{Act, Entry, Target};

type Fd = Resource<Descriptor>;

/// Links the interface.
pub(crate) fn add_changes<T: HasGuard + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    file_changes::add_to_linker::<T, Files>(linker, T::guard)
}

impl file_changes::Host for GuardView<'_> {
    fn times(&mut self, fd: Fd, flags: PathFlags, path: String) -> wasmtime::Result<Result<FileTimes, ErrorCode>> {
        downcast(self.stat_at(&fd, flags, path).map(|stat| FileTimes {
            access: time(stat.st_atime, stat.st_atime_nsec),
            modification: time(stat.st_mtime, stat.st_mtime_nsec),
            change: time(stat.st_ctime, stat.st_ctime_nsec),
        }))
    }

    fn set_times(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        access: NewTime,
        modification: NewTime,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        let times = Timestamps { last_access: new_time(access), last_modification: new_time(modification) };
        downcast(self.set_path_times(&fd, flags, path, &times))
    }

    fn access(&mut self, fd: Fd, path: String, wanted: Permissions) -> wasmtime::Result<Result<(), ErrorCode>> {
        downcast(self.may_access(&fd, path, wanted))
    }

    fn restrict_new(&mut self, mode: u32) -> wasmtime::Result<u32> {
        Ok(std::mem::replace(&mut self.guard.new_mask, Mode::from_raw_mode(mode & 0o777)).bits())
    }

    fn set_mode(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        mode: u32,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        downcast(self.set_mode_at(&fd, flags, path, Mode::from_raw_mode(mode & 0o7777)))
    }

    fn set_id_bits(&mut self, uid: u32, gid: u32) -> wasmtime::Result<u32> {
        Ok(self.guard.owners.set_id_bits(uid, gid))
    }

    fn replace(
        &mut self,
        fd: Fd,
        path: String,
        new_fd: Fd,
        new_path: String,
    ) -> wasmtime::Result<Result<Lost, ErrorCode>> {
        downcast(self.replace_file((&fd, path), (&new_fd, new_path)).map(|lost| {
            let all = [(lost.owner, Lost::OWNER), (lost.set_id, Lost::SET_ID), (lost.attributes, Lost::ATTRIBUTES)];
            all.into_iter().filter(|(is_lost, _)| *is_lost).fold(Lost::empty(), |sum, (_, flag)| sum | flag)
        }))
    }
}

impl GuardView<'_> {
    fn may_access(&mut self, fd: &Fd, path: String, wanted: Permissions) -> FsResult<()> {
        let act = Act::read(Operation::StatAt);
        self.on_path(fd, path, (act, Follow::Always), |view, target| view.may_access_target(target, wanted, act))
    }

    /// Asks the kernel about a target, by the rights of this process. `None` if it is a link that has to be followed.
    fn may_access_target(&mut self, target: Target, wanted: Permissions, act: Act) -> FsResult<Option<()>> {
        let writes = wanted.contains(Permissions::WRITE);
        let kinds = [
            (Permissions::READ, Access::READ_OK),
            (Permissions::WRITE, Access::WRITE_OK),
            (Permissions::EXECUTE, Access::EXEC_OK),
        ];
        let asked = kinds.into_iter().filter(|(kind, _)| wanted.contains(*kind));
        let asked = asked.fold(Access::EXISTS, |sum, (_, flag)| sum | flag);
        let (allowed, granted) = match target {
            Target::Entry(entry) => {
                if self.stat_unless_followed(&entry, Follow::Always)?.is_none() {
                    return Ok(None);
                }
                let dir = self.entry_dir(&entry)?;
                let allowed = rustix::fs::accessat(dir, entry.plain_name(), asked, AtFlags::EACCESS);
                (allowed, self.guard.grants.mounts[entry.mount].writable)
            }
            Target::Folder(folder) => {
                let allowed = rustix::fs::accessat(&*folder.dir, c".", asked, AtFlags::EACCESS);
                (allowed, self.guard.grants.mounts[folder.mount].writable)
            }
            Target::Name { index, dir } => {
                if is_link(&self.stat_of_name(index, dir)?) {
                    return Ok(None);
                }
                let host = self.host_name(index);
                let allowed = rustix::fs::accessat(host.parent.as_fd(), &*host.name, asked, AtFlags::EACCESS);
                (allowed, self.guard.grants.names[index].writable)
            }
            Target::Temporary(_) => (Ok(()), true),
            Target::Virtual(_) | Target::Memory(_) => (Ok(()), false),
            Target::Beside(beside) => {
                let granted = self.guard.writable_name(beside.dir, &beside.name).filter(|_| writes);
                let Some(index) = granted else { return Err(self.guard.absent_beside(&beside, act)) };
                // A file made there replaces the granted name, which its directory has to allow.
                let parent = self.host_name(index).parent;
                rustix::fs::accessat(parent.as_fd(), c".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
                    .map_err(failed)?;
                return Err(ErrorCode::NoEntry.into());
            }
        };
        allowed.map_err(failed)?;
        if writes && !granted {
            return Err(ErrorCode::Access.into());
        }
        Ok(Some(()))
    }

    fn replace_file(&mut self, from: (&Fd, String), to: (&Fd, String)) -> FsResult<keep::Lost> {
        let act = Act::write(Operation::RenameAt);
        let old = self.target(from.0, from.1.clone(), act)?;
        let new = self.target(to.0, to.1.clone(), act)?;
        match (&old, &new) {
            (Target::Entry(file), Target::Entry(place)) => self.replace_entry(file, place, act),
            (Target::Temporary(file), Target::Name { index, dir }) => self.publish(file, *index, *dir, act),
            (Target::Entry(file), Target::Name { index, dir }) => self.publish_entry(file, *index, *dir, act),
            _ => {
                self.rename_targets(old, new, act)?;
                Ok(keep::Lost::default())
            }
        }
    }

    fn replace_entry(&self, file: &Entry, place: &Entry, act: Act) -> FsResult<keep::Lost> {
        let from = self.may_change(file.mount, || file.guest(), act);
        let to = self.may_change(place.mount, || place.guest(), act);
        from.and(to)?;
        let (from, to) = (self.entry_dir(file)?, self.entry_dir(place)?);
        let (name, new_name) = (file.plain_name(), place.plain_name());
        let there = self.stat_entry(place).ok();
        let mut lost = keep::Lost::default();
        if let Some(stat) = there.filter(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file()) {
            let new = keep::open_to_change(from, &name).map_err(failed)?;
            let old = keep::open_to_keep(to, &new_name);
            lost = keep::keep(
                new.as_fd(),
                &stat,
                old.as_ref().map(AsFd::as_fd),
                keep::Chosen::default(),
                &self.guard.owners,
            );
        }
        let renamed = rustix::fs::renameat(from, file.name_and_slash(), to, place.name_and_slash());
        renamed.map_err(|errno| self.across_devices(errno))?;
        Ok(lost)
    }
}

#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_fallible_conversions,
    reason = "these types differ by architecture"
)]
fn time(seconds: i64, nanoseconds: impl TryInto<u32>) -> Time {
    Time { seconds, nanoseconds: nanoseconds.try_into().unwrap_or(0) }
}

fn new_time(time: NewTime) -> Timespec {
    match time {
        NewTime::Keep => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        NewTime::Now => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        NewTime::At(Time { seconds, nanoseconds }) => {
            Timespec { tv_sec: seconds, tv_nsec: nanoseconds.min(999_999_999).into() }
        }
    }
}
