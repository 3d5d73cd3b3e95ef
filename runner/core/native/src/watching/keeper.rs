//! Lets the daemons go on that an observed module leaves behind, as they would without modbox.
//!
//! Their calls are reported for as long as they live, and without an answer the kernel fails them. So a process of its
//! own answers them when the launcher is gone. It records nothing, and ends with the last of them.

use std::io;
use std::os::fd::AsFd;

use modbox_kernel::{CallListener, ListenerState};
use rustix::event::{PollFd, PollFlags};

use crate::calls::observe::Observer;
use crate::protocol::{End, Spec};
use crate::system;
use crate::watching::watch::Tree;

impl Tree {
    /// Lets the daemons of an observed module go on that has ended by itself. Returns whether it did so.
    pub(crate) fn leaves_daemons(&mut self, spec: &Spec, end: &End) -> bool {
        let is_observed = spec.room.as_ref().is_some_and(|room| room.observed);
        if !is_observed || !matches!(end, End::Exited(_) | End::Signalled(_)) || !self.reap() {
            return false;
        }
        let listener = self.resources.observer.as_ref().map(Observer::listener);
        listener.is_some_and(|listener| start(listener).is_ok())
    }
}

/// Starts the process that lets all calls of a listener go on.
///
/// # Errors
///
/// The system gives no process.
fn start(listener: impl AsFd) -> io::Result<()> {
    if system::fork(0)?.is_some() {
        return Ok(());
    }
    let kept = || -> io::Result<()> {
        modbox_kernel::start_session()?;
        // The streams of the launcher lead to a run that is about to end.
        rustix::stdio::dup2_stdin(listener.as_fd())?;
        system::close_from(3);
        let listener = CallListener::new(rustix::io::dup(rustix::stdio::stdin())?);
        while listener.state() != ListenerState::Over {
            let mut polled = [PollFd::new(&listener, PollFlags::IN)];
            // A signal ends the wait, and the state tells the rest.
            let _ = rustix::event::poll(&mut polled, None);
            if listener.state() == ListenerState::CallWaits
                && let Ok(call) = listener.receive()
            {
                listener.allow(&call);
            }
        }
        Ok(())
    };
    system::exit(i32::from(kept().is_err()))
}
