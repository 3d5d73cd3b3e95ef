//! The context of every command: the environment, the cleanup registry, the signal watch and the workers.

use modbox_cleanup::Cleanup;
use modbox_worker::Workers;

use crate::cli::process::environment::Environment;
use crate::cli::process::signals::SignalWatch;

/// Context of a command.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) environment: Environment,
    pub(crate) cleanup: Cleanup,
    pub(crate) signals: SignalWatch,
    pub(crate) workers: Workers,
}
