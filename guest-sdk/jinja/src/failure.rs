//! Errors of filters, tests and methods, in Python's words where Python has some.

use std::borrow::Cow;

use minijinja::{Error, ErrorKind, Value};

use crate::values::{ContainsError, ValueError, type_name};

/// The result of a filter, a test or a method.
pub type Outcome<T = Value> = Result<T, Error>;

/// The source of an error whose place in a file is not to be shown with its lines, since they may have a secret.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the lines are not shown")]
pub struct Unshown;

impl Unshown {
    /// Returns whether the lines of an error are not to be shown.
    #[must_use]
    pub fn is_source_of(error: &Error) -> bool {
        std::error::Error::source(error).is_some_and(|source| source.is::<Self>())
    }
}

pub(crate) fn failure(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

pub(crate) fn wrong_type(what: &str, expected: &str, value: &Value) -> Error {
    failure(format!("{what} must be {expected}, not {}", type_name(value)))
}

impl From<ValueError> for Error {
    fn from(error: ValueError) -> Self {
        let kind = if error == ValueError::Undefined { ErrorKind::UndefinedError } else { ErrorKind::InvalidOperation };
        Self::new(kind, error.to_string())
    }
}

impl From<ContainsError> for Error {
    fn from(error: ContainsError) -> Self {
        match error {
            ContainsError::Value(error) => error.into(),
            other => failure(other.to_string()),
        }
    }
}
