//! What every command is given: the process's environment, what to undo, and the signals.

use modbox_cleanup::Cleanup;

use crate::cli::environment::Environment;
use crate::cli::signals::SignalWatch;

/// The surroundings of a command.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) environment: Environment,
    pub(crate) cleanup: Cleanup,
    pub(crate) signals: SignalWatch,
}
