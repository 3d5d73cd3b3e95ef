//! Jinja's access to an item or attribute, and the identity of containers.

use minijinja::Value;

use super::view::{View, view};

/// Returns an item or attribute as Jinja's `environment.getitem` does: an index may be negative, and what does not exist
/// is undefined.
#[must_use]
pub fn get_item(value: &Value, key: &Value) -> Value {
    let index = match view(key) {
        View::Int(number) => i64::try_from(number).ok(),
        View::Bool(truth) => Some(i64::from(truth)),
        _ => None,
    };
    match (view(value), index) {
        (View::Str(text), Some(index)) => {
            let at = position(index, text.chars().count());
            at.and_then(|at| text.chars().nth(at)).map_or(Value::UNDEFINED, |c| Value::from(c.to_string()))
        }
        (View::List | View::Tuple, Some(index)) => {
            let at = value.len().and_then(|length| position(index, length));
            at.and_then(|at| value.get_item_by_index(at).ok()).unwrap_or_default()
        }
        _ => value.as_object().and_then(|object| object.get_value(key)).unwrap_or_default(),
    }
}

/// Returns the place of an index that may count from the end.
pub(crate) fn position(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let at = if index < 0 { index.checked_add(length)? } else { index };
    usize::try_from(at).ok().filter(|_| at < length)
}

/// Returns the address of a list or dict, which its copies share. Other values have none.
pub(crate) fn identity(value: &Value) -> Option<usize> {
    fn address<T: 'static>(value: &Value) -> Option<usize> {
        value.downcast_object_ref::<T>().map(|object| std::ptr::from_ref(object).addr())
    }
    address::<Vec<Value>>(value)
        .or_else(|| address::<indexmap::IndexMap<Value, Value>>(value))
        .or_else(|| address::<super::mutable::MutableList>(value))
        .or_else(|| address::<super::mutable::MutableDict>(value))
}
