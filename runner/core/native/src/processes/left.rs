//! Processes that a module leaves running when it has ended by itself.
//!
//! In a room they end with it, so that what they were started for is lost; the run says which they were. Helpers that are about to
//! end get a moment to do so.

use std::io;
use std::time::{Duration, Instant};

use crate::processes::tree::{KILL_ROUND, Proc, Process};

/// How long processes may take to end after the module.
const GRACE: Duration = Duration::from_millis(500);

/// How many of them are named, and how many characters of each name.
const MAX_NAMES: usize = 20;
const MAX_NAME: usize = 64;

/// Waits until `find` finds no processes, for a moment, and returns those that are left. It also waits for children that have ended.
pub(crate) fn after_a_moment(mut find: impl FnMut() -> io::Result<Vec<Process>>) -> Vec<Process> {
    let end = Instant::now() + GRACE;
    loop {
        let mut left = find().unwrap_or_default();
        left.retain(|process| !process.zombie);
        if left.is_empty() || Instant::now() >= end {
            return left;
        }
        std::thread::sleep(KILL_ROUND);
    }
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
