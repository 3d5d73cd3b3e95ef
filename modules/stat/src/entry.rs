//! The entries of `stat`.

use modbox_sdk::Value;

pub(crate) fn entry(key: &str, value: impl Into<Value>) -> (String, Value) {
    (key.to_owned(), value.into())
}
