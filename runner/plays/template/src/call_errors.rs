//! Errors of filters and tests on their way to a message.

use std::fmt;

use minijinja::Error;

/// Marks an error whose message is complete, so that no plugin is named in front of it.
#[derive(Debug)]
pub(crate) struct WholeMessage;

impl fmt::Display for WholeMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message names the plugin")
    }
}

impl std::error::Error for WholeMessage {}

impl WholeMessage {
    /// Says whether the message of an error is complete.
    pub(crate) fn is_source_of(error: &Error) -> bool {
        std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<Self>)
    }
}

/// Returns the message of an error without minijinja's names of kinds.
pub(crate) fn detail(error: &Error) -> String {
    error.detail().map_or_else(|| error.kind().to_string(), str::to_owned)
}
