//! Lists the processes of this machine from `/proc`, and kills a tree of them.
//!
//! The tree is built from the parents of all processes. The shortcut, the `children` file of a thread, is missing from
//! kernels without CONFIG_PROC_CHILDREN, and its manual page calls it unreliable. A list is out of date when it is
//! used. [`kill`] is therefore only called in a loop whose end does not depend on the list, as when `wait` reports that
//! no children are left.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::process::{Pid, Signal};

use crate::kernel_file;

/// A `stat` file is one line of some 300 bytes, a `status` file some 1500 bytes.
const MAX_PROC_FILE: u64 = 16 << 10;

/// The unit of times in `/proc`, USER_HZ: 100 on every architecture that Linux still has.
const MICROS_PER_TICK: u64 = 10_000;

/// Flag of a process that is ending, PF_EXITING of the kernel's `sched.h`.
const EXITING: i64 = 0x4;

/// Above this number the processes to kill are treated as a fork bomb.
const MANY: usize = 32;

/// How long to wait for killed processes to end before looking for more.
pub(crate) const KILL_ROUND: Duration = Duration::from_millis(5);

/// An opened `/proc`.
#[derive(Debug)]
pub(crate) struct Proc {
    directory: OwnedFd,
}

/// Entry of a process in `/proc`; the process may have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    parent: i32,
    group: i32,
    session: i32,
    /// Ended, but not yet waited for.
    pub(crate) zombie: bool,
    /// About to end: it runs nothing of its program any more.
    pub(crate) exiting: bool,
    /// Number of threads, at least one.
    pub(crate) threads: u64,
    /// Processor time of the process and of the children that it has waited for.
    pub(crate) cpu_us: u64,
}

impl From<OwnedFd> for Proc {
    /// Uses a `/proc` that is mounted somewhere else.
    fn from(directory: OwnedFd) -> Self {
        Self { directory }
    }
}

impl Proc {
    /// Opens `/proc`.
    ///
    /// # Errors
    ///
    /// Fails when `/proc` does not exist.
    pub(crate) fn open() -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { directory: rustix::fs::open("/proc", flags, Mode::empty())? })
    }

    /// Returns every visible process.
    ///
    /// # Errors
    ///
    /// Fails when `/proc` cannot be listed. A process that ends meanwhile is left out.
    pub(crate) fn processes(&self) -> io::Result<Vec<Process>> {
        let mut processes = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.directory)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with(|first: char| first.is_ascii_digit())
                && let Ok(stat) = self.read(&format!("{name}/stat"))
            {
                processes.extend(parse_stat(&stat));
            }
        }
        Ok(processes)
    }

    /// Returns the descendants of a process, including ended ones.
    ///
    /// # Errors
    ///
    /// Fails when `/proc` cannot be listed.
    pub(crate) fn descendants(&self, root: Pid) -> io::Result<Vec<Process>> {
        Ok(descendants(self.processes()?, |process| process.parent == root.as_raw_pid()))
    }

    /// Returns the processes of a session and their descendants, without the leader of the session.
    ///
    /// # Errors
    ///
    /// Fails when `/proc` cannot be listed.
    pub(crate) fn session(&self, leader: Pid) -> io::Result<Vec<Process>> {
        let leader = leader.as_raw_pid();
        Ok(descendants(self.processes()?, |process| process.session == leader && process.pid.as_raw_pid() != leader))
    }

    /// Returns the memory that only this process needs: pages that do not belong to a file, also those that are swapped
    /// out, and the tables of its pages. Processes share the pages of programs and libraries, so a sum with those would
    /// count them several times.
    pub(crate) fn memory_bytes(&self, process: &Process) -> u64 {
        let status = self.read(&format!("{}/status", process.pid)).unwrap_or_default();
        let kibibytes = |line: &str| {
            let counted = ["RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"];
            let value = counted.into_iter().find_map(|name| line.strip_prefix(name))?;
            value.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        };
        status.lines().filter_map(kibibytes).sum::<u64>().saturating_mul(1024)
    }

    /// Returns the number of open descriptors of a process.
    ///
    /// # Errors
    ///
    /// Fails when the process has ended, or this user may not look at it.
    pub(crate) fn descriptors(&self, process: &Process) -> io::Result<u64> {
        let path = format!("{}/fd", process.pid);
        match rustix::fs::statat(&self.directory, &*path, AtFlags::empty())?.st_size {
            // Before Linux 6.2, the directory does not have the number of its entries.
            0 => Ok(self.entries(&path)?.count() as u64),
            count => Ok(u64::try_from(count).unwrap_or(0)),
        }
    }

    /// Returns the numbers of the sockets that a process has open.
    pub(crate) fn sockets(&self, process: &Process) -> Vec<u64> {
        let path = format!("{}/fd", process.pid);
        let number = |entry: rustix::fs::DirEntry| {
            let at = format!("{path}/{}", entry.file_name().to_str().ok()?);
            let target = rustix::fs::readlinkat(&self.directory, at, Vec::new()).ok()?;
            target.to_str().ok()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
        };
        self.entries(&path).map(|entries| entries.filter_map(number).collect()).unwrap_or_default()
    }

    /// Lists a directory below `/proc`, up to an error.
    fn entries(&self, path: &str) -> io::Result<impl Iterator<Item = rustix::fs::DirEntry>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&self.directory, path, flags, Mode::empty())?;
        let named = |entry: &rustix::fs::DirEntry| !entry.file_name().to_bytes().starts_with(b".");
        Ok(rustix::fs::Dir::new(directory)?.map_while(Result::ok).filter(named))
    }

    /// Returns the bytes that a process and the children that it has waited for have written to disks, as far as this
    /// user may read that. Returns 0 on kernels that do not count it.
    pub(crate) fn written(&self, process: &Process) -> u64 {
        written(&self.read(&format!("{}/io", process.pid)).unwrap_or_default())
    }

    /// Returns the bytes that this process has written.
    pub(crate) fn written_by_self() -> u64 {
        Self::open().and_then(|proc| proc.read("self/io")).map_or(0, |text| written(&text))
    }

    /// Returns the content of a file below `/proc`, up to [`MAX_PROC_FILE`].
    ///
    /// # Errors
    ///
    /// Fails when the file does not exist or this user may not read it.
    pub(crate) fn read(&self, path: &str) -> io::Result<String> {
        kernel_file::read(&self.directory, path, MAX_PROC_FILE)
    }
}

/// Returns the written bytes from an `io` file.
fn written(io: &str) -> u64 {
    io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok()).unwrap_or(0)
}

/// Kills the processes that `find` returns, once, and returns them. More may have been forked meanwhile, so call this
/// in a loop.
///
/// # Errors
///
/// Fails when `/proc` cannot be listed.
pub(crate) fn kill(find: impl Fn() -> io::Result<Vec<Process>>, spared: Pid) -> io::Result<Vec<Process>> {
    let mut found = find()?;
    if found.len() > MANY {
        // A fork bomb grows back as fast as it is killed. A stopped process does not fork, so after this only the
        // processes that were forked during the look are running.
        signal(&found, spared, Signal::STOP);
        found = find()?;
    }
    signal(&found, spared, Signal::KILL);
    Ok(found)
}

/// Kills the processes that `find` returns, repeatedly, until all of them have ended or `patience` is over.
pub(crate) fn kill_all(find: impl Fn() -> io::Result<Vec<Process>>, spared: Pid, patience: Duration) {
    let end = Instant::now() + patience;
    while let Ok(found) = kill(&find, spared) {
        if found.iter().all(|process| process.zombie) || Instant::now() >= end {
            return;
        }
        std::thread::sleep(KILL_ROUND);
    }
}

/// Signals processes and their process groups: no fork escapes the signal to a group.
fn signal(processes: &[Process], spared: Pid, signal: Signal) {
    let mut groups: Vec<i32> = processes.iter().map(|process| process.group).collect();
    groups.sort_unstable();
    groups.dedup();
    // Groups of descendants contain only descendants, because a group never spans two sessions. But a module without a
    // room can enter the group of the launcher, which is in its session.
    for group in groups.into_iter().filter(|&group| group != spared.as_raw_pid()) {
        if let Some(group) = Pid::from_raw(group) {
            // Errors are ignored: the next look decides.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
    for process in processes.iter().filter(|process| !process.zombie) {
        let _ = rustix::process::kill_process(process.pid, signal);
    }
}

/// Returns the processes for which `is_root` holds, and their descendants.
fn descendants(processes: Vec<Process>, is_root: impl Fn(&Process) -> bool) -> Vec<Process> {
    let mut by_parent: HashMap<i32, Vec<Process>> = HashMap::new();
    let mut found = Vec::new();
    for process in processes {
        if is_root(&process) {
            found.push(process);
        } else {
            by_parent.entry(process.parent).or_default().push(process);
        }
    }
    let mut next = 0;
    while let Some(process) = found.get(next) {
        if let Some(children) = by_parent.remove(&process.pid.as_raw_pid()) {
            found.extend(children);
        }
        next += 1;
    }
    found
}

/// Reads a `stat` line; see proc_pid_stat(5) for the fields.
fn parse_stat(stat: &str) -> Option<Process> {
    // The name in parentheses may itself contain spaces and parentheses.
    let (head, tail) = stat.split_at(stat.rfind(')')?);
    let pid = head.split(' ').next()?.parse().ok()?;
    // Pid and name are cut off, so index 0 is field 3, the state.
    let fields: Vec<&str> = tail.get(2..)?.split(' ').collect();
    let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
    let pid_at = |index: usize| i32::try_from(number(index)?).ok();
    let ticks: i64 = (11..=14).map(|index| number(index).unwrap_or(0)).sum();
    Some(Process {
        pid: Pid::from_raw(pid)?,
        parent: pid_at(1)?,
        group: pid_at(2)?,
        session: pid_at(3)?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        exiting: number(6)? & EXITING != 0,
        threads: u64::try_from(number(17)?).unwrap_or(0).max(1),
        cpu_us: u64::try_from(ticks).unwrap_or(0).saturating_mul(MICROS_PER_TICK),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: i32, parent: i32, session: i32) -> Process {
        let line = format!("{pid} (a) b) S {parent} {pid} {session} 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 1 2 3");
        parse_stat(&line).unwrap()
    }

    fn pids(processes: &[Process]) -> Vec<i32> {
        processes.iter().map(|process| process.pid.as_raw_pid()).collect()
    }

    #[test]
    fn reads_a_stat_line_whose_name_has_a_parenthesis() {
        let process = stat(42, 7, 3);
        assert_eq!((process.parent, process.group, process.session), (7, 42, 3));
        assert_eq!((process.threads, process.cpu_us, process.zombie), (9, 26 * MICROS_PER_TICK, false));
    }

    #[test]
    fn knows_a_process_that_is_ending() {
        assert!(!stat(1, 0, 1).exiting);
        assert!(parse_stat("1 (a) R 0 1 1 0 -1 4194564 1 2 3 4 5 6 7 8 20 0 9 0 1 2 3").unwrap().exiting);
    }

    #[test]
    fn skips_malformed_stat_lines() {
        for text in ["", "1", "1 (sh", "1 (sh)", "1 (sh) S", "x (sh) S 1 1 1"] {
            assert_eq!(parse_stat(text), None, "{text}");
        }
    }

    #[test]
    fn finds_descendants_of_every_depth_and_no_other_processes() {
        let all = vec![stat(9, 5, 1), stat(1, 0, 1), stat(4, 1, 1), stat(5, 2, 1), stat(2, 1, 1), stat(3, 2, 1)];
        assert_eq!(pids(&descendants(all, |process| process.parent == 2)), [5, 3, 9]);
    }

    #[test]
    fn sees_this_process() {
        let own = rustix::process::getpid();
        let processes = Proc::open().unwrap().processes().unwrap();
        let found = processes.into_iter().find(|process| process.pid == own).unwrap();
        assert!(!found.zombie);
        assert!(Proc::open().unwrap().memory_bytes(&found) > 0);
    }
}
