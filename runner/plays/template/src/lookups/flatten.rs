//! Flattening of lists, as several lookups do it.

use minijinja::Value;
use modbox_jinja::values::{View, view};

use crate::marker::Run;
use crate::run::Interpreter;

/// Says whether a value is a list or a tuple.
pub(super) fn is_list(value: &Value) -> bool {
    matches!(view(value), View::List | View::Tuple)
}

/// Replaces each list by its items, one level deep.
pub(super) fn flatten_once(interpreter: &Interpreter<'_>, terms: &[Value]) -> Run<Vec<Value>> {
    let mut flat = Vec::new();
    for term in terms {
        if is_list(term) {
            flat.extend(interpreter.read_items(term)?);
        } else {
            flat.push(term.clone());
        }
    }
    Ok(flat)
}
