//! Sets times by path. wasmtime-wasi opens the file for writing to set them, which waits for ever on a FIFO.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};

use modbox_vocabulary::Operation;
use rustix::fs::{AtFlags, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, NewTimestamp, PathFlags};

use crate::files::errno::failed;
use crate::files::follow::Follow;
use crate::files::guard::GuardView;
use crate::files::stat::is_link;
use crate::files::ways::names::HostName;
use crate::files::ways::target::{Act, Target};

/// Converts WASI's timestamps.
pub(crate) fn read(access: NewTimestamp, modification: NewTimestamp) -> Result<Timestamps, ErrorCode> {
    Ok(Timestamps { last_access: one(access)?, last_modification: one(modification)? })
}

fn one(time: NewTimestamp) -> Result<Timespec, ErrorCode> {
    Ok(match time {
        NewTimestamp::NoChange => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        NewTimestamp::Now => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        NewTimestamp::Timestamp(time) => {
            let carried = time.seconds.checked_add(u64::from(time.nanoseconds / 1_000_000_000));
            let seconds = carried.and_then(|seconds| seconds.try_into().ok()).ok_or(ErrorCode::Overflow)?;
            Timespec { tv_sec: seconds, tv_nsec: (time.nanoseconds % 1_000_000_000).into() }
        }
    })
}

impl GuardView<'_> {
    /// Sets the times of the file at a path.
    pub(crate) fn set_path_times(
        &mut self,
        fd: &Resource<Descriptor>,
        follow: PathFlags,
        path: String,
        times: &Timestamps,
    ) -> FsResult<()> {
        let act = Act::write(Operation::SetTimesAt);
        let follow = Follow::links(follow.contains(PathFlags::SYMLINK_FOLLOW));
        self.on_path(fd, path, (act, follow), |view, target| view.set_target_times(target, follow, times, act))
    }

    /// Sets the times of a target. `None` if it is a link that has to be followed.
    fn set_target_times(
        &mut self,
        target: Target,
        follow: Follow,
        times: &Timestamps,
        act: Act,
    ) -> FsResult<Option<()>> {
        let is_followed = |stat: &Stat| follow == Follow::Always && is_link(stat);
        let set = match target {
            Target::Entry(entry) => {
                if self.stat_unless_followed(&entry, follow)?.is_none() {
                    return Ok(None);
                }
                self.may_change(entry.mount, || entry.guest(), act)?;
                set_name(self.entry_dir(&entry)?, &entry.plain_name(), times)
            }
            Target::Folder(folder) => {
                self.may_change(folder.mount, || folder.path.clone(), act)?;
                rustix::fs::utimensat(&*folder.dir, c"", times, AtFlags::EMPTY_PATH)
            }
            Target::Name { index, dir } => {
                if is_followed(&self.stat_of_name(index, dir)?) {
                    return Ok(None);
                }
                self.writable(index, act)?;
                let host = self.host_name(index);
                set_name(host.parent.as_fd(), &host.name, times)
            }
            Target::Temporary(file) => {
                let host = HostName::from(&file);
                set_name(host.parent.as_fd(), &host.name, times)
            }
            Target::Virtual(node) => return Err(self.deny_node(node, act)),
            Target::Memory(_) => return Err(ErrorCode::NotPermitted.into()),
            Target::Beside(beside) => return Err(self.guard.absent_beside(&beside, act)),
        };
        set.map_err(failed).map(Some)
    }
}

/// Sets the times of a name in a directory.
fn set_name(dir: BorrowedFd<'_>, name: &OsStr, times: &Timestamps) -> rustix::io::Result<()> {
    rustix::fs::utimensat(dir, name, times, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    use rustix::fs::Mode;

    #[test]
    fn setting_the_times_of_a_fifo_does_not_wait() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, Mode::from_raw_mode(0o600)).unwrap();
        let open = std::fs::File::open(dir.path()).unwrap();
        let times = read(NewTimestamp::NoChange, NewTimestamp::Now).unwrap();
        set_name(open.as_fd(), "fifo".as_ref(), &times).unwrap();
    }
}
