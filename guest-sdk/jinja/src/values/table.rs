//! Dicts with Python's keys.

use indexmap::IndexMap;
use minijinja::Value;

use super::equality::Key;
use super::view::entries;
use super::walk::ValueError;

/// A dict with Python's keys.
#[derive(Debug, Clone, Default)]
pub struct Table(IndexMap<Key, Value>);

impl Table {
    /// Returns the table of a dict, or `None` for any other value.
    ///
    /// # Errors
    ///
    /// A key cannot be hashed.
    pub fn of(value: &Value) -> Result<Option<Self>, ValueError> {
        let Some(entries) = entries(value) else { return Ok(None) };
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

    /// Turns the entries into a dict of templates, in their order.
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
}
