//! Errors of Python plugins, in Ansible's words.

use minijinja::{Error, ErrorKind};
use modbox_jinja::PluginKind;

use crate::call_errors::{WholeMessage, detail};
use crate::python_plugins::PluginFailure;

/// Makes an error with a complete message.
pub(super) fn whole(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message).with_source(WholeMessage)
}

/// Makes the error of a failed call.
pub(super) fn error(kind: PluginKind, name: &str, failure: &PluginFailure) -> Error {
    match failure {
        PluginFailure::Raised(text) if text.is_empty() && kind != PluginKind::Lookup => {
            whole(format!("The {kind} plugin '{name}' failed."))
        }
        PluginFailure::Raised(text) => Error::new(ErrorKind::InvalidOperation, text.clone()),
        PluginFailure::Type(_) => whole(failure.to_string()),
    }
}

/// Names a plugin in the error of a call by another filter, whose own message would name only that one.
pub(super) fn named(kind: PluginKind, name: &str, error: Error) -> Error {
    if error.kind() == ErrorKind::UndefinedError || WholeMessage::is_source_of(&error) {
        return error;
    }
    whole(format!("The {kind} plugin '{name}' failed: {}", detail(&error)))
}
