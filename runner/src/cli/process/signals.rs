//! Handles SIGINT, SIGTERM and SIGHUP: runs the registered cleanup, then ends the process by the signal, so that a
//! shell sees the usual status.
//!
//! A signal that the process was started to ignore stays ignored.
//!
//! A batch is notified of the first signal instead: it finishes the running jobs, then ends by the signal. A second
//! signal ends it at once.
//!
//! A thread waits for signals. It starts when the first cleanup is registered. Until then a signal ends the process by
//! its default action, and a process that registers nothing needs no thread.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use modbox_cleanup::Cleanup;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::cli::printing::output;
use crate::cli::process::ignored_signals::IgnoredSignals;

/// The signals that end the process, unless it was started to ignore them.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Handle to the thread that waits for signals.
#[derive(Debug, Clone)]
pub(crate) struct SignalWatch {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    cleanup: Cleanup,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    has_begun: bool,
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
    let watch = SignalWatch { shared: Arc::new(Shared { cleanup, state: Mutex::default() }) };
    let begun = watch.clone();
    watch.shared.cleanup.before_next(move || {
        if let Err(error) = begun.begin() {
            // A signal now ends the process without cleanup; the next run sweeps what it leaves.
            tracing::warn!(%error, "failed to wait for signals");
        }
    });
    Ok(watch)
}

impl SignalWatch {
    /// Installs the handlers and starts the thread, unless that was done.
    fn begin(&self) -> io::Result<()> {
        if std::mem::replace(&mut self.shared.state().has_begun, true) {
            return Ok(());
        }
        let ignored = IgnoredSignals::of_this_process();
        let mut signals = Signals::new(SIGNALS.into_iter().filter(|signal| !ignored.contains(*signal)))?;
        let shared = Arc::clone(&self.shared);
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in &mut signals {
                if !shared.notify(signal) {
                    end(&shared.cleanup, signal);
                }
            }
        })?;
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
        self.shared.state().notify = Some(writer);
        Ok(reader)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies the reader of the graceful stop's pipe; returns whether there was one.
    fn notify(&self, signal: i32) -> bool {
        let mut state = self.state();
        match state.notify.take() {
            Some(mut pipe) => {
                state.stopped_by = Some(signal);
                // A reader that has closed the pipe has nothing to finish.
                drop(pipe.write_all(b"s"));
                true
            }
            None => false,
        }
    }
}

/// Ends the process by the signal of a graceful stop, if there was one.
pub(crate) fn end_as_stopped(signals: &SignalWatch) {
    let signal = signals.shared.state().stopped_by;
    if let Some(signal) = signal {
        end(&signals.shared.cleanup, signal);
    }
}

fn end(cleanup: &Cleanup, signal: i32) {
    cleanup.undo_all();
    if signal == SIGINT {
        output::print_note("interrupted");
    }
    // Returns only if the signal's default action cannot be restored.
    let _ = emulate_default_handler(signal);
}
