//! Processes that a module leaves running when it has ended by itself.
//!
//! In a room they end with it, so that what they were started for is lost; the run says which they were. Helpers that are about to
//! end get a moment to do so; one that a signal has killed gets longer, since a busy machine may not let it run in that moment.

use std::io;
use std::time::{Duration, Instant};

use crate::processes::tree::{KILL_ROUND, Proc, Process};

/// How long processes may take to end after the module.
const GRACE: Duration = Duration::from_millis(500);

/// How long killed processes may take to end after the module.
const KILLED_GRACE: Duration = Duration::from_secs(10);

/// Signals that end no process by themselves, as bits of a set: CHLD, CONT, STOP, TSTP, TTIN, TTOU, URG, and WINCH. See signal(7).
const HARMLESS: u64 = 1 << 16 | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 20 | 1 << 21 | 1 << 22 | 1 << 27;

/// How many of them are named, and how many characters of each name.
const MAX_NAMES: usize = 20;
const MAX_NAME: usize = 64;

/// Waits until `find` finds no processes, for a moment, and returns those that are left. `find` also waits for children that have ended.
pub(crate) fn after_a_moment(proc: &Proc, mut find: impl FnMut() -> io::Result<Vec<Process>>) -> Vec<Process> {
    let start = Instant::now();
    loop {
        let mut left = find().unwrap_or_default();
        left.retain(|process| !process.zombie);
        let waited = start.elapsed();
        let is_over = waited >= KILLED_GRACE || waited >= GRACE && !left.iter().any(|process| is_ending(proc, process));
        if left.is_empty() || is_over {
            return left;
        }
        std::thread::sleep(KILL_ROUND);
    }
}

/// Returns whether a process ends as soon as it is allowed to run.
fn is_ending(proc: &Proc, process: &Process) -> bool {
    process.exiting || proc.read(&format!("{}/status", process.pid)).is_ok_and(|status| is_killed(&status))
}

/// Returns whether a signal that ends its process is pending, from a `status` file of `/proc`.
fn is_killed(status: &str) -> bool {
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
    };
    let pending = set("SigPnd:") | set("ShdPnd:");
    pending & !(set("SigBlk:") | set("SigIgn:") | set("SigCgt:") | HARMLESS) != 0
}

/// Returns the names of processes.
pub(crate) fn named(proc: &Proc, left: &[Process]) -> Vec<String> {
    let name = |process: &Process| {
        let name = proc.read(&format!("{}/comm", process.pid)).unwrap_or_default();
        let name: String = name.trim_end().chars().take(MAX_NAME).collect();
        if name.is_empty() { format!("process {}", process.pid) } else { name }
    };
    left.iter().take(MAX_NAMES).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(pending: u64, blocked: u64, ignored: u64, caught: u64) -> String {
        let rest = "SigPnd:\t0000000000000000\nShdPnd:";
        format!(
            "Name:\tsh\n{rest}\t{pending:016x}\nSigBlk:\t{blocked:016x}\nSigIgn:\t{ignored:016x}\nSigCgt:\t{caught:016x}\n"
        )
    }

    #[test]
    fn a_pending_signal_kills_unless_it_is_blocked_ignored_caught_or_harmless() {
        let term = 1 << 14;
        assert!(is_killed(&status(term, 0, 0, 0)));
        assert!(is_killed(&status(1 << 8, 0, 0, term)), "nothing stops KILL");
        for harmless in
            [status(0, 0, 0, 0), status(term, term, 0, 0), status(term, 0, term, 0), status(term, 0, 0, term)]
        {
            assert!(!is_killed(&harmless), "{harmless}");
        }
        assert!(!is_killed(&status(HARMLESS, 0, 0, 0)));
        assert!(!is_killed("Name:\tsh\n"));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test starts a process to end it")]
    fn a_process_that_was_stopped_and_killed_is_waited_for() {
        let proc = Proc::open().unwrap();
        // A stopped process does not act on TERM: it stands for one that the machine does not let run.
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        while !proc.read(&format!("{pid}/stat")).unwrap().contains(") T ") {
            std::thread::yield_now();
        }
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let start = Instant::now();
        let mut resumed = false;
        let left = after_a_moment(&proc, || {
            if start.elapsed() > GRACE && !resumed {
                rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
                resumed = true;
            }
            Ok(proc.processes()?.into_iter().filter(|process| process.pid == pid).collect())
        });
        child.wait().unwrap();
        assert!(left.is_empty() && resumed, "{left:?}");
    }
}
