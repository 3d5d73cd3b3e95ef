//! Runs other programs that the host's policy allows.

use crate::bindings::modbox::host::process as host;
pub use crate::bindings::modbox::host::process::{Captured, Command, Ending, Error, Output};

/// Runs a command and waits for its end. The processes that it started have ended then as well.
///
/// # Errors
///
/// The command is not granted, or cannot be started.
pub fn run(command: &Command) -> Result<Output, Error> {
    host::run(command)
}
