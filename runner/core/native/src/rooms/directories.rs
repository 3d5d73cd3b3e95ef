//! Directories and files of a room's own file system, and those of the machine: how they are made and opened.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Makes a directory in the module's own file system. It gets exactly this mode, since the process that makes a room has no umask.
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
