//! The room's own file systems: a `/proc` that shows only the room's processes, terminals, and a file system in memory.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};

use crate::inside::mounts::{self, Attributes};
use crate::processes::pid_limit;
use crate::rooms::room::Room;

/// Files and directories in addition to the limit: the watch sees that the limit is exceeded before the file system is full, and
/// the room has its own.
const SLACK_FILES: u64 = 1024;

/// Maximum value that the kernel accepts.
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

/// Makes the module's own file system.
pub(crate) fn private(room: &Room) -> io::Result<OwnedFd> {
    let limits = &room.limits;
    let text = |number: u64| CString::new(number.to_string()).map_err(io::Error::from);
    let files = limits.max_files.saturating_add(SLACK_FILES).min(MAX_FILES);
    let options =
        [(c"size", text(room.private_size())?), (c"nr_inodes", text(files)?), (c"mode", CString::new("755")?)];
    mounts::new(c"tmpfs", &options, Attributes::PLAIN)
}
