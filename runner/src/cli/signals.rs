//! SIGINT, SIGTERM and SIGHUP: everything that may not be left behind is undone, then the signal ends the
//! process as it would have without us, so that a shell sees the usual status. SIGXCPU, which the kernel sends when
//! all of the processor time is used, is no other.
//!
//! A thread waits for them. It can be paused: handlers stay, and what arrives meanwhile is acted on afterwards.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::sandbox::cleanup::Cleanup;

/// What handlers write to and the thread reads from.
type Delivery = SignalDelivery<UnixStream, SignalOnly>;

/// Waits for signals.
#[derive(Debug)]
pub(crate) struct Watcher {
    cleanup: Cleanup,
    /// Wakes the thread to be paused.
    wake: Arc<OwnedFd>,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Watching(JoinHandle<Delivery>),
    Paused(Delivery),
    /// The thread could not be started.
    Lost,
}

impl Watcher {
    /// Installs the handlers and starts the thread.
    ///
    /// # Errors
    ///
    /// A process that may not install handlers, or not start threads.
    pub(crate) fn start(cleanup: Cleanup) -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let delivery = Delivery::with_pipe(read, write, SignalOnly, [SIGINT, SIGTERM, SIGHUP, SIGXCPU])?;
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let watcher = Self { cleanup, wake, state: Mutex::new(State::Paused(delivery)) };
        watcher.resume()?;
        Ok(watcher)
    }

    /// Ends the thread. No signal is lost; one that was being acted on ends the process in here.
    ///
    /// # Errors
    ///
    /// A thread that cannot be woken or that panicked.
    pub(crate) fn pause(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = match std::mem::replace(&mut *state, State::Lost) {
            State::Watching(thread) => {
                rustix::io::write(&self.wake, &1_u64.to_ne_bytes())?;
                State::Paused(thread.join().map_err(|_| io::Error::other("the thread that waits for signals is gone"))?)
            }
            other => other,
        };
        Ok(())
    }

    /// Starts the thread again.
    ///
    /// # Errors
    ///
    /// A process that may not start threads.
    pub(crate) fn resume(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = match std::mem::replace(&mut *state, State::Lost) {
            State::Paused(delivery) => {
                let (cleanup, wake) = (self.cleanup.clone(), Arc::clone(&self.wake));
                let watch = move || watch(delivery, &cleanup, &wake);
                State::Watching(thread::Builder::new().name("signals".to_owned()).spawn(watch)?)
            }
            other => other,
        };
        Ok(())
    }
}

/// Waits for signals until it is woken.
fn watch(mut delivery: Delivery, cleanup: &Cleanup, wake: &OwnedFd) -> Delivery {
    loop {
        if let Some(signal) = delivery.pending().next() {
            cleanup.undo_all();
            // Returns only when the signal's default is to be ignored, which is true of none of these.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
        let mut woken = [0; 8];
        if rustix::io::read(wake, &mut woken).is_ok() {
            return delivery;
        }
        let read = delivery.get_read().as_fd();
        let mut descriptors = [PollFd::from_borrowed_fd(read, PollFlags::IN), PollFd::new(wake, PollFlags::IN)];
        // Interrupted by a signal, as like as not the one that is waited for: look again.
        let _ = poll(&mut descriptors, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_paused_and_resumed_again_and_again() {
        let watcher = Watcher::start(Cleanup::default()).unwrap();
        for _ in 0..50 {
            watcher.pause().unwrap();
            watcher.pause().unwrap();
            assert!(matches!(*watcher.state.lock().unwrap(), State::Paused(_)));
            watcher.resume().unwrap();
            watcher.resume().unwrap();
            assert!(matches!(*watcher.state.lock().unwrap(), State::Watching(_)));
        }
    }
}
