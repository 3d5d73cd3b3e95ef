//! The first process of a module, seen from the launcher.

use rustix::process::{Pid, Signal, WaitOptions};

/// Kills the first process of a room in which nothing runs yet.
pub(crate) fn end(first: Pid) {
    let _ = rustix::process::kill_process(first, Signal::KILL);
    let _ = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(first), WaitOptions::empty()));
}
