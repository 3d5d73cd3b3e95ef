//! A mount namespace for one thread and the processes that it starts.
//!
//! What is mounted in it is visible nowhere else and ends with the last process in it. This file mounts nothing.

use std::io;

use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::UnshareFlags;

/// Gives this thread a mount namespace of its own, in which it sees what it saw before. The other threads of the process
/// stay where they are. Processes and threads that this thread starts are in the new namespace.
///
/// # Errors
///
/// This user may not make mount namespaces, or mounts cannot be made private.
#[expect(unsafe_code, reason = "unshare takes away what other code may rely on, depending on its flags")]
pub fn enter_private_mounts() -> io::Result<()> {
    // SAFETY: a new mount namespace unshares the root and the working directory too, which only code of this thread
    // would change. No descriptor and no memory is unshared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(mount_change(c"/", private)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_gets_other_mounts() {
        let namespace = || std::fs::read_link("/proc/thread-self/ns/mnt").unwrap();
        let before = namespace();
        let inside = std::thread::spawn(move || enter_private_mounts().map(|()| namespace())).join().unwrap();
        assert_eq!(namespace(), before);
        match inside {
            Ok(inside) => assert_ne!(inside, before),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
    }
}
