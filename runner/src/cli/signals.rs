//! SIGINT, SIGTERM and SIGHUP: everything that may not be left behind is undone, then the signal ends the
//! process as it would have without us, so that a shell sees the usual status. SIGXCPU, which the kernel sends when
//! all of the processor time is used, is no other.
//!
//! A batch asks to be told first: it finishes what runs, and ends by the signal when it is done. A second signal ends
//! it at once.
//!
//! A thread waits for them, from when there is something to undo: until then a signal ends the process by itself, and
//! a process that never makes anything needs no thread. It can be paused for a moment: handlers stay, and what arrives
//! meanwhile is acted on afterwards.

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

/// What ends the process.
const SIGNALS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGXCPU];

/// What handlers write to and the thread reads from.
type Delivery = SignalDelivery<UnixStream, SignalOnly>;

/// The thread that waits for signals, seen from the others.
#[derive(Debug, Clone)]
pub(crate) struct SignalWatch {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    cleanup: Cleanup,
    /// Wakes the thread to be paused.
    wake: OwnedFd,
    waiting: Mutex<Waiting>,
    telling: Mutex<Telling>,
}

#[derive(Debug)]
enum Waiting {
    /// There are no handlers yet.
    Unneeded,
    /// Nor may there be a thread.
    UnneededPaused,
    Thread(JoinHandle<Delivery>),
    Paused(Delivery),
    /// The thread could not be started.
    Lost,
}

#[derive(Debug, Default)]
struct Telling {
    /// Who wants to be told of the first signal.
    told: Option<PipeWriter>,
    /// The first signal, when somebody was told of it.
    stopped_by: Option<i32>,
}

/// Waits for signals as soon as something is registered that must be undone.
///
/// # Errors
///
/// A process that may not install handlers.
pub(crate) fn watch(cleanup: Cleanup) -> io::Result<SignalWatch> {
    // A file that may not grow is an error where it is written, such as in the audit log, and not the end.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let waiting = Mutex::new(Waiting::Unneeded);
    let shared = Shared { cleanup, wake, waiting, telling: Mutex::default() };
    let watch = SignalWatch { shared: Arc::new(shared) };
    watch.begin_when_needed();
    Ok(watch)
}

impl SignalWatch {
    fn begin_when_needed(&self) {
        let watch = self.clone();
        self.shared.cleanup.before_next(move || {
            if let Err(error) = watch.begin() {
                // What is made stays behind when a signal comes; the next run sweeps it.
                tracing::warn!(%error, "signals are not waited for");
            }
        });
    }

    /// Waits for signals from now on; while it is paused, installs the handlers alone.
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

    /// Returns a pipe that becomes readable when the first signal comes, which does nothing else then.
    ///
    /// # Errors
    ///
    /// A pipe that cannot be made, handlers that cannot be installed.
    pub(crate) fn stop_gracefully(&self) -> io::Result<PipeReader> {
        self.begin()?;
        let (reader, writer) = io::pipe()?;
        self.shared.telling().told = Some(writer);
        Ok(reader)
    }

    /// Ends the thread. No signal is lost; one that was being acted on ends the process in here.
    ///
    /// # Errors
    ///
    /// A thread that cannot be woken or that panicked.
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

    /// Starts the thread again, if there was one or has to be one by now.
    ///
    /// # Errors
    ///
    /// A process that may not start threads.
    pub(crate) fn resume(&self) -> io::Result<()> {
        self.start(&mut self.shared.waiting())
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn telling(&self) -> MutexGuard<'_, Telling> {
        self.telling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells who wants to be told; returns whether there was somebody.
    fn tell(&self, signal: i32) -> bool {
        let mut telling = self.telling();
        match telling.told.take() {
            Some(mut pipe) => {
                telling.stopped_by = Some(signal);
                // A reader that is gone has nothing more to finish.
                drop(pipe.write_all(b"s"));
                true
            }
            None => false,
        }
    }

    fn act_on(&self, delivery: &mut Delivery) {
        for signal in delivery.pending() {
            if !self.tell(signal) {
                end(&self.cleanup, signal);
            }
        }
    }

    /// Waits for signals until it is woken.
    fn wait(&self, mut delivery: Delivery) -> Delivery {
        loop {
            self.act_on(&mut delivery);
            if rustix::io::read(&self.wake, &mut [0; 8]).is_ok() {
                return delivery;
            }
            let read = delivery.get_read().as_fd();
            let mut descriptors =
                [PollFd::from_borrowed_fd(read, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
            // Interrupted by a signal, as like as not the one that is waited for: look again.
            let _ = poll(&mut descriptors, None);
        }
    }
}

/// Installs the handlers.
fn install() -> io::Result<Delivery> {
    let (read, write) = UnixStream::pair()?;
    Delivery::with_pipe(read, write, SignalOnly, SIGNALS)
}

/// Ends the process by the signal that it was told to stop by, if there was one.
pub(crate) fn end_as_stopped(signals: &SignalWatch) {
    let signal = signals.shared.telling().stopped_by;
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
