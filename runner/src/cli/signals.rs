//! Handles SIGINT, SIGTERM and SIGHUP: runs the registered cleanup, then ends the process by the signal, so that a
//! shell sees the usual status. SIGXCPU, which the kernel sends when the processor time is used up, is handled in the
//! same way.
//!
//! A batch is notified of the first signal instead: it finishes the running jobs, then ends by the signal. A second
//! signal ends it at once.
//!
//! A thread waits for signals. It starts when the first cleanup is registered. Until then a signal ends the process by
//! its default action, and a process that registers nothing needs no thread. The thread can be paused: the handlers
//! stay installed, and signals that arrive during the pause are handled after it.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use modbox_cleanup::Cleanup;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

/// The signals that end the process.
const SIGNALS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGXCPU];

/// The channel that signal handlers write to and the thread reads from.
type Delivery = SignalDelivery<UnixStream, SignalOnly>;

/// Handle to the thread that waits for signals.
#[derive(Debug, Clone)]
pub(crate) struct SignalWatch {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    cleanup: Cleanup,
    /// Wakes the thread, so that it ends for a pause.
    wake: OwnedFd,
    waiting: Mutex<Waiting>,
    graceful_stop: Mutex<GracefulStop>,
}

/// State of handlers and thread.
#[derive(Debug)]
enum Waiting {
    /// There are no handlers and no thread yet.
    Unneeded,
    /// The same, and during a pause, in which no thread may start.
    UnneededPaused,
    Thread(JoinHandle<Delivery>),
    Paused(Delivery),
    /// The thread could not be started.
    Lost,
}

/// State of a graceful stop.
#[derive(Debug, Default)]
struct GracefulStop {
    /// The pipe that is written at the first signal, if a reader asked for it.
    notify: Option<PipeWriter>,
    /// The first signal, after the reader was notified of it.
    stopped_by: Option<i32>,
}

/// Returns a watch that starts to wait for signals when the first cleanup is registered.
///
/// # Errors
///
/// A handler cannot be installed.
pub(crate) fn watch(cleanup: Cleanup) -> io::Result<SignalWatch> {
    // With a handler for SIGXFSZ, a write beyond the file size limit, such as to the audit log, returns an error
    // instead of ending the process.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let waiting = Mutex::new(Waiting::Unneeded);
    let shared = Shared { cleanup, wake, waiting, graceful_stop: Mutex::default() };
    let watch = SignalWatch { shared: Arc::new(shared) };
    watch.begin_when_needed();
    Ok(watch)
}

impl SignalWatch {
    fn begin_when_needed(&self) {
        let watch = self.clone();
        self.shared.cleanup.before_next(move || {
            if let Err(error) = watch.begin() {
                // A signal now ends the process without cleanup; the next run sweeps what it leaves.
                tracing::warn!(%error, "signals are not waited for");
            }
        });
    }

    /// Installs the handlers and starts the thread. During a pause, only installs the handlers.
    fn begin(&self) -> io::Result<()> {
        let mut waiting = self.shared.waiting();
        match *waiting {
            Waiting::UnneededPaused => *waiting = Waiting::Paused(install()?),
            Waiting::Unneeded => {
                *waiting = Waiting::Paused(install()?);
                self.start(&mut waiting)?;
            }
            Waiting::Thread(_) | Waiting::Paused(_) | Waiting::Lost => {}
        }
        Ok(())
    }

    fn start(&self, waiting: &mut Waiting) -> io::Result<()> {
        *waiting = match std::mem::replace(waiting, Waiting::Lost) {
            Waiting::Paused(delivery) => {
                let shared = Arc::clone(&self.shared);
                let spawn = thread::Builder::new().name("signals".to_owned()).spawn(move || shared.wait(delivery));
                Waiting::Thread(spawn?)
            }
            Waiting::UnneededPaused => Waiting::Unneeded,
            other => other,
        };
        Ok(())
    }

    /// Returns a pipe that becomes readable at the first signal. The first signal then has no other effect.
    ///
    /// # Errors
    ///
    /// The pipe cannot be created, or the handlers cannot be installed.
    pub(crate) fn stop_gracefully(&self) -> io::Result<PipeReader> {
        self.begin()?;
        let (reader, writer) = io::pipe()?;
        self.shared.graceful_stop().notify = Some(writer);
        Ok(reader)
    }

    /// Ends the thread. No signal is lost. If the thread is handling a signal, the process ends during this call.
    ///
    /// # Errors
    ///
    /// The thread cannot be woken, or has panicked.
    pub(crate) fn pause(&self) -> io::Result<()> {
        let mut waiting = self.shared.waiting();
        *waiting = match std::mem::replace(&mut *waiting, Waiting::Lost) {
            Waiting::Thread(thread) => {
                rustix::io::write(&self.shared.wake, &1_u64.to_ne_bytes())?;
                let gone = |_| io::Error::other("the thread that waits for signals is gone");
                Waiting::Paused(thread.join().map_err(gone)?)
            }
            Waiting::Unneeded => Waiting::UnneededPaused,
            other => other,
        };
        Ok(())
    }

    /// Starts the thread again, if it ran before the pause or became necessary during it.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub(crate) fn resume(&self) -> io::Result<()> {
        self.start(&mut self.shared.waiting())
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn graceful_stop(&self) -> MutexGuard<'_, GracefulStop> {
        self.graceful_stop.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies the reader of the graceful stop's pipe; returns whether there was one.
    fn notify(&self, signal: i32) -> bool {
        let mut graceful_stop = self.graceful_stop();
        match graceful_stop.notify.take() {
            Some(mut pipe) => {
                graceful_stop.stopped_by = Some(signal);
                // A reader that has closed the pipe has nothing to finish.
                drop(pipe.write_all(b"s"));
                true
            }
            None => false,
        }
    }

    fn handle_pending(&self, delivery: &mut Delivery) {
        for signal in delivery.pending() {
            if !self.notify(signal) {
                end(&self.cleanup, signal);
            }
        }
    }

    /// Waits for signals until it is woken.
    fn wait(&self, mut delivery: Delivery) -> Delivery {
        loop {
            self.handle_pending(&mut delivery);
            if rustix::io::read(&self.wake, &mut [0; 8]).is_ok() {
                return delivery;
            }
            let read = delivery.get_read().as_fd();
            let mut descriptors =
                [PollFd::from_borrowed_fd(read, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
            // An error means that a signal interrupted the call, probably one of those waited for. Check again.
            let _ = poll(&mut descriptors, None);
        }
    }
}

/// Installs the handlers.
fn install() -> io::Result<Delivery> {
    let (read, write) = UnixStream::pair()?;
    Delivery::with_pipe(read, write, SignalOnly, SIGNALS)
}

/// Ends the process by the signal of a graceful stop, if there was one.
pub(crate) fn end_as_stopped(signals: &SignalWatch) {
    let signal = signals.shared.graceful_stop().stopped_by;
    if let Some(signal) = signal {
        end(&signals.shared.cleanup, signal);
    }
}

fn end(cleanup: &Cleanup, signal: i32) -> ! {
    cleanup.undo_all();
    modbox_kernel::end_by(signal);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_paused_and_resumed_again_and_again() {
        let cleanup = Cleanup::default();
        let watch = watch(cleanup.clone()).unwrap();
        let _undo = cleanup.register(|| ());
        for _ in 0..50 {
            watch.pause().unwrap();
            watch.pause().unwrap();
            assert!(matches!(*watch.shared.waiting(), Waiting::Paused(_)));
            watch.resume().unwrap();
            watch.resume().unwrap();
            assert!(matches!(*watch.shared.waiting(), Waiting::Thread(_)));
        }
    }

    #[test]
    fn it_begins_when_something_must_be_undone_and_not_while_it_is_paused() {
        let cleanup = Cleanup::default();
        let watch = watch(cleanup.clone()).unwrap();
        watch.pause().unwrap();
        watch.resume().unwrap();
        assert!(matches!(*watch.shared.waiting(), Waiting::Unneeded));
        watch.pause().unwrap();
        let undo = cleanup.register(|| ());
        assert!(matches!(*watch.shared.waiting(), Waiting::Paused(_)), "handlers, and no thread");
        watch.resume().unwrap();
        assert!(matches!(*watch.shared.waiting(), Waiting::Thread(_)));
        drop(undo);

        let cleanup = Cleanup::default();
        let watch = super::watch(cleanup.clone()).unwrap();
        drop(cleanup.register(|| ()));
        assert!(matches!(*watch.shared.waiting(), Waiting::Thread(_)));
    }
}
