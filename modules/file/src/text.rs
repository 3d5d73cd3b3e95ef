//! Converts paths to values.

use std::path::Path;

use modbox_sdk::Value;

/// Returns a path as a value for a result.
pub(crate) fn text(path: &Path) -> Value {
    Value::from_os_bytes(path.as_os_str().as_encoded_bytes())
}
