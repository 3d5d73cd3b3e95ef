//! The directory of transactions, and the directory of one transaction in it, which its process holds locked.
//!
//! It belongs to this user alone, since what it says is acted on. This file does not know what a record says.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

use super::discard::remove_tree;
use super::disk_calls::DiskCalls;
use super::failure::{CommitError, error};
use super::inode;
use super::journal::{MAX_LENGTH, Mark};

/// Name of the file that is locked while a transaction is made or picked up.
const LOCK: &str = "lock";

/// Name of the record of what will hold temporaries.
pub(super) const PREPARE: &str = "prepare";

/// Name of the journal.
pub(super) const JOURNAL: &str = "journal";

/// Name of the directory of what was replaced.
pub(super) const OLD: &str = "old";

/// Name of the summaries of what was published.
pub(super) const PUBLISHED: &str = "published";

/// Directory of transactions.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    dir: OwnedFd,
}

/// Directory of one transaction. Its lock is held.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) dir: OwnedFd,
    state: OwnedFd,
}

impl StateDir {
    /// Opens the directory. Makes it if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if it belongs to another user, or others may use it, or a call fails.
    pub fn open(path: &Path) -> Result<Self, CommitError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|cause| CommitError::Call { verb: "make", path: path.to_path_buf(), cause })?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).map_err(|cause| error("open", path, cause))?;
        let stat = rustix::fs::fstat(&dir).map_err(|cause| error("look at", path, cause))?;
        let unsafe_because = |reason| CommitError::StateDir { path: path.to_path_buf(), reason };
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(unsafe_because("it belongs to another user"));
        }
        if stat.st_mode & 0o077 != 0 {
            return Err(unsafe_because("other users have access to it"));
        }
        Ok(Self { path: path.to_path_buf(), dir })
    }

    /// Makes a transaction.
    pub(super) fn begin(&self, calls: DiskCalls<'_>) -> Result<Run, CommitError> {
        let name = self.new_name()?;
        let path = self.path.join(&name);
        // Held until the new directory is locked, so that recovery does not take it for a left one.
        let _lock = self.lock()?;
        let dir = calls.make_directory(&self.dir, OsStr::new(&name)).map_err(|cause| error("make", &path, cause))?;
        rustix::fs::flock(&dir, FlockOperation::NonBlockingLockExclusive)
            .map_err(|cause| error("lock", &path, cause))?;
        Ok(Run { name, path, dir, state: self.state()? })
    }

    /// Opens a transaction and locks it. Returns `None` if it does not exist or another process has locked it.
    pub(super) fn open_run(&self, name: &str) -> Result<Option<Run>, CommitError> {
        let path = self.path.join(name);
        if !is_run_name(name) {
            return Ok(None);
        }
        let _lock = self.lock()?;
        let dir = match inode::open_entry(&self.dir, OsStr::new(name)) {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened.map_err(|cause| error("open", &path, cause))?,
        };
        match rustix::fs::flock(&dir, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            locked => locked.map_err(|cause| error("lock", &path, cause))?,
        }
        Ok(Some(Run { name: name.to_owned(), path, dir, state: self.state()? }))
    }

    /// Returns the names of all transactions, oldest first.
    pub(super) fn names(&self) -> Result<Vec<String>, CommitError> {
        let names = inode::names(&self.dir).map_err(|cause| error("list", &self.path, cause))?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).filter(|name| is_run_name(name)).collect())
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn state(&self) -> Result<OwnedFd, CommitError> {
        self.dir.try_clone().map_err(|cause| CommitError::Call { verb: "open", path: self.path.clone(), cause })
    }

    fn lock(&self) -> Result<OwnedFd, CommitError> {
        let path = self.path.join(LOCK);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = rustix::fs::openat(&self.dir, LOCK, flags, Mode::from_raw_mode(0o600));
        let lock = lock.map_err(|cause| error("open", &path, cause))?;
        rustix::io::retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::LockExclusive))
            .map_err(|cause| error("lock", &path, cause))?;
        Ok(lock)
    }

    /// Returns a name that no other transaction has. Names are in the order of time.
    fn new_name(&self) -> Result<String, CommitError> {
        let mut random = [0_u8; 4];
        rustix::rand::getrandom(&mut random, GetRandomFlags::empty())
            .map_err(|cause| error("name a transaction in", &self.path, cause))?;
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let nanoseconds = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
        Ok(format!("{nanoseconds:016x}{:08x}", u32::from_le_bytes(random)))
    }
}

fn is_run_name(name: &str) -> bool {
    name.len() == 24 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Drop for Run {
    fn drop(&mut self) {
        // A process that another thread is just starting has the same open directory until it runs its program, and
        // would keep the lock. Closing unlocks too, so a failure does not matter.
        let _ = rustix::fs::flock(&self.dir, FlockOperation::Unlock);
    }
}

impl Run {
    /// Writes a record. A reader sees all of it or nothing.
    pub(super) fn write(&self, calls: DiskCalls<'_>, name: &str, text: &str, durable: bool) -> Result<(), CommitError> {
        let path = self.path.join(name);
        let new = format!("{name}.new");
        let written = (|| {
            let file = calls.make_file(&self.dir, OsStr::new(&new))?;
            calls.append(&file, text.as_bytes())?;
            if durable {
                calls.sync_file(&file)?;
            }
            calls.replace(&self.dir, OsStr::new(&new), OsStr::new(name))?;
            if durable {
                calls.sync_file(&self.dir)?;
                calls.sync_file(&self.state)?;
            }
            Ok(())
        })();
        written.map_err(|cause| error("write", &path, cause))
    }

    /// Reads a record. Returns `None` if it was not written.
    pub(super) fn read(&self, name: &str) -> Result<Option<String>, CommitError> {
        let path = self.path.join(name);
        let file = match inode::open_entry(&self.dir, OsStr::new(name)) {
            Err(Errno::NOENT) => return Ok(None),
            opened => File::from(opened.map_err(|cause| error("open", &path, cause))?),
        };
        let mut text = String::new();
        let limit = u64::try_from(MAX_LENGTH).unwrap_or(u64::MAX);
        match file.take(limit).read_to_string(&mut text) {
            Ok(_) => Ok(Some(text)),
            Err(cause) if cause.kind() == std::io::ErrorKind::InvalidData => Ok(Some(String::new())),
            Err(cause) => Err(CommitError::Call { verb: "read", path, cause }),
        }
    }

    /// Notes how far the transaction has come. A note that is cut by a crash was not made.
    pub(super) fn mark(&self, calls: DiskCalls<'_>, mark: Mark, durable: bool) -> Result<(), CommitError> {
        let path = self.path.join(JOURNAL);
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let marked = rustix::fs::openat(&self.dir, JOURNAL, flags, Mode::empty()).and_then(|file| {
            let line = mark.line().map_err(|_| Errno::INVAL)?;
            let file = File::from(file);
            // The line before may be one that was cut.
            calls.append(&file, format!("\n{line}").as_bytes())?;
            if durable { calls.sync_file(&file) } else { Ok(()) }
        });
        marked.map_err(|cause| error("write", &path, cause))
    }

    /// Removes the transaction.
    pub(super) fn remove(&self, calls: DiskCalls<'_>) -> Result<(), CommitError> {
        remove_tree(calls, self.state.as_fd(), OsStr::new(&self.name))
            .map_err(|cause| error("remove", &self.path, cause))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::commit::fault::NoFault;

    #[test]
    fn a_directory_that_others_use_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("state/transactions");
        StateDir::open(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        for mode in [0o750, 0o701, 0o777] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let error = StateDir::open(&path).unwrap_err();
            assert!(matches!(error, CommitError::StateDir { .. }), "{mode:o}: {error}");
        }
        std::os::unix::fs::symlink(&path, base.path().join("link")).unwrap();
        StateDir::open(&base.path().join("link")).unwrap_err();
    }

    #[test]
    fn a_transaction_of_a_living_process_is_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let state = StateDir::open(&base.path().join("state")).unwrap();
        let run = state.begin(DiskCalls::new(&NoFault)).unwrap();
        assert!(state.open_run(&run.name).unwrap().is_none());
        let name = run.name.clone();
        drop(run);
        assert!(state.open_run(&name).unwrap().is_some());
        assert_eq!(state.names().unwrap(), [name]);
        assert!(state.open_run("../other").unwrap().is_none());
    }
}
