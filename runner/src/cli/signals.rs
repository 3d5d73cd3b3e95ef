//! SIGINT, SIGTERM and SIGHUP: everything that may not be left behind is undone, then the signal ends the
//! process as it would have without us, so that a shell sees the usual status.

use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::sandbox::cleanup::Cleanup;

/// Starts the thread that waits for signals.
///
/// # Errors
///
/// A process that may not install handlers.
pub(crate) fn watch(cleanup: Cleanup) -> std::io::Result<()> {
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
