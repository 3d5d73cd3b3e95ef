//! The directory of one control group: makes, locks, writes and removes it, and sweeps those of dead launchers.
//!
//! The process that made a directory holds a lock on it while it lives. A directory that can be locked therefore has no
//! launcher any more: its processes are killed, and it is removed.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use rustix::rand::GetRandomFlags;

use crate::kernel_file;

/// Prefix of each name; a pid and random digits follow.
const PREFIX: &str = "modbox-";

/// How often to try to make a directory: a sweep by another process can lock a new one before its maker does.
const ATTEMPTS: usize = 3;

/// How often to try to remove a group whose last process is about to end, and how long to wait between.
const REMOVALS: u32 = 20;
const REMOVAL_ROUND: Duration = Duration::from_millis(1);

/// Upper bound of the size of the files that are read here.
const MAX_FILE: u64 = 64 << 10;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Directory of a control group, and its parent.
#[derive(Debug)]
pub(super) struct Place {
    parent: OwnedFd,
    name: String,
    /// Open and locked.
    directory: OwnedFd,
}

impl Place {
    /// Makes a directory with a unique name.
    ///
    /// # Errors
    ///
    /// Fails when the parent does not exist, or this user may not make groups in it.
    pub(super) fn make(parent: &Path) -> io::Result<Self> {
        let parent = rustix::fs::open(parent, DIRECTORY, Mode::empty())?;
        let mut last = Errno::AGAIN;
        for _ in 0..ATTEMPTS {
            let name = name()?;
            // Only this user may open it, because a process that can open it can lock it.
            rustix::fs::mkdirat(&parent, &name, Mode::RWXU)?;
            match locked(&parent, &name) {
                Ok(directory) => return Ok(Self { parent, name, directory }),
                Err(errno) => last = errno,
            }
            let _ = rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR);
        }
        Err(last.into())
    }

    /// Writes to one of its files.
    ///
    /// # Errors
    ///
    /// Fails when the file does not exist, or the kernel does not accept the text.
    pub(super) fn write(&self, file: &str, text: &str) -> io::Result<()> {
        File::from(self.open(file)?).write_all(text.as_bytes())
    }

    /// Opens one of its files for writing.
    ///
    /// # Errors
    ///
    /// Fails when the file does not exist.
    pub(super) fn open(&self, file: &str) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.directory, file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?)
    }

    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Reads one of its files.
    ///
    /// # Errors
    ///
    /// Fails when the file does not exist.
    pub(super) fn read(&self, file: &str) -> io::Result<String> {
        kernel_file::read(&self.directory, file, MAX_FILE)
    }

    /// Removes the directory. It stays while it has a process that cannot be killed, for the sweep of a later run.
    pub(super) fn remove(&self) {
        remove(&self.parent, &self.name, || ());
    }

    /// Removes groups beside it whose launchers are gone.
    pub(super) fn sweep(&self) {
        let Ok(entries) = rustix::fs::Dir::read_from(&self.parent) else { return };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().to_str() else { continue };
            if is_ours(name)
                && name != self.name
                && let Ok(directory) = locked(&self.parent, name)
            {
                tracing::debug!(name, "removing a control group that was left");
                remove(&self.parent, name, || kill(&directory));
            }
        }
    }

    #[cfg(test)]
    pub(super) fn path_below(&self, parent: &Path) -> std::path::PathBuf {
        parent.join(&self.name)
    }
}

fn name() -> io::Result<String> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, GetRandomFlags::empty())?;
    let own = rustix::process::getpid().as_raw_nonzero();
    Ok(format!("{PREFIX}{own}-{:016x}", u64::from_ne_bytes(random)))
}

fn is_ours(name: &str) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(number, random)| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && random.len() == 16
            && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Opens and locks a directory. Fails if another process holds the lock.
fn locked(parent: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    let directory = rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())?;
    rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
    Ok(directory)
}

/// Kills the processes of a group whose launcher is gone.
fn kill(directory: &OwnedFd) {
    let kill_file = rustix::fs::openat(directory, "cgroup.kill", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    // `cgroup.kill` does it in one step, on kernels that have it.
    if kill_file.is_ok_and(|kill_file| rustix::io::write(kill_file, b"1").is_ok()) {
        return;
    }
    for pid in processes(&kernel_file::read(directory, "cgroup.procs", MAX_FILE).unwrap_or_default()) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Returns the processes in a list that may be cut off. The last number is dropped if it is incomplete, because it
/// would be the pid of another process.
fn processes(list: &str) -> impl Iterator<Item = Pid> {
    let whole = list.rsplit_once('\n').map_or("", |(whole, _)| whole);
    // Processes of other namespaces are shown as 0.
    whole.lines().filter_map(|line| Pid::from_raw(line.parse().ok().filter(|pid| *pid > 0)?))
}

/// Removes a group. Calls `end` to kill its processes before each attempt, because more may be forked while some are
/// killed.
fn remove(parent: &OwnedFd, name: &str, end: impl Fn()) {
    for _ in 0..REMOVALS {
        end();
        match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::BUSY) => std::thread::sleep(REMOVAL_ROUND),
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_truncated_list_yields_no_truncated_pid() {
        let numbers = |list: &str| -> Vec<i32> { processes(list).map(|pid| pid.as_raw_nonzero().get()).collect() };
        assert_eq!(numbers("12\n0\n345\n67"), [12, 345]);
        assert_eq!(numbers("12\n345\n"), [12, 345]);
        assert_eq!(numbers("67"), [0; 0]);
        assert_eq!(numbers(""), [0; 0]);
    }

    #[test]
    fn only_unlocked_groups_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let [sweeper, living] = [(); 2].map(|()| Place::make(dir.path()).unwrap());
        let dead = "modbox-123-00112233445566ff";
        let others = ["modbox-x-0011223344556677", "modbox-123-", "modbox", "user.slice", "modbox-1-001122334455667"];
        for name in others.iter().chain([&dead]) {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        sweeper.sweep();
        assert!(!dir.path().join(dead).exists());
        for name in others.iter().copied().chain([living.name.as_str(), sweeper.name.as_str()]) {
            assert!(dir.path().join(name).exists(), "{name}");
        }
        sweeper.remove();
        assert!(!dir.path().join(&sweeper.name).exists());
        // The launcher is gone without having removed its group.
        let name = living.name.clone();
        drop(living);
        Place::make(dir.path()).unwrap().sweep();
        assert!(!dir.path().join(name).exists());
    }
}
