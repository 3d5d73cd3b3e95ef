//! How the attributes of a file differ.

use modbox_python_json::{Dict, Value};

/// The attributes of a file before and after, as a result's `diff` shows them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AttributesDiff {
    /// Before.
    pub before: Dict,
    /// After.
    pub after: Dict,
}

impl AttributesDiff {
    /// Notes one attribute that changes.
    pub fn note(&mut self, key: &str, before: impl Into<Value>, after: impl Into<Value>) {
        self.before.insert(key.to_owned(), before.into());
        self.after.insert(key.to_owned(), after.into());
    }

    /// Returns the value of a result's `diff`.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::from([("before", self.before), ("after", self.after)])
    }
}
