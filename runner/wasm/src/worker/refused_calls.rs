//! The system calls that a worker's filter refuses: takes the listener of the filter, and answers the calls.
//!
//! The worker sends the listener when it confines itself, before it runs a guest. So the listener is not a guest's
//! choice. A descriptor that arrives later is closed.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use modbox_kernel::{CallListener, ListenerState};

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

    /// Refuses a call that waits, and returns its number.
    pub(super) fn refuse(&mut self) -> Option<i64> {
        if !self.has_call() {
            return None;
        }
        let Self::Reported(listener) = self else { return None };
        // The caller may have ended meanwhile.
        let call = listener.receive().ok()?;
        listener.refuse(&call);
        Some(call.number)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write as _};
    use std::sync::mpsc;
    use std::thread;

    use modbox_kernel::{NetPlan, Plan, Profile, ReportedCalls};
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use rustix::net::{AddressFamily, SocketType};

    use super::*;

    fn wait(refused: &RefusedCalls) {
        poll(&mut [PollFd::from_borrowed_fd(refused.listener().unwrap(), PollFlags::IN)], None).unwrap();
    }

    #[test]
    fn calls_are_refused_until_the_last_thread_has_ended() {
        let (send, listener) = mpsc::channel();
        let (go, may_end) = mpsc::channel::<()>();
        let plan = Plan {
            profile: Profile::Guest,
            paths: Vec::new(),
            net: NetPlan::default(),
            counted_memory: false,
            limits: None,
        };
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
        assert_eq!((refused.refuse(), refused.refuse()), (Some(libc::SYS_socket), None));
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
        assert!(unconfined.refuse().is_none());
    }
}
