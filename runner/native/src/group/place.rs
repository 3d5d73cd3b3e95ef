//! The directory of one control group: made, locked, written, removed; and those of dead launchers, swept.
//!
//! Whoever made one holds a lock on it for as long as it lives. So one that can be locked has nobody any more: what is
//! still in it is killed, and it is removed.

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

/// What the name of each begins with; a number and random digits follow.
const PREFIX: &str = "modbox-";

/// Somebody who sweeps can be quicker than whoever has just made one.
const ATTEMPTS: usize = 3;

/// How often to try to remove one whose last process is about to be gone, and what to wait between.
const REMOVALS: u32 = 20;
const REMOVAL_ROUND: Duration = Duration::from_millis(1);

/// More than any file of a group has that is read here.
const MAX_FILE: u64 = 64 << 10;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// One directory, and the one that it is in.
#[derive(Debug)]
pub(super) struct Place {
    parent: OwnedFd,
    name: String,
    /// Locked.
    directory: OwnedFd,
}

impl Place {
    /// Makes one with a name of its own.
    ///
    /// # Errors
    ///
    /// A parent that is not there, or in which this user may make none.
    pub(super) fn make(parent: &Path) -> io::Result<Self> {
        let parent = rustix::fs::open(parent, DIRECTORY, Mode::empty())?;
        let mut last = Errno::AGAIN;
        for _ in 0..ATTEMPTS {
            let name = name()?;
            // Nobody else's business: who could open it could lock it.
            rustix::fs::mkdirat(&parent, &name, Mode::RWXU)?;
            match locked(&parent, &name) {
                Ok(directory) => return Ok(Self { parent, name, directory }),
                Err(errno) => last = errno,
            }
            let _ = rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR);
        }
        Err(last.into())
    }

    /// Writes a file of it.
    ///
    /// # Errors
    ///
    /// A file that is not there, or a text that the kernel does not take.
    pub(super) fn write(&self, file: &str, text: &str) -> io::Result<()> {
        File::from(self.open(file)?).write_all(text.as_bytes())
    }

    /// Opens a file of it for writing.
    ///
    /// # Errors
    ///
    /// A file that is not there.
    pub(super) fn open(&self, file: &str) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.directory, file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?)
    }

    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Reads a file of it.
    ///
    /// # Errors
    ///
    /// A file that is not there.
    pub(super) fn read(&self, file: &str) -> io::Result<String> {
        kernel_file::read(&self.directory, file, MAX_FILE)
    }

    /// Removes it. While something is in it that cannot be killed it stays, for the sweep of a later run.
    pub(super) fn remove(&self) {
        remove(&self.parent, &self.name, || ());
    }

    /// Removes those beside it whose launchers are gone.
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

/// Opens a directory that nobody has locked, and locks it.
fn locked(parent: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    let directory = rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())?;
    rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
    Ok(directory)
}

/// Kills what is in a group that nobody looks after.
fn kill(directory: &OwnedFd) {
    let door = rustix::fs::openat(directory, "cgroup.kill", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    // In one step, where the kernel has one.
    if door.is_ok_and(|door| rustix::io::write(door, b"1").is_ok()) {
        return;
    }
    for pid in processes(&kernel_file::read(directory, "cgroup.procs", MAX_FILE).unwrap_or_default()) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// The processes in a list that may have been cut off: the rest of a number would be somebody else's.
fn processes(list: &str) -> impl Iterator<Item = Pid> {
    let whole = list.rsplit_once('\n').map_or("", |(whole, _)| whole);
    // Those of other namespaces are shown as 0.
    whole.lines().filter_map(|line| Pid::from_raw(line.parse().ok().filter(|pid| *pid > 0)?))
}

/// Removes a group, and ends what is in the way: more may be born while some are killed.
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
    fn a_list_that_was_cut_off_names_nobody_by_half_a_number() {
        let numbers = |list: &str| -> Vec<i32> { processes(list).map(|pid| pid.as_raw_nonzero().get()).collect() };
        assert_eq!(numbers("12\n0\n345\n67"), [12, 345]);
        assert_eq!(numbers("12\n345\n"), [12, 345]);
        assert_eq!(numbers("67"), [0; 0]);
        assert_eq!(numbers(""), [0; 0]);
    }

    #[test]
    fn only_what_nobody_holds_is_swept() {
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
        // Its maker is gone, without having removed it.
        let name = living.name.clone();
        drop(living);
        Place::make(dir.path()).unwrap().sweep();
        assert!(!dir.path().join(name).exists());
    }
}
