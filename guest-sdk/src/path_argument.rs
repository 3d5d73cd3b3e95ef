//! Paths in arguments and results. As in ansible-core, a byte that is not UTF-8 is a lone surrogate there (Python's
//! `surrogateescape`); a component has a name of its own for such files.

use std::path::PathBuf;

use modbox_python_json::Value;

use crate::platform;

/// Returns an argument that holds paths as this module can use it. What no path can be stays.
pub(crate) fn in_guest(value: Value) -> Value {
    match value {
        Value::List(paths) => Value::List(paths.into_iter().map(in_guest).collect()),
        other => text(&other).map_or(other, Value::Str),
    }
}

/// Returns the path in a result or an argument, as this module can use it.
pub(crate) fn path(value: &Value) -> Option<PathBuf> {
    text(value).map(PathBuf::from)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Str(path) => platform::path_text(path.as_bytes()),
        Value::Surrogates(path) => platform::path_text(&path.to_bytes()?),
        _ => None,
    }
}
