//! Locks that let only one process make an entry at a time, so that two hundred runs of a new module compile it once.
//!
//! There is a fixed number of lock files, and a key selects one of them. Two keys that share a lock file delay each
//! other, but never for longer than [`MAX_WAIT`]. A lock belongs to the open file, so the kernel releases it when its
//! process is killed, and no stale lock is left behind.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Name of the folder with the lock files.
pub(crate) const NAME: &str = "locks";

/// Number of lock files: many more than a machine has processors, so that keys that share one rarely meet.
const FILES: u8 = 64;

/// How long a run waits for another one that makes the same entry. A language runtime takes ten seconds to compile.
const MAX_WAIT: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(5);

/// Lock that is held while an entry is made.
#[derive(Debug)]
pub struct StoreLock {
    file: File,
}

impl Drop for StoreLock {
    /// Unlocks the file: closing it would not if a process that was forked meanwhile still has it open.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Waits for the lock of a key, at most [`MAX_WAIT`]. Returns `None` without the lock.
pub(crate) fn wait(dir: &Path, key: &str) -> Option<StoreLock> {
    let file = open(dir, key).ok()?;
    let deadline = Instant::now() + MAX_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Some(StoreLock { file }),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
            // Locked for too long, or the filesystem has no locks.
            Err(_) => return None,
        }
    }
}

/// Opens the lock file of a key, which stays empty.
fn open(dir: &Path, key: &str) -> io::Result<File> {
    let locks = dir.join(NAME);
    match DirBuilder::new().mode(0o700).create(&locks) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let file = locks.join(format!("{:02x}", blake3::hash(key.as_bytes()).as_bytes()[0] % FILES));
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).custom_flags(no_follow).open(file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_lock_excludes_its_own_key_only_and_ends_with_its_holder() {
        let dir = tempfile::tempdir().unwrap();
        let held = wait(dir.path(), "a").unwrap();
        let again = open(dir.path(), "a").unwrap();
        assert!(matches!(again.try_lock(), Err(TryLockError::WouldBlock)));
        open(dir.path(), "b").unwrap().try_lock().unwrap();
        drop(held);
        again.try_lock().unwrap();
    }

    #[test]
    fn many_keys_share_a_few_files() {
        let dir = tempfile::tempdir().unwrap();
        for key in 0..1000 {
            assert!(wait(dir.path(), &key.to_string()).is_some());
        }
        assert_eq!(fs::read_dir(dir.path().join(NAME)).unwrap().count(), usize::from(FILES));
    }
}
