//! Results and failures with the entries that were collected so far.

use modbox_sdk::{Dict, Exit, Failure};

/// Returns a result with entries.
pub(crate) fn exit(result: Dict) -> Exit {
    result.into_iter().fold(Exit::default(), |exit, (key, value)| exit.with(key, value))
}

/// Returns a failure with a message and entries.
pub(crate) fn failure(message: impl std::fmt::Display, result: Dict) -> Failure {
    result.into_iter().fold(Failure::new(message), |failure, (key, value)| failure.with(key, value))
}
