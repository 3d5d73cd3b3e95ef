//! Sets times by path. wasmtime-wasi opens the file for writing to set them, which waits for ever on a FIFO.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, NewTimestamp};

use crate::files::open::{Refusal, open_beneath};

/// Converts WASI's timestamps.
pub(super) fn read(access: NewTimestamp, modification: NewTimestamp) -> Result<Timestamps, ErrorCode> {
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

/// Sets the times of the file that a path beneath a directory leads to, without opening it.
pub(super) fn set_beneath(dir: BorrowedFd<'_>, path: &str, follow: bool, times: &Timestamps) -> Result<(), Refusal> {
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follow);
    let fd = open_beneath(dir, path, flags, Mode::empty())?;
    Ok(rustix::fs::utimensat(fd.as_fd(), c"", times, AtFlags::EMPTY_PATH)?)
}

/// Sets the times of a name in a directory.
pub(super) fn set_name(dir: BorrowedFd<'_>, name: &OsStr, times: &Timestamps) -> rustix::io::Result<()> {
    rustix::fs::utimensat(dir, name, times, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_the_times_of_a_fifo_does_not_wait() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, Mode::from_raw_mode(0o600)).unwrap();
        let open = std::fs::File::open(dir.path()).unwrap();
        let times = read(NewTimestamp::NoChange, NewTimestamp::Now).unwrap();
        set_beneath(open.as_fd(), "fifo", true, &times).unwrap();
        assert!(matches!(set_beneath(open.as_fd(), "../x", true, &times), Err(Refusal::Escape)));
    }
}
