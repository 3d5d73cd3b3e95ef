//! Tells whether the machine's mounts have changed.

use std::fs::File;
use std::io;

use rustix::event::{PollFd, PollFlags, Timespec};

/// The mounts that this process sees, not those of a thread of its own.
const TABLE: &str = "/proc/self/mountinfo";

/// The table of mounts as it was at a moment.
#[derive(Debug)]
pub(crate) struct MountTable(File);

impl MountTable {
    /// Notes the mounts as they are now.
    ///
    /// # Errors
    ///
    /// The table cannot be opened.
    pub(crate) fn now() -> io::Result<Self> {
        File::open(TABLE).map(Self)
    }

    /// Returns whether something was mounted or unmounted since, or that cannot be known.
    pub(crate) fn has_changed(&self) -> bool {
        let mut polled = [PollFd::new(&self.0, PollFlags::PRI)];
        let at_once = Timespec::default();
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, Some(&at_once))) != Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use modbox_overlay::hub::Hub;

    use super::*;

    #[test]
    fn mounts_of_a_thread_of_its_own_are_not_the_machines() {
        let directory = tempfile::tempdir().unwrap();
        let attached = || {
            modbox_kernel::PrivateMounts::enter()?;
            let tables = (MountTable::now()?, File::open("/proc/thread-self/mountinfo").map(MountTable)?);
            let _hub = Hub::attach(directory.path(), 1).map_err(io::Error::other)?;
            Ok::<_, io::Error>((tables.0.has_changed(), tables.1.has_changed()))
        };
        let changed = || std::thread::scope(|scope| scope.spawn(attached).join().unwrap());
        // Only root can have mounts of its own. Another process may mount something at the same time, but not always.
        if let Ok(first) = changed() {
            assert!(first.1 && (!first.0 || (0..9).any(|_| changed().is_ok_and(|changed| !changed.0))));
        }
    }
}
