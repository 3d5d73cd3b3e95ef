//! Lists and dicts that methods can change: `append`, `update`.
//!
//! minijinja's own lists and dicts never change. A template that collects values in a local needs these. Reading takes
//! a copy of the items, so a loop over a list that grows ends.

use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr, Tuple, ValueKind};

use super::table::Table;
use super::view::{View, entries, items, view};
use super::walk::{ValueError, Walk};

/// A `list` that can change.
#[derive(Debug, Default)]
pub struct MutableList(Mutex<Vec<Value>>);

/// A `dict` that can change.
#[derive(Debug, Default)]
pub struct MutableDict(Mutex<Table>);

impl MutableList {
    /// Returns the items.
    #[must_use]
    pub fn items(&self) -> Vec<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds an item at the end.
    ///
    /// # Errors
    ///
    /// The list would hold itself.
    pub fn push(&self, item: Value) -> Result<(), ValueError> {
        check_without(&item, std::ptr::from_ref(self).cast(), &mut Walk::default())?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(item);
        Ok(())
    }

    /// Changes the items.
    ///
    /// # Errors
    ///
    /// The change failed, or the list would hold itself, so that no walk over it would end.
    pub fn change<T, E: From<ValueError>>(&self, change: impl FnOnce(&mut Vec<Value>) -> Result<T, E>) -> Result<T, E> {
        let mut after = self.items();
        let result = change(&mut after)?;
        let mut walk = Walk::default();
        after.iter().try_for_each(|item| check_without(item, std::ptr::from_ref(self).cast(), &mut walk))?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = after;
        Ok(result)
    }
}

impl MutableDict {
    /// Returns the entries.
    #[must_use]
    pub fn table(&self) -> Table {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets an entry.
    ///
    /// # Errors
    ///
    /// The key cannot be hashed, or the dict would hold itself.
    pub fn insert(&self, key: Value, value: Value) -> Result<(), ValueError> {
        check_without(&value, std::ptr::from_ref(self).cast(), &mut Walk::default())?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, value)
    }

    /// Changes the entries.
    ///
    /// # Errors
    ///
    /// The change failed, or the dict would hold itself.
    pub fn change<T, E: From<ValueError>>(&self, change: impl FnOnce(&mut Table) -> Result<T, E>) -> Result<T, E> {
        let mut after = self.table();
        let result = change(&mut after)?;
        let mut walk = Walk::default();
        after.iter().try_for_each(|(_, item)| check_without(item, std::ptr::from_ref(self).cast(), &mut walk))?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = after;
        Ok(result)
    }
}

/// Checks that a container at an address is not within a value.
fn check_without(value: &Value, address: *const (), walk: &mut Walk) -> Result<(), ValueError> {
    let own = value.downcast_object_ref::<MutableList>().map(|list| std::ptr::from_ref(list).cast::<()>());
    let own = own.or_else(|| value.downcast_object_ref::<MutableDict>().map(|dict| std::ptr::from_ref(dict).cast()));
    if own == Some(address) {
        return Err(ValueError::TooDeep);
    }
    match view(value) {
        View::List | View::Tuple => {
            walk.deeper(|walk| items(value)?.iter().try_for_each(|item| check_without(item, address, walk)))
        }
        View::Dict => walk.deeper(|walk| {
            let all = entries(value).unwrap_or_default();
            all.iter().try_for_each(|(_, item)| check_without(item, address, walk))
        }),
        _ => walk.step(),
    }
}

impl Object for MutableList {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.0.lock().unwrap_or_else(PoisonError::into_inner).len())
    }
}

impl Object for MutableDict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).ok()?.cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let pairs: Vec<_> = self.table().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Enumerator::RevKeyValueIter(Box::new(pairs.into_iter()))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.0.lock().unwrap_or_else(PoisonError::into_inner).len())
    }
}

/// Returns the value with every list and dict of the engine in it changeable. What is changeable already stays the same
/// object, so that two names of one list show the same changes. Objects of the caller stay as they are.
///
/// # Errors
///
/// The value is too deep, or has a key that cannot be hashed.
pub fn mutable(value: &Value) -> Result<Value, ValueError> {
    convert(value, &mut Walk::default())
}

fn convert(value: &Value, walk: &mut Walk) -> Result<Value, ValueError> {
    let is_list = value.downcast_object_ref::<Vec<Value>>().is_some()
        || value.downcast_object_ref::<Vec<String>>().is_some()
        || value.kind() == ValueKind::Iterable;
    if is_list {
        return walk.deeper(|walk| Ok(Value::from_object(MutableList(Mutex::new(convert_items(value, walk)?)))));
    }
    if value.is_tuple() {
        return walk.deeper(|walk| Ok(Value::from(Tuple::from(convert_items(value, walk)?))));
    }
    if value.downcast_object_ref::<IndexMap<Value, Value>>().is_some() {
        return walk.deeper(|walk| {
            let mut table = Table::default();
            for (key, item) in entries(value).unwrap_or_default() {
                table.insert(key, convert(&item, walk)?)?;
            }
            Ok(Value::from_object(MutableDict(Mutex::new(table))))
        });
    }
    Ok(value.clone())
}

fn convert_items(value: &Value, walk: &mut Walk) -> Result<Vec<Value>, ValueError> {
    items(value)?.iter().map(|item| convert(item, walk)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_show_in_every_name() {
        let value = mutable(&Value::from_pairs([("a", Value::from(vec![Value::from(1)]))])).unwrap();
        let list = value.get_attr("a").unwrap();
        let add = |items: &mut Vec<Value>| -> Result<(), ValueError> {
            items.push(Value::from(2));
            Ok(())
        };
        list.downcast_object_ref::<MutableList>().unwrap().change(add).unwrap();
        assert_eq!(value.to_string(), r#"{'a': [1, 2]}"#);
        assert_eq!(mutable(&value).unwrap().get_attr("a").unwrap().to_string(), "[1, 2]");
    }

    #[test]
    fn a_list_cannot_hold_itself() {
        let list = mutable(&Value::from(Vec::<Value>::new())).unwrap();
        let inner = Value::from(vec![list.clone()]);
        let add = |items: &mut Vec<Value>| -> Result<(), ValueError> {
            items.push(inner);
            Ok(())
        };
        assert_eq!(list.downcast_object_ref::<MutableList>().unwrap().change(add), Err(ValueError::TooDeep));
        assert_eq!(list.len(), Some(0));
    }
}
