//! SIGINT, SIGTERM and SIGHUP: everything that may not be left behind is undone, then the signal ends the
//! process as it would have without us, so that a shell sees the usual status.

use std::sync::Arc;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::sandbox::cleanup::Cleanup;

/// Starts the thread that waits for signals.
///
/// # Errors
///
/// A process that may not install handlers.
pub(crate) fn watch(cleanup: Cleanup) -> std::io::Result<()> {
    // A file that may not grow is an error where it is written, such as in the audit log, and not the end.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            cleanup.undo_all();
            // Returns only when the signal's default is to be ignored, which is true of none of these.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}
