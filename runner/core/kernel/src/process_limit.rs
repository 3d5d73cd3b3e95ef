//! The limit of a user's processes, for a module without a PID namespace.
//!
//! `RLIMIT_NPROC` counts the processes and threads of a user, so a limit for a module is in addition to what the user
//! has. It is the second line of defence: the launcher counts the module's own processes exactly. The kernel does not
//! apply it to root, whose modules always have a PID namespace.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Resource, Rlimit, WaitOptions};

use crate::process;

/// Limits the processes of this user to `more` than there are.
///
/// This process must have one thread. It may run in a container, where it does not see all processes that count, so it
/// tries whether it can still start one.
///
/// # Errors
///
/// It cannot. The limit is then as it was.
pub(super) fn allow_more(more: u64) -> io::Result<()> {
    let before = rustix::process::getrlimit(Resource::Nproc);
    let most = processes_of_this_user()?.saturating_add(more);
    if before.current.is_some_and(|before| before <= most) {
        return Ok(());
    }
    rustix::process::setrlimit(Resource::Nproc, Rlimit { current: Some(most), maximum: before.maximum })?;
    if let Err(error) = start_and_end_one() {
        rustix::process::setrlimit(Resource::Nproc, before)?;
        return Err(error);
    }
    let maximum = Some(before.maximum.map_or(most, |maximum| maximum.min(most)));
    Ok(rustix::process::setrlimit(Resource::Nproc, Rlimit { current: maximum, maximum })?)
}

/// Returns the number of processes and threads of this user, as far as they are visible.
fn processes_of_this_user() -> io::Result<u64> {
    let user = rustix::process::getuid().as_raw();
    let threads = |entry: DirEntry| {
        let is_process = entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
        // A process that has just ended has no threads.
        let of_user = is_process && entry.metadata().is_ok_and(|process| process.uid() == user);
        of_user.then(|| fs::metadata(entry.path().join("task")).map_or(0, |tasks| tasks.nlink().saturating_sub(2)))
    };
    Ok(fs::read_dir("/proc")?.flatten().filter_map(threads).sum())
}

/// Starts a process that ends at once.
fn start_and_end_one() -> io::Result<()> {
    let Some(child) = process::fork()? else { process::end_fork() };
    rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), WaitOptions::empty()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_this_user_are_counted() {
        let before = processes_of_this_user().unwrap();
        assert!(before >= 2);
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        std::thread::scope(|scope| {
            for _ in 0..500 {
                // Fails when the sender is dropped.
                scope.spawn(|| drop(wait.lock().map(|wait| wait.recv())));
            }
            let now = processes_of_this_user().unwrap();
            drop(go);
            assert!(now >= before + 250, "{before} {now}");
        });
    }
}
