//! The room's own file systems: a `/proc` that shows only the room's processes, terminals, and a file system in memory.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::host::room::Room;
use crate::inside::mounts::{self, Attributes};
use crate::inside::pid_limit;

/// Bytes in addition to the limit, so that the watch sees that the limit is exceeded before the file system is full.
const SLACK: u64 = 1 << 20;

/// Files and directories in addition to the limit, for the same reason and for the room's own.
const SLACK_FILES: u64 = 1024;

/// Maximum values that the kernel accepts.
const MAX_SIZE: u64 = 1 << 60;
const MAX_FILES: u64 = 1 << 48;

/// Minimum to which the number of processes can be limited: 301 (`RESERVED_PIDS` of the kernel). The slack lets the
/// watch see that there are more than allowed.
const LEAST_PIDS: u64 = 301;
const SLACK_PIDS: u64 = 32;

/// Makes the room's own `/proc`, which shows only its processes and limits their number.
pub(crate) fn proc(room: &Room) -> io::Result<OwnedFd> {
    let proc = mounts::new(c"proc", &[], Attributes::PLAIN)?;
    let most = LEAST_PIDS.max(room.limits.max_processes.saturating_add(SLACK_PIDS));
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    // Before Linux 6.14 this file is the machine's own limit, which only root in the first user namespace could change.
    if pid_limit::is_per_namespace()
        && let Ok(limit) = rustix::fs::openat(&proc, "sys/kernel/pid_max", flags, Mode::empty())
    {
        // A limit above the machine's own has no effect, and then only the watch counts.
        let _ = File::from(limit).write_all(most.to_string().as_bytes());
    }
    mounts::restrict(&proc, Attributes::READ_ONLY)?;
    Ok(proc)
}

/// Makes the room's own terminals, for programs that control other programs through a terminal. Other terminals are
/// not visible in it.
pub(crate) fn terminals() -> io::Result<OwnedFd> {
    let options = [(c"mode", CString::new("600")?), (c"ptmxmode", CString::new("666")?)];
    mounts::new(c"devpts", &options, Attributes::DEVICE)
}

/// Returns the size of the module's own file system in bytes.
pub(crate) fn private_size(room: &Room) -> u64 {
    let limits = &room.limits;
    limits.max_tmp.saturating_add(SLACK).saturating_add(limits.max_disk.min(SLACK * 64)).min(MAX_SIZE)
}

/// Makes the module's own file system.
pub(crate) fn private(room: &Room) -> io::Result<OwnedFd> {
    let limits = &room.limits;
    let text = |number: u64| CString::new(number.to_string()).map_err(io::Error::from);
    let files = limits.max_files.saturating_add(SLACK_FILES).min(MAX_FILES);
    let options = [(c"size", text(private_size(room))?), (c"nr_inodes", text(files)?), (c"mode", CString::new("755")?)];
    mounts::new(c"tmpfs", &options, Attributes::PLAIN)
}

/// Makes a directory in it with exactly this mode, because there is no umask while a room is made.
pub(crate) fn make_directory(private: &OwnedFd, name: &str, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::mkdirat(private, name, Mode::from_raw_mode(mode))?)
}

/// Opens a directory of the machine.
pub(crate) fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Opens a mounted directory for listing; the mount's own descriptor is opened with `O_PATH`.
pub(crate) fn listing_of(mounted: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(mounted, ".", flags, Mode::empty())?)
}

/// Opens a file of the room's own, to mount it.
pub(crate) fn open_file_below(private: &OwnedFd, below: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    Ok(rustix::fs::openat2(private, below, flags, Mode::empty(), within)?)
}

/// Opens one of the room's own directories, and makes missing ones on the way.
pub(crate) fn open_below(private: &OwnedFd, below: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    if let Ok(opened) = rustix::fs::openat2(private, below, flags, Mode::empty(), within) {
        return Ok(opened);
    }
    let mut opened = rustix::fs::openat(private, ".", flags, Mode::empty())?;
    for component in below {
        match rustix::fs::mkdirat(&opened, component, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        opened = rustix::fs::openat(opened.as_fd(), component, flags, Mode::empty())?;
    }
    Ok(opened)
}
