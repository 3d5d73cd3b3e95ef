//! Python's `==` and `in`, and the hashes that go with them.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use minijinja::Value;

use super::number::Number;
use super::view::{View, entries, items, type_name, view};
use super::walk::{ValueError, Walk};

/// Returns the result of Python's `left == right`: `1 == 1.0 == True`, and a list never equals a tuple.
///
/// # Errors
///
/// The values are too deep or too large.
pub fn equal(left: &Value, right: &Value) -> Result<bool, ValueError> {
    equal_within(left, right, &mut Walk::default())
}

pub(crate) fn equal_within(left: &Value, right: &Value, walk: &mut Walk) -> Result<bool, ValueError> {
    walk.step()?;
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        return Ok(left.compare(&right) == Some(Ordering::Equal));
    }
    match (view(left), view(right)) {
        (View::Undefined, View::Undefined) | (View::None, View::None) => Ok(true),
        (View::Str(left), View::Str(right)) => Ok(left == right),
        (View::Surrogates(left), View::Surrogates(right)) => Ok(left == right),
        (View::Bytes(left), View::Bytes(right)) => Ok(left == right),
        (View::Date(left), View::Date(right)) => Ok(left == right),
        (View::DateTime(left), View::DateTime(right)) => Ok(left.compare(right) == Some(Ordering::Equal)),
        (View::Time(left), View::Time(right)) => Ok(left == right),
        (View::TimeDelta(left), View::TimeDelta(right)) => Ok(left == right),
        (View::List, View::List) | (View::Tuple, View::Tuple) => walk.deeper(|walk| equal_items(left, right, walk)),
        (View::Dict, View::Dict) => walk.deeper(|walk| equal_entries(left, right, walk)),
        (View::Other, View::Other) => Ok(left == right),
        _ => Ok(false),
    }
}

fn equal_items(left: &Value, right: &Value, walk: &mut Walk) -> Result<bool, ValueError> {
    if left.len().is_some() && right.len().is_some() && left.len() != right.len() {
        return Ok(false);
    }
    let (left, right) = (items(left)?, items(right)?);
    if left.len() != right.len() {
        return Ok(false);
    }
    for (left, right) in left.iter().zip(&right) {
        if !equal_within(left, right, walk)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_entries(left: &Value, right: &Value, walk: &mut Walk) -> Result<bool, ValueError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    let right: indexmap::IndexMap<Key, Value> = entries(right)
        .unwrap_or_default()
        .into_iter()
        .map(|(key, value)| Key::new(key).map(|key| (key, value)))
        .collect::<Result<_, _>>()?;
    for (key, value) in entries(left).unwrap_or_default() {
        match right.get(&Key::new(key)?) {
            Some(other) if equal_within(&value, other, walk)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// A value that Python can hash. `1`, `1.0` and `True` are the same key.
#[derive(Debug, Clone)]
pub struct Key(Value);

impl Key {
    /// Returns a key.
    ///
    /// # Errors
    ///
    /// The value is a list or dict, or has one in it.
    pub fn new(value: Value) -> Result<Self, ValueError> {
        check(&value, &mut Walk::default())?;
        Ok(Self(value))
    }

    /// Returns the value.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Returns the value.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.0
    }
}

fn check(value: &Value, walk: &mut Walk) -> Result<(), ValueError> {
    match view(value) {
        View::List | View::Dict => Err(ValueError::Unhashable(type_name(value))),
        View::Tuple => walk.deeper(|walk| items(value)?.iter().try_for_each(|item| check(item, walk))),
        _ => walk.step(),
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        // Depth and size were checked when the keys were made.
        equal(&self.0, &other.0).unwrap_or(false)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(&self.0, state);
    }
}

fn hash<H: Hasher>(value: &Value, state: &mut H) {
    if let Some(number) = Number::of(value) {
        // Equal numbers have the same nearest float.
        let float = number.to_f64();
        return (if float == 0.0 { 0 } else { float.to_bits() }).hash(state);
    }
    match view(value) {
        View::Str(text) => text.hash(state),
        View::Surrogates(text) => text.units().hash(state),
        View::Bytes(bytes) => bytes.hash(state),
        View::Tuple => items(value).unwrap_or_default().iter().for_each(|item| hash(item, state)),
        View::Date(date) => date.hash(state),
        View::DateTime(moment) => moment.instant().hash(state),
        _ => type_name(value).hash(state),
    }
}

/// Returns the result of Python's `item in container`.
///
/// # Errors
///
/// The container has no items, the container is text and the item is not, or the item must have a hash and has none.
pub fn contains(container: &Value, item: &Value) -> Result<bool, ContainsError> {
    match view(container) {
        View::Str(text) => match view(item) {
            View::Str(part) => Ok(text.contains(part)),
            View::Surrogates(_) => Ok(false),
            _ => Err(ContainsError::NotText(type_name(item))),
        },
        View::Dict => {
            let key = Key::new(item.clone())?;
            for other in items(container)? {
                if Key::new(other)? == key {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        View::List | View::Tuple => {
            let mut walk = Walk::default();
            for other in items(container)? {
                if equal_within(item, &other, &mut walk)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        View::Undefined => Err(ValueError::Undefined.into()),
        _ => Err(ContainsError::NoContainer(type_name(container))),
    }
}

/// A failed [`contains`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContainsError {
    /// Text contains only text.
    #[error("'in <string>' requires string as left operand, not {0}")]
    NotText(&'static str),
    /// The value has no items.
    #[error("argument of type '{0}' is not iterable")]
    NoContainer(&'static str),
    /// A value failed.
    #[error(transparent)]
    Value(#[from] ValueError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(left: impl Into<Value>, right: impl Into<Value>, expect: bool) {
        let (left, right) = (left.into(), right.into());
        assert_eq!(equal(&left, &right), Ok(expect), "{left:?} {right:?}");
        assert_eq!(equal(&right, &left), Ok(expect), "{right:?} {left:?}");
    }

    #[test]
    fn compares_as_python_does() {
        check(1, true, true);
        check(1, 1.0, true);
        check(0, false, true);
        check(1, "1", false);
        check((), false, false);
        check(f64::NAN, f64::NAN, false);
        check(vec![1, 2], (1, 2), false);
        check(vec![Value::from(1), Value::from("a")], vec![Value::from(true), Value::from("a")], true);
        check(Value::from_pairs([("a", 1), ("b", 2)]), Value::from_pairs([("b", 2), ("a", 1)]), true);
        check(Value::from_pairs([(1, 1)]), Value::from_pairs([(1.0, 1)]), true);
        check(Value::from_pairs([("a", 1)]), Value::from_pairs([("a", 1), ("b", 1)]), false);
    }

    #[test]
    fn finds_as_python_does() {
        assert_eq!(contains(&Value::from("abc"), &Value::from("bc")), Ok(true));
        assert!(contains(&Value::from("abc"), &Value::from(1)).is_err());
        assert_eq!(contains(&Value::from(vec![1, 2]), &Value::from(2.0)), Ok(true));
        assert!(contains(&Value::from(1), &Value::from(1)).is_err());
        assert!(contains(&Value::from_pairs([("a", 1)]), &Value::from(vec![1])).is_err());
    }

    #[test]
    fn lists_are_not_keys() {
        assert_eq!(Key::new(Value::from(vec![1])).err(), Some(ValueError::Unhashable("list")));
        assert!(Key::new(Value::from((1, vec![1]))).is_err());
        assert!(Key::new(Value::from((1, "a"))).is_ok());
    }
}
