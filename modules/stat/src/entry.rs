//! The entries of `stat`.

use modbox_sdk::Value;

/// Returns an entry of a key and a value.
pub(crate) fn entry(key: &str, value: impl Into<Value>) -> (String, Value) {
    (key.to_owned(), value.into())
}
