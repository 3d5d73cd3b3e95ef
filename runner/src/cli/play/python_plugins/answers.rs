//! What processes of plugins answer about modules that are missing where a plugin was loaded.

use modbox_contract::{Dict, Value};

/// Says whether a plugin imports modules that are missing where it was loaded.
pub(super) fn lacks(answer: &Dict) -> bool {
    answer.get("absent").and_then(Value::as_list).is_some_and(|absent| !absent.is_empty())
}

/// Returns the missing modules, in words.
pub(super) fn absent(answer: &Dict) -> String {
    let absent = answer.get("absent").and_then(Value::as_list).unwrap_or_default();
    let names: Vec<String> = absent.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
