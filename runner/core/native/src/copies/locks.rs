//! Locks on files that a module only reads, which would keep other programs of the machine from their own files.
//!
//! The kernel gives an exclusive lock (`flock`) on a descriptor that was opened for reading alone, and a lease to the
//! owner of a file. Its other exclusive locks need a descriptor for writing. The filter of a room reports both calls, and
//! the launcher refuses them. A shared lock is allowed: programs that read a database take one.
//!
//! The launcher looks at the descriptor before the call goes on. So a module with two threads can exchange the
//! descriptor in between; it then holds such a lock until it ends, or until its time is over.

use std::fs;
use std::path::{Path, PathBuf};

use modbox_kernel::ReportedCall;
use modbox_policy::{Access, Shape};
use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags};

use crate::rooms::base;
use crate::rooms::room::Room;

/// Returns the path of the file that a module would lock for itself alone although it only reads it. `descriptor` is the
/// call's first argument.
pub(crate) fn refused(report: &ReportedCall, descriptor: i32, room: &Room, namespaces: bool) -> Option<PathBuf> {
    let own = format!("/proc/{}", report.thread);
    let link = format!("{own}/fd/{descriptor}");
    if is_for_writing(&format!("{own}/fdinfo/{descriptor}"))? {
        return None;
    }
    let path = fs::read_link(&link).ok().filter(|path| path.is_absolute())?;
    let is_read = if namespaces {
        // What the module only reads is mounted for reading.
        let file = rustix::fs::openat(CWD, &link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        rustix::fs::fstatvfs(&file).ok()?.f_flag.contains(StatVfsMountFlags::RDONLY)
    } else {
        is_read_on_host(room, &path)
    };
    is_read.then_some(path)
}

/// Returns whether a descriptor was opened for writing, from its file below `/proc`.
fn is_for_writing(info: &str) -> Option<bool> {
    let info = crate::kernel_file::read(CWD, info, 4096).ok()?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = i32::from_str_radix(flags.trim(), 8).ok()?;
    Some(flags & libc::O_ACCMODE != libc::O_RDONLY)
}

fn is_read_on_host(room: &Room, path: &Path) -> bool {
    let around = room.grants.iter().filter(|grant| match grant.shape {
        Shape::Directory => path.starts_with(&grant.host),
        Shape::Name => path == grant.host,
    });
    match around.max_by_key(|grant| grant.host.as_os_str().len()) {
        Some(grant) => grant.access == Access::Read,
        None => base::paths().any(|base| path.starts_with(base)),
    }
}
