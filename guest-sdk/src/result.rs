//! What a module hands back: [`Exit`] when it did its work, [`Failure`] when it could not.

use std::error::Error;
use std::fmt;

use modbox_python_json::{ConvertError, Dict, Value, to_value};
use serde::Serialize;

use crate::files::diff::AttributesDiff;

/// The result of a module that did its work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exit {
    pub(crate) entries: Dict,
    pub(crate) diffs: Vec<Value>,
}

impl Exit {
    /// Returns a result that says whether something changed (or, in check mode, would change).
    #[must_use]
    pub fn new(changed: bool) -> Self {
        Self::default().with("changed", changed)
    }

    /// Returns a result that says that something changed.
    #[must_use]
    pub fn changed() -> Self {
        Self::new(true)
    }

    /// Returns a result that says that nothing changed.
    #[must_use]
    pub fn unchanged() -> Self {
        Self::new(false)
    }

    /// Returns a result that says that the module had nothing to do here, and why.
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

    /// Sets the entries that a struct or map serialises to.
    ///
    /// # Errors
    ///
    /// Data that serialises to something without keys.
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

    /// Adds a difference. It is left out when the caller does not ask for differences.
    #[must_use]
    pub fn diff(mut self, diff: Diff) -> Self {
        self.diffs.push(diff.into_value());
        self
    }

    /// Adds how the attributes of a file differ, if they do; see [`Exit::diff`].
    #[must_use]
    pub fn attributes_diff(mut self, path: &str, diff: AttributesDiff) -> Self {
        if diff != AttributesDiff::default() {
            let header = Value::from(format!("{path} (file attributes)"));
            let (before, after) = (Value::Dict(diff.before), Value::Dict(diff.after));
            let keys = ["before", "after", "before_header", "after_header"].map(str::to_owned);
            self.diffs.push(Value::Dict(keys.into_iter().zip([before, after, header.clone(), header]).collect()));
        }
        self
    }
}

/// What something looked like before and after: text, and what to call the two sides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// The text before.
    pub before: String,
    /// The text after.
    pub after: String,
    /// What the text before is called, such as its path.
    pub before_header: Option<String>,
    /// What the text after is called.
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
            entries.extend(header.map(|header| (key.to_owned(), Value::from(header))));
        }
        Value::Dict(entries)
    }
}

/// Why a module could not do its work: a message, and entries that go with it.
///
/// Any error turns into one with `?`; its message then holds the chain of causes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failure {
    pub(crate) message: String,
    pub(crate) entries: Dict,
}

impl Failure {
    /// Returns a failure with a message.
    #[must_use]
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), entries: Dict::new() }
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

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        Self { message, entries: Dict::new() }
    }
}
