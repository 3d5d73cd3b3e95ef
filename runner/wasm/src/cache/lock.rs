//! Locks that let only one process compile a module at a time, so that two hundred runs of a new module compile it
//! once.
//!
//! All locks are in one file. Each is a lock on one byte, at an offset derived from the entry's name. A lock belongs to
//! the open file, so the kernel releases it when its process is killed, and no stale lock is left behind.

use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, thread};

pub(super) const NAME: &str = "lock";

/// How long a run waits for another one that compiles the same module. A language runtime takes ten seconds to compile.
const MAX_WAIT: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(5);

/// A lock that is held while a module is compiled.
#[derive(Debug)]
pub(crate) struct CompileLock {
    _file: File,
}

/// Waits for the lock of a name, at most [`MAX_WAIT`]. Returns `None` without the lock.
pub(super) fn wait(dir: &Path, name: &str) -> Option<CompileLock> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(dir.join(NAME)).ok()?;
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    // The offset is signed, and the end of the byte must still fit.
    let place = libc::off_t::try_from(hasher.finish() >> 2).ok()?;
    let deadline = Instant::now() + MAX_WAIT;
    loop {
        match try_lock(&file, place) {
            Ok(()) => return Some(CompileLock { _file: file }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                thread::sleep(PAUSE);
            }
            // Locked for too long, or the filesystem has no locks.
            Err(_) => return None,
        }
    }
}

#[expect(unsafe_code, reason = "rustix has no locks that belong to an open file and to a part of it")]
fn try_lock(file: &File, place: libc::off_t) -> io::Result<()> {
    let short = |number: libc::c_int| number.try_into().unwrap_or(libc::c_short::MAX);
    let (kind, whence) = (short(libc::F_WRLCK), short(libc::SEEK_SET));
    let wanted = libc::flock { l_type: kind, l_whence: whence, l_start: place, l_len: 1, l_pid: 0 };
    // SAFETY: with F_OFD_SETLK, fcntl reads one `flock` through its third argument, which points to a live local of
    // that type, and writes nothing. The descriptor is open for as long as `file` is borrowed.
    let status = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const wanted) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_excludes_its_own_name_only_and_ends_with_its_holder() {
        let dir = tempfile::tempdir().unwrap();
        let held = wait(dir.path(), "a").unwrap();
        let place = |name: &str| {
            let mut hasher = DefaultHasher::new();
            name.hash(&mut hasher);
            libc::off_t::try_from(hasher.finish() >> 2).unwrap()
        };
        let again = OpenOptions::new().write(true).open(dir.path().join(NAME)).unwrap();
        assert_eq!(try_lock(&again, place("a")).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        try_lock(&again, place("b")).unwrap();
        drop(held);
        try_lock(&again, place("a")).unwrap();
    }
}
