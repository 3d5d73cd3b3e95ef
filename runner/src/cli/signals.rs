//! SIGINT, SIGTERM and SIGHUP: everything that may not be left behind is undone, then the signal ends the
//! process as it would have without us, so that a shell sees the usual status.
//!
//! A batch asks to be told first: it finishes what runs, and ends by the signal when it is done. A second signal ends
//! it at once.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::cli::Context;
use crate::sandbox::cleanup::Cleanup;

/// The thread that waits for signals, seen from the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct SignalWatch {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Who wants to be told of the first signal.
    told: Option<PipeWriter>,
    /// The first signal, when somebody was told of it.
    stopped_by: Option<i32>,
}

impl SignalWatch {
    /// Returns a pipe that becomes readable when the first signal comes, which does nothing else then.
    ///
    /// # Errors
    ///
    /// A pipe that cannot be made.
    pub(crate) fn stop_gracefully(&self) -> io::Result<PipeReader> {
        let (reader, writer) = io::pipe()?;
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).told = Some(writer);
        Ok(reader)
    }

    /// Tells who wants to be told; returns whether there was somebody.
    fn tell(&self, signal: i32) -> bool {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        match shared.told.take() {
            Some(mut pipe) => {
                shared.stopped_by = Some(signal);
                // A reader that is gone has nothing more to finish.
                drop(pipe.write_all(b"s"));
                true
            }
            None => false,
        }
    }
}

/// Starts the thread that waits for signals.
///
/// # Errors
///
/// A process that may not install handlers.
pub(crate) fn watch(cleanup: Cleanup) -> io::Result<SignalWatch> {
    // A file that may not grow is an error where it is written, such as in the audit log, and not the end.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let watch = SignalWatch::default();
    let telling = watch.clone();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if !telling.tell(signal) {
                end(&cleanup, signal);
            }
        }
    })?;
    Ok(watch)
}

/// Ends the process by the signal that it was told to stop by.
pub(crate) fn end_as_stopped(context: &Context) {
    let signal = context.signals.shared.lock().unwrap_or_else(PoisonError::into_inner).stopped_by;
    if let Some(signal) = signal {
        end(&context.cleanup, signal);
    }
}

fn end(cleanup: &Cleanup, signal: i32) {
    cleanup.undo_all();
    // Returns only when the signal's default is to be ignored, which is true of none of these.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
