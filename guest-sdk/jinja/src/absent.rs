//! What filters return or say for an attribute or item that does not exist.
//!
//! An engine that has values for this, as Ansible's has, gives a function that makes them. Without one, the value is undefined.

use std::fmt;
use std::sync::Arc;

use minijinja::{Error, ErrorKind, State, Value};

use crate::values::{View, repr, type_name, view};

/// The function of an engine that makes the value for what does not exist, from the name or key, and the reason.
#[derive(Clone)]
pub struct AbsentValues(Arc<Make>);

/// What makes the value.
type Make = dyn Fn(&Value, String) -> Value + Send + Sync;

impl fmt::Debug for AbsentValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbsentValues").finish_non_exhaustive()
    }
}

impl AbsentValues {
    /// Makes filters that a state calls use a function.
    pub fn install(state: &mut State<'_, '_>, make: impl Fn(&Value, String) -> Value + Send + Sync + 'static) {
        state.get_or_insert_extension(Self(Arc::new(make)));
    }
}

/// Returns the value for an attribute or item that an object does not have.
pub(crate) fn absent(state: &State<'_, '_>, object: &Value, key: &Value) -> Value {
    state.get_extension::<AbsentValues>().map_or(Value::UNDEFINED, |values| values.0(key, reason(object, key)))
}

/// Returns the error that an object does not have an attribute or item.
pub(crate) fn absent_error(object: &Value, key: &Value) -> Error {
    Error::new(ErrorKind::UndefinedError, reason(object, key))
}

/// Returns the words of ansible-core 2.21 (`_undefined_message` of markers).
fn reason(object: &Value, key: &Value) -> String {
    let is_container = matches!(view(object), View::List | View::Tuple | View::Dict);
    let named = if let View::None = view(object) { "None" } else { type_name(object) };
    let key_text = repr(key).unwrap_or_default();
    if is_container || key.as_str().is_some() {
        format!("object of type '{}' has no attribute {key_text}", type_name(object))
    } else {
        format!("{named} object has no element {key_text}")
    }
}
