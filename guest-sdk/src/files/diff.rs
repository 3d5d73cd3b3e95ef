//! The difference of a file's attributes.

use modbox_python_json::{Dict, Value};

/// The attributes of a file before and after, for a result's `diff`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AttributesDiff {
    /// The attributes before.
    pub before: Dict,
    /// The attributes after.
    pub after: Dict,
}

impl AttributesDiff {
    /// Adds an attribute that changes.
    pub fn note(&mut self, key: &str, before: impl Into<Value>, after: impl Into<Value>) {
        self.before.insert(key.to_owned(), before.into());
        self.after.insert(key.to_owned(), after.into());
    }

    /// Returns the value for a result's `diff`.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::from([("before", self.before), ("after", self.after)])
    }
}
