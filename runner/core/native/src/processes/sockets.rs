//! The memory that can wait in the sockets of a tree of processes. It belongs to no process, so only a control group
//! counts it; without one, every socket counts as full.
//!
//! To look at all descriptors takes long, so they are only looked at where there are enough of them to matter.

use std::collections::BTreeSet;

use crate::kernel_file;
use crate::processes::tree::{Proc, Process};

/// Size of a socket's buffer in bytes, where the system does not say. A module cannot change it.
const BUFFER: u64 = 212_992;

const BUFFER_SETTING: &str = "/proc/sys/net/core/wmem_default";

/// Upper bound of the size of that file.
const MAX_SETTING: u64 = 64;

/// Returns the bytes that sockets hold at most, or zero where that is surely no more than `most`.
pub(crate) fn buffers(proc: &Proc, processes: &[Process], most: u64) -> u64 {
    // A process whose descriptors cannot be counted has ended.
    let descriptors: u64 = processes.iter().map(|process| proc.descriptors(process).unwrap_or(0)).sum();
    let buffer = buffer();
    if descriptors.saturating_mul(buffer) <= most {
        return 0;
    }
    let mut sockets = BTreeSet::new();
    for process in processes {
        sockets.extend(proc.sockets(process));
    }
    (sockets.len() as u64).saturating_mul(buffer)
}

/// Returns the size of a socket's buffer.
fn buffer() -> u64 {
    let setting = kernel_file::read(rustix::fs::CWD, BUFFER_SETTING, MAX_SETTING);
    setting.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(BUFFER)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn sockets_are_counted_once_they_could_hold_too_much() {
        let proc = Proc::open().unwrap();
        let own = rustix::process::getpid();
        let processes: Vec<Process> = proc.processes().unwrap().into_iter().filter(|one| one.pid == own).collect();
        let before = buffers(&proc, &processes, 0);
        let pairs: Vec<_> = (0..50).map(|_| UnixStream::pair().unwrap()).collect();
        let now = buffers(&proc, &processes, 0);
        assert!(now >= before + 90 * buffer(), "{before} {now} {}", pairs.len());
        assert_eq!(buffers(&proc, &processes, now + 100_000 * buffer()), 0);
    }
}
