//! Python's hashing: which values can be keys, and which keys are the same.

use std::hash::{Hash, Hasher};

use indexmap::IndexMap;
use minijinja::Value;

use super::equality::equal;
use super::number::Number;
use super::view::{View, items, type_name, view};
use super::walk::{ValueError, Walk};

/// A value that Python can hash. `1`, `1.0` and `True` are the same key.
#[derive(Debug, Clone)]
pub struct Key(Value);

/// A dict with Python's keys.
#[derive(Debug, Clone, Default)]
pub struct Table(IndexMap<Key, Value>);

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

impl Table {
    /// Returns the table of a dict, or `None` for any other value.
    ///
    /// # Errors
    ///
    /// A key cannot be hashed.
    pub fn of(value: &Value) -> Result<Option<Self>, ValueError> {
        let Some(entries) = super::view::entries(value) else { return Ok(None) };
        let mut table = Self::default();
        for (key, value) in entries {
            table.insert(key, value)?;
        }
        Ok(Some(table))
    }

    /// Sets an entry. As in Python, an entry that exists keeps its place and its key.
    ///
    /// # Errors
    ///
    /// The key cannot be hashed.
    pub fn insert(&mut self, key: Value, value: Value) -> Result<(), ValueError> {
        self.0.insert(Key::new(key)?, value);
        Ok(())
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    ///
    /// The key cannot be hashed.
    pub fn get(&self, key: &Value) -> Result<Option<&Value>, ValueError> {
        Ok(self.0.get(&Key::new(key.clone())?))
    }

    /// Removes an entry.
    ///
    /// # Errors
    ///
    /// The key cannot be hashed.
    pub fn remove(&mut self, key: &Value) -> Result<Option<Value>, ValueError> {
        Ok(self.0.shift_remove(&Key::new(key.clone())?))
    }

    /// Removes and returns the last entry.
    pub fn pop_last(&mut self) -> Option<(Value, Value)> {
        self.0.pop().map(|(key, value)| (key.into_value(), value))
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Value, &Value)> {
        self.0.iter().map(|(key, value)| (key.value(), value))
    }

    /// Returns the dict.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::from_pairs(self.0.into_iter().map(|(key, value)| (key.into_value(), value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_the_same_key() {
        let mut table = Table::default();
        for (index, key) in [Value::from(1), Value::from(1.0), Value::from(true)].into_iter().enumerate() {
            table.insert(key, Value::from(index)).unwrap();
        }
        assert_eq!(table.into_value().to_string(), "{1: 2}");
    }

    #[test]
    fn lists_are_not_keys() {
        assert_eq!(Key::new(Value::from(vec![1])).err(), Some(ValueError::Unhashable("list")));
        assert!(Key::new(Value::from((1, vec![1]))).is_err());
        assert!(Key::new(Value::from((1, "a"))).is_ok());
    }
}
