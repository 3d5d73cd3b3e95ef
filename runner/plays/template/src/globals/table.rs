//! The table of global names.

use std::collections::HashMap;

use minijinja::Value;

use crate::objects::{Function, FunctionKind};
use crate::omit::Omit;

const FUNCTIONS: [(&str, FunctionKind); 11] = [
    ("cycler", FunctionKind::Cycler),
    ("dict", FunctionKind::Dict),
    ("joiner", FunctionKind::Joiner),
    ("lipsum", FunctionKind::Lipsum),
    ("lookup", FunctionKind::Lookup),
    ("namespace", FunctionKind::Namespace),
    ("now", FunctionKind::Now),
    ("q", FunctionKind::Query),
    ("query", FunctionKind::Query),
    ("range", FunctionKind::Range),
    ("undef", FunctionKind::Undef),
];

/// Returns the global names and their values.
pub(crate) fn globals() -> HashMap<&'static str, Value> {
    let functions = FUNCTIONS.into_iter().map(|(name, kind)| (name, Value::from_object(Function(kind))));
    functions.chain([("omit", Omit::value())]).collect()
}
