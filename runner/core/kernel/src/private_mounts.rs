//! A mount namespace for one thread and the processes that it starts.
//!
//! What is mounted in it is visible nowhere else and ends with the last process in it. This file mounts nothing.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

/// A mount namespace that a thread has entered, and the way back.
#[derive(Debug)]
pub struct PrivateMounts {
    /// The namespace that the thread left.
    outer: OwnedFd,
    /// Its root directory there.
    root: OwnedFd,
    /// Its working directory there.
    cwd: OwnedFd,
}

impl PrivateMounts {
    /// Gives this thread a mount namespace of its own, in which it sees what it saw before. The other threads of the
    /// process stay where they are. Processes and threads that this thread starts are in the new namespace.
    ///
    /// # Errors
    ///
    /// This user may not make mount namespaces, or mounts cannot be made private.
    #[expect(unsafe_code, reason = "unshare takes away what other code may rely on, depending on its flags")]
    pub fn enter() -> io::Result<Self> {
        let open = |path: &str, flags| rustix::fs::openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty());
        let outer = open("/proc/thread-self/ns/mnt", OFlags::RDONLY)?;
        let directory = OFlags::PATH | OFlags::DIRECTORY;
        let (root, cwd) = (open("/", directory)?, open(".", directory)?);
        // SAFETY: a new mount namespace unshares the root and the working directory too, which only code of this thread
        // would change. No descriptor and no memory is unshared.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change(c"/", private)?;
        Ok(Self { outer, root, cwd })
    }

    /// Takes this thread back to the mounts, the root and the working directory that it had. Call it in the thread that
    /// entered.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    #[expect(unsafe_code, reason = "unshare takes away what other code may rely on, depending on its flags")]
    pub fn leave(self) -> io::Result<()> {
        // Threads that this one has started share its root and working directory, and only one who shares neither can leave.
        // SAFETY: no code of this thread relies on changes of those by another one. No descriptor and no memory is unshared.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }?;
        rustix::thread::move_into_link_name_space(self.outer.as_fd(), Some(LinkNameSpaceType::Mount))?;
        // The kernel has set both to the root of the namespace, which is not the thread's own root under chroot.
        rustix::process::fchdir(&self.root)?;
        rustix::process::chroot(".")?;
        rustix::process::fchdir(&self.cwd)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn only_the_thread_gets_other_mounts_and_can_leave_them() {
        let namespace = || std::fs::read_link("/proc/thread-self/ns/mnt").unwrap();
        let places =
            || ["root", "cwd"].map(|name| std::fs::read_link(PathBuf::from("/proc/thread-self").join(name)).unwrap());
        let (before, start) = (namespace(), places());
        let inside = std::thread::spawn(move || {
            let mounts = PrivateMounts::enter()?;
            let inside = namespace();
            let (end, ended) = std::sync::mpsc::channel::<()>();
            // A thread that lives on does not keep this one inside.
            let other = std::thread::spawn(move || ended.recv());
            let left = mounts.leave();
            drop(end);
            let _ = other.join();
            left?;
            Ok::<_, io::Error>((inside, namespace(), places()))
        });
        let inside = inside.join().unwrap();
        assert_eq!(namespace(), before);
        match inside {
            Ok((inside, after, end)) => {
                assert_ne!(inside, before);
                assert_eq!((after, end), (before, start));
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
    }
}
