//! Finds the child processes of a process.

use std::fs;

use rustix::process::Pid;

/// Returns the children of a process. Not every kernel lists children, so this reads the parent of each process.
pub fn children(parent: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let pid = stat.split(' ').next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
        let ppid = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
        if ppid == Some(parent.as_raw_nonzero().get()) {
            found.extend(pid);
        }
    }
    found
}
