//! The system calls that a worker's filter refuses: takes the listener of the filter, and answers the calls. Those that set the
//! set-id bits that are allowed it makes itself.
//!
//! The worker sends the listener when it confines itself, before it runs a guest. So the listener is not a guest's
//! choice. A descriptor that arrives later is closed.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use modbox_kernel::{CallListener, ListenerState};
use modbox_policy::Owners;

use crate::worker::set_id::{self, SetId};

/// The refused calls of one worker.
#[derive(Debug)]
pub(super) enum RefusedCalls {
    /// The worker is not confined yet. This descriptor has come.
    Awaited(Option<OwnedFd>),
    /// The kernel reports them.
    Reported(CallListener),
    /// The worker has no filter or has ended, or the kernel does not report them.
    Unknown,
}

impl RefusedCalls {
    /// Returns whether the listener may still come.
    pub(super) fn are_awaited(&self) -> bool {
        matches!(self, Self::Awaited(_))
    }

    /// Keeps a descriptor that has come from the worker. Closes any but the first.
    pub(super) fn keep(&mut self, descriptor: Option<OwnedFd>) {
        if let Self::Awaited(kept @ None) = self {
            *kept = descriptor;
        }
    }

    /// Begins to listen, since the worker is confined. Does nothing if it was confined before.
    pub(super) fn begin(&mut self) {
        if let Self::Awaited(kept) = self {
            *self = kept.take().map_or(Self::Unknown, |descriptor| Self::Reported(CallListener::new(descriptor)));
        }
    }

    /// Returns the descriptor to poll for calls.
    pub(super) fn listener(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Reported(listener) => Some(listener.as_fd()),
            Self::Awaited(_) | Self::Unknown => None,
        }
    }

    /// Returns whether a call waits.
    pub(super) fn has_call(&mut self) -> bool {
        let Self::Reported(listener) = self else { return false };
        match listener.state() {
            ListenerState::CallWaits => true,
            ListenerState::Quiet => false,
            ListenerState::Over => {
                // It would be ready at every poll.
                *self = Self::Unknown;
                false
            }
        }
    }

    /// Answers a call that waits, and returns its number if it is refused. `own` says whose files may have set-id bits.
    pub(super) fn answer(&mut self, own: &Owners) -> Option<i64> {
        if !self.has_call() {
            return None;
        }
        let Self::Reported(listener) = self else { return None };
        // The caller may have ended meanwhile.
        let call = listener.receive().ok()?;
        match set_id::make(&call, own) {
            SetId::Done => listener.succeed(&call),
            SetId::Failed(errno) => listener.fail(&call, errno),
            SetId::Refused => {
                listener.refuse(&call);
                return Some(call.number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{self, Write as _};
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;
    use std::sync::mpsc;
    use std::thread;

    use modbox_kernel::{NetPlan, Plan, Profile, ReportedCalls};
    use modbox_policy::OwnerGrant;
    use modbox_vocabulary::GrantSource;
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fs::Mode;
    use rustix::io::Errno;
    use rustix::net::{AddressFamily, SocketType};

    use super::*;

    fn wait(refused: &RefusedCalls) {
        poll(&mut [PollFd::from_borrowed_fd(refused.listener().unwrap(), PollFlags::IN)], None).unwrap();
    }

    /// The confinement of a guest without grants.
    fn plan() -> Plan {
        Plan {
            profile: Profile::Guest,
            paths: Vec::new(),
            net: NetPlan::default(),
            counted_memory: false,
            limits: None,
        }
    }

    #[test]
    fn calls_are_refused_until_the_last_thread_has_ended() {
        let (send, listener) = mpsc::channel();
        let (go, may_end) = mpsc::channel::<()>();
        let plan = plan();
        let thread = thread::spawn(move || {
            let (_, listener) = modbox_kernel::confine_reporting_thread(&plan, &ReportedCalls::default()).unwrap();
            send.send(listener).unwrap();
            let refused = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap_err();
            // Fails when the sender is dropped.
            let _ = may_end.recv();
            refused
        });
        let mut refused = RefusedCalls::Awaited(None);
        refused.keep(listener.recv().unwrap());
        refused.begin();
        wait(&refused);
        let none = Owners::Some(Vec::new());
        assert_eq!((refused.answer(&none), refused.answer(&none)), (Some(libc::SYS_socket), None));
        drop(go);
        assert_eq!(thread.join().unwrap(), Errno::PERM);
        wait(&refused);
        assert!(!refused.has_call() && refused.listener().is_none());
    }

    #[test]
    fn only_the_first_descriptor_before_the_confinement_is_kept() {
        let [(first, mut kept), (second, mut closed)] = [io::pipe().unwrap(), io::pipe().unwrap()];
        let mut refused = RefusedCalls::Awaited(None);
        refused.keep(None);
        refused.keep(Some(first.into()));
        refused.keep(Some(second.into()));
        assert_eq!(closed.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(kept.write(b"x").unwrap(), 1);
        let mut unconfined = RefusedCalls::Awaited(None);
        unconfined.begin();
        let (late, mut closed) = io::pipe().unwrap();
        unconfined.keep(Some(late.into()));
        assert_eq!(closed.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(unconfined.answer(&Owners::Some(Vec::new())).is_none());
    }

    #[test]
    fn set_id_bits_that_are_allowed_are_set_in_the_place_of_the_worker() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let place = dir.path().join("file");
        let (file, folder) = (File::create(&place).unwrap(), File::open(dir.path()).unwrap());
        let stat = rustix::fs::fstat(&file).unwrap();
        let grant =
            OwnerGrant::parse(&format!("{}+setid", stat.st_uid), &GrantSource::named("test"), |_| None, |_| None)
                .unwrap();
        let (send, listener) = mpsc::channel();
        let plan = plan();
        let thread = thread::spawn(move || {
            let (_, listener) = modbox_kernel::confine_reporting_thread(&plan, &ReportedCalls::default()).unwrap();
            send.send(listener).unwrap();
            let set = |file: &File, mode| rustix::fs::fchmod(file, Mode::from_raw_mode(mode)).err();
            [set(&folder, 0o3755), set(&file, 0o4755), set(&file, 0o4755), set(&file, 0o6755)]
        });
        let mut refused = RefusedCalls::Awaited(None);
        refused.keep(listener.recv().unwrap());
        refused.begin();
        let (none, own) = (Owners::Some(Vec::new()), Owners::Some(vec![grant]));
        let chmod = Some(libc::SYS_fchmod);
        for (own, number) in [(&none, None), (&none, chmod), (&own, None), (&own, chmod)] {
            wait(&refused);
            assert_eq!(refused.answer(own), number);
        }
        assert_eq!(thread.join().unwrap(), [None, Some(Errno::PERM), None, Some(Errno::PERM)]);
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o7777;
        assert_eq!((mode(dir.path()), mode(&place)), (0o3755, 0o4755));
    }
}
