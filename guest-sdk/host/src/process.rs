//! Running other programs, as far as the host's policy lets this guest.

use crate::bindings::modbox::host::process as host;
pub use crate::bindings::modbox::host::process::{Captured, Command, Ending, Error, Output};

/// Runs a command to its end. All that it started is gone then.
///
/// # Errors
///
/// A command that is not granted, or that cannot be started.
pub fn run(command: &Command) -> Result<Output, Error> {
    host::run(command)
}
