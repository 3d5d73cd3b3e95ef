//! The return value of a module: [`Exit`] if it succeeded, [`Failure`] if it failed.

use std::error::Error;
use std::fmt;
use std::io;

use modbox_python_json::{ConvertError, Dict, Value, to_value};
use serde::Serialize;

use crate::file_error::{without_numbers, words};
use crate::fs::path_value;

/// The result of a module that succeeded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exit {
    pub(crate) entries: Dict,
    pub(crate) diffs: Vec<Value>,
}

impl Exit {
    /// Returns a result that tells whether something changed (or, in check mode, would change).
    #[must_use]
    pub fn new(changed: bool) -> Self {
        Self::default().with("changed", changed)
    }

    /// Returns a result with a change.
    #[must_use]
    pub fn changed() -> Self {
        Self::new(true)
    }

    /// Returns a result without a change.
    #[must_use]
    pub fn unchanged() -> Self {
        Self::new(false)
    }

    /// Returns a result of a module that had nothing to do, with the reason.
    #[must_use]
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self::default().with("skipped", true).with("msg", reason.into())
    }

    /// Sets one entry.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.entries.insert(key.into(), value.into());
        self
    }

    /// Sets the entry `msg`.
    #[must_use]
    pub fn msg(self, message: impl Into<String>) -> Self {
        self.with("msg", message.into())
    }

    /// Sets the entries of a struct or map.
    ///
    /// # Errors
    ///
    /// The data serialises to something without keys.
    pub fn with_all<T: Serialize + ?Sized>(mut self, data: &T) -> Result<Self, ConvertError> {
        match to_value(data)? {
            Value::Dict(entries) => self.entries.extend(entries),
            other => {
                let message = format!("a result is made of entries, not of {}", other.type_name());
                return Err(serde::ser::Error::custom(message));
            }
        }
        Ok(self)
    }

    /// Adds a difference, if the caller asked for differences.
    #[must_use]
    pub fn diff(mut self, diff: Diff) -> Self {
        self.diffs.push(diff.into_value());
        self
    }
}

/// A difference: text before and after, and a name for both sides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// The text before.
    pub before: String,
    /// The text after.
    pub after: String,
    /// The name of the text before, such as its path.
    pub before_header: Option<String>,
    /// The name of the text after.
    pub after_header: Option<String>,
}

impl Diff {
    /// Returns a difference without headers.
    #[must_use]
    pub fn new(before: impl Into<String>, after: impl Into<String>) -> Self {
        Self { before: before.into(), after: after.into(), before_header: None, after_header: None }
    }

    /// Sets both headers.
    #[must_use]
    pub fn headers(mut self, before: impl Into<String>, after: impl Into<String>) -> Self {
        self.before_header = Some(before.into());
        self.after_header = Some(after.into());
        self
    }

    pub(crate) fn into_value(self) -> Value {
        let mut entries = Dict::new();
        let headers = [("before_header", self.before_header), ("after_header", self.after_header)];
        entries.insert("before".to_owned(), self.before.into());
        entries.insert("after".to_owned(), self.after.into());
        for (key, header) in headers {
            entries.extend(header.map(|header| (key.to_owned(), path_value(header))));
        }
        Value::Dict(entries)
    }
}

/// The failure of a module: a message, and further entries.
///
/// `?` converts any error to a failure, with the chain of causes in the message. Numbers of system errors are left out:
/// those of a component are not the host's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failure {
    pub(crate) message: String,
    pub(crate) entries: Dict,
}

impl Failure {
    /// Returns a failure with a message.
    #[must_use]
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: without_numbers(&message.to_string()).into_owned(), entries: Dict::new() }
    }

    /// Sets one entry.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.entries.insert(key.into(), value.into());
        self
    }

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = described(&error);
        let mut cause = error.source();
        while let Some(error) = cause {
            message = format!("{message}: {}", described(error));
            cause = error.source();
        }
        Self::new(message)
    }
}

/// Describes one error, an error of the file system in the words of the host.
fn described(error: &(dyn Error + 'static)) -> String {
    error.downcast_ref::<io::Error>().map_or_else(|| error.to_string(), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_no_numbers_of_system_errors() {
        let missing = io::Error::from_raw_os_error(2);
        assert_eq!(Failure::new(format!("failed: {missing}")).message(), "failed: No such file or directory");
        assert_eq!(Failure::from(missing).message(), "No such file or directory");
    }
}
