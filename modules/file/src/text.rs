//! Converts paths to values.

use std::path::Path;

use modbox_sdk::Value;
use modbox_sdk::fs::path_value;

/// Returns a path as a value for a result.
pub(crate) fn text(path: &Path) -> Value {
    path_value(path)
}
