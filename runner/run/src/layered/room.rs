//! The thread in which a run on layers is made: layers in memory are attached in mounts of its own.
//!
//! This file knows nothing of what is run.

use std::thread;

use crate::reports::error::layered_error::LayeredError;

/// Calls `action`, in a thread with mounts of its own if `needs_mounts` is set. Processes that it starts have the same
/// mounts; no other process of the machine sees them, and they end with the last of these processes.
///
/// # Errors
///
/// This user may not make mounts, or the thread ended by a panic.
pub(crate) fn in_room<T: Send>(needs_mounts: bool, action: impl FnOnce() -> T + Send) -> Result<T, LayeredError> {
    if !needs_mounts {
        return Ok(action());
    }
    let span = tracing::Span::current();
    thread::scope(|scope| {
        let thread = scope.spawn(move || {
            let _span = span.entered();
            modbox_kernel::PrivateMounts::enter().map_err(LayeredError::Mounts)?;
            Ok(action())
        });
        thread.join().map_err(|_| LayeredError::Thread)?
    })
}
