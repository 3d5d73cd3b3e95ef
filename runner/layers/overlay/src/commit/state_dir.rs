//! The directory of transactions, and the record of one transaction in it, which its process holds locked.
//!
//! A record is one file: first what is prepared, then the journal. Its name says whether the journal is decided. Making
//! and removing a directory for each transaction takes longer than all other work for one file. The directory belongs to
//! this user alone, since what it says is acted on. This file does not know what a record says.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

use super::discard::remove_tree;
use super::disk_calls::DiskCalls;
use super::failure::{CommitError, error};
use super::inode::{self, look};
use super::journal::{MAX_LENGTH, Mark};

/// Name of the file that is locked while a transaction is made or picked up.
const LOCK: &str = "lock";

/// End of the name of a record that is not decided.
const PREPARED: &str = ".prepared";

/// End of the name of the directory of what was replaced.
const KEPT: &str = ".kept";

/// Name in that directory of the summaries of what was published.
const PUBLISHED: &str = "published";

/// Directory of transactions.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    dir: OwnedFd,
}

/// Transaction. The lock of its record is held.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) name: String,
    /// Path of the record.
    pub(super) path: PathBuf,
    record: File,
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
        // Held until the new record is locked, so that recovery does not take it for a left one.
        let _lock = self.lock()?;
        let record = calls.make_file(&self.dir, &prepared(&name)).map_err(|cause| error("make", &path, cause))?;
        rustix::fs::flock(&record, FlockOperation::NonBlockingLockExclusive)
            .map_err(|cause| error("lock", &path, cause))?;
        Ok(Run { name, path, record, state: self.state()? })
    }

    /// Opens a transaction and locks it. Returns `None` if it does not exist or another process has locked it.
    pub(super) fn open_run(&self, name: &str) -> Result<Option<Run>, CommitError> {
        let path = self.path.join(name);
        if !is_run_name(name) {
            return Ok(None);
        }
        let _lock = self.lock()?;
        let Some(record) = self.open_record(name).map_err(|cause| error("open", &path, cause))? else {
            return Ok(None);
        };
        match rustix::fs::flock(&record, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            locked => locked.map_err(|cause| error("lock", &path, cause))?,
        }
        // Its process can have ended it since it was opened.
        let is_removed = rustix::fs::fstat(&record).map_err(|cause| error("look at", &path, cause))?.st_nlink == 0;
        Ok(if is_removed { None } else { Some(Run { name: name.to_owned(), path, record, state: self.state()? }) })
    }

    fn open_record(&self, name: &str) -> rustix::io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = |name: &OsStr| rustix::fs::openat(&self.dir, name, flags, Mode::empty());
        // A directory or a link by this name is another thing than a record, and must not keep others from being found.
        let is_none =
            |opened: &rustix::io::Result<OwnedFd>| matches!(opened, Err(Errno::NOENT | Errno::ISDIR | Errno::LOOP));
        let mut opened = open(OsStr::new(name));
        if is_none(&opened) {
            // It is decided between both looks if its process lives, and then it is locked.
            opened = open(&prepared(name));
        }
        if is_none(&opened) { Ok(None) } else { opened.map(|record| Some(File::from(record))) }
    }

    /// Returns the names of all transactions, oldest first.
    pub(super) fn names(&self) -> Result<Vec<String>, CommitError> {
        let names = inode::names(&self.dir).map_err(|cause| error("list", &self.path, cause))?;
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        let names = names.map(|name| name.strip_suffix(PREPARED).map_or_else(|| name.clone(), str::to_owned));
        Ok(names.filter(|name| is_run_name(name)).collect())
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

fn prepared(name: &str) -> OsString {
    format!("{name}{PREPARED}").into()
}

impl Drop for Run {
    fn drop(&mut self) {
        // A process that another thread is just starting has the same open file until it runs its program, and would
        // keep the lock. Closing unlocks too, so a failure does not matter.
        let _ = rustix::fs::flock(&self.record, FlockOperation::Unlock);
    }
}

impl Run {
    /// Adds to the record, behind what it has. What is added by a call that is interrupted can be cut.
    fn add(&self, calls: DiskCalls<'_>, text: &str, durable: bool) -> rustix::io::Result<()> {
        rustix::fs::seek(&self.record, SeekFrom::End(0))?;
        calls.append(&self.record, text.as_bytes())?;
        if durable { calls.sync_file(&self.record) } else { Ok(()) }
    }

    /// Writes what is prepared. Nothing may be made before.
    pub(super) fn prepare(&self, calls: DiskCalls<'_>, text: &str, durable: bool) -> Result<(), CommitError> {
        let written = self.add(calls, text, durable).and_then(|()| self.sync_names(calls, durable));
        written.map_err(|cause| error("write", &self.path, cause))
    }

    /// Writes the journal, and decides: from then on, recovery goes forward.
    pub(super) fn decide(&self, calls: DiskCalls<'_>, text: &str, durable: bool) -> Result<(), CommitError> {
        let decided = self.add(calls, text, durable).and_then(|()| {
            calls.replace(&self.state, &prepared(&self.name), OsStr::new(&self.name))?;
            self.sync_names(calls, durable)
        });
        decided.map_err(|cause| error("write", &self.path, cause))
    }

    /// Takes the decision back: from then on, recovery only removes temporaries.
    pub(super) fn take_decision_back(&self, calls: DiskCalls<'_>) -> rustix::io::Result<()> {
        match calls.replace(&self.state, OsStr::new(&self.name), &prepared(&self.name)) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }

    /// Returns whether the journal is decided.
    pub(super) fn is_decided(&self) -> Result<bool, CommitError> {
        let found = look(&self.state, OsStr::new(&self.name)).map_err(|cause| error("look at", &self.path, cause))?;
        Ok(found.is_some())
    }

    /// Notes how far the transaction has come. A note that is cut by a crash was not made.
    pub(super) fn mark(&self, calls: DiskCalls<'_>, mark: Mark, durable: bool) -> Result<(), CommitError> {
        let line = mark.line().map_err(|_| Errno::INVAL);
        // The line before may be one that was cut.
        let marked = line.and_then(|line| self.add(calls, &format!("\n{line}"), durable));
        marked.map_err(|cause| error("write", &self.path, cause))
    }

    /// Returns the text of the record.
    pub(super) fn read(&self) -> Result<String, CommitError> {
        rustix::fs::seek(&self.record, SeekFrom::Start(0)).map_err(|cause| error("read", &self.path, cause))?;
        read_text(&self.record).map_err(|cause| CommitError::Call { verb: "read", path: self.path.clone(), cause })
    }

    /// Returns the directory of what was replaced, if there is one.
    pub(super) fn kept(&self) -> rustix::io::Result<Option<OwnedFd>> {
        match inode::open_entry(&self.state, &self.kept_name()) {
            Err(Errno::NOENT) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Returns the directory of what was replaced. Makes it if it does not exist.
    pub(super) fn make_kept(&self, calls: DiskCalls<'_>) -> rustix::io::Result<OwnedFd> {
        match self.kept()? {
            Some(kept) => Ok(kept),
            None => calls.make_directory(&self.state, &self.kept_name()),
        }
    }

    /// Writes the summaries of what was published, if that is not done. A reader sees all of it or nothing.
    pub(super) fn write_published(&self, calls: DiskCalls<'_>, text: &str, durable: bool) -> rustix::io::Result<()> {
        let new = OsStr::new("published.new");
        let kept = self.make_kept(calls)?;
        // One that a crash has left is not complete.
        remove_tree(calls, &kept, new)?;
        let file = calls.make_file(&kept, new)?;
        calls.append(&file, text.as_bytes())?;
        if durable {
            calls.sync_file(&file)?;
        }
        calls.replace(&kept, new, OsStr::new(PUBLISHED))?;
        if durable {
            calls.sync_file(&kept)?;
        }
        self.sync_names(calls, durable)
    }

    /// Returns the summaries of what was published, if they were written.
    pub(super) fn read_published(&self) -> Result<Option<String>, CommitError> {
        let failed = |cause| CommitError::Call { verb: "read", path: self.path.clone(), cause };
        let Some(kept) = self.kept().map_err(|cause| failed(cause.into()))? else { return Ok(None) };
        match inode::open_entry(kept, OsStr::new(PUBLISHED)) {
            Err(Errno::NOENT) => Ok(None),
            opened => {
                let opened = File::from(opened.map_err(|cause| failed(cause.into()))?);
                read_text(&opened).map(Some).map_err(failed)
            }
        }
    }

    /// Removes the transaction.
    pub(super) fn remove(&self, calls: DiskCalls<'_>) -> Result<(), CommitError> {
        let names = [self.kept_name(), prepared(&self.name), OsString::from(&self.name)];
        let removed = names.iter().try_for_each(|name| remove_tree(calls, &self.state, name));
        removed.map_err(|cause| error("remove", &self.path, cause))
    }

    fn kept_name(&self) -> OsString {
        format!("{}{KEPT}", self.name).into()
    }

    fn sync_names(&self, calls: DiskCalls<'_>, durable: bool) -> rustix::io::Result<()> {
        if durable { calls.sync_file(&self.state) } else { Ok(()) }
    }
}

/// Reads a file within the bound of a record. What is not text matches no checksum, so it is as good as none.
fn read_text(file: &File) -> std::io::Result<String> {
    let mut text = String::new();
    match file.take(u64::try_from(MAX_LENGTH).unwrap_or(u64::MAX)).read_to_string(&mut text) {
        Ok(_) => Ok(text),
        Err(cause) if cause.kind() == std::io::ErrorKind::InvalidData => Ok(String::new()),
        Err(cause) => Err(cause),
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
