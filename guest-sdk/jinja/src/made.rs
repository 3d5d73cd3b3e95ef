//! How many bytes filters and methods make.
//!
//! A template that keeps what a filter makes, in a loop, fills memory although each result fits. Calls count what they
//! make in the engine's state; the caller takes the count and adds it up, since an evaluation has many states. What a
//! call only passes on is not counted. The size of an item is an estimate.

use indexmap::IndexMap;
use minijinja::value::Tuple;
use minijinja::{State, Value};

use crate::values::{MutableDict, MutableList, ValueError};

/// The most bytes that calls may make before they are taken.
const MAX_BYTES: usize = 256 << 20;

/// Bytes of an item of a list, or of an entry of a dict.
const ITEM_BYTES: usize = 32;

/// Bytes of the values that a byte of JSON or YAML gives: `[1,1]` has an item in two bytes.
const PARSED_BYTES: usize = 8;

/// Bytes that the calls of a state made.
#[derive(Debug, Default)]
pub struct Made(usize);

impl Made {
    /// Returns the bytes that were made since the last time.
    pub fn take(state: &mut State<'_, '_>) -> usize {
        state.get_extension_mut::<Self>().map_or(0, |made| std::mem::take(&mut made.0))
    }

    /// Counts bytes.
    ///
    /// # Errors
    ///
    /// They are too many.
    pub(crate) fn add(state: &mut State<'_, '_>, bytes: usize) -> Result<(), ValueError> {
        let made = state.get_or_insert_extension(Self::default());
        made.0 = made.0.saturating_add(bytes);
        if made.0 > MAX_BYTES { Err(ValueError::TooLarge) } else { Ok(()) }
    }

    /// Counts items of lists and dicts.
    ///
    /// # Errors
    ///
    /// They are too many.
    pub(crate) fn add_items(state: &mut State<'_, '_>, items: usize) -> Result<(), ValueError> {
        Self::add(state, items.saturating_mul(ITEM_BYTES))
    }

    /// Counts the values that a text in JSON or YAML gives.
    ///
    /// # Errors
    ///
    /// They are too many.
    pub(crate) fn add_parsed(state: &mut State<'_, '_>, text: &str) -> Result<(), ValueError> {
        Self::add(state, text.len().saturating_mul(PARSED_BYTES))
    }

    /// Returns the bytes of a value that is made of others: not those within its items, and none if it is one of the
    /// others itself.
    #[must_use]
    pub fn bytes(value: &Value, others: &[Value]) -> usize {
        let Some((address, bytes)) = place(value) else { return 0 };
        let is_passed_on = others.iter().filter_map(place).any(|(other, _)| other == address);
        if is_passed_on { 0 } else { bytes }
    }
}

/// Returns where a value lies in memory, and its bytes. Objects of the caller are not looked at: they may count each
/// question as a use.
fn place(value: &Value) -> Option<(*const (), usize)> {
    if let Some(text) = value.as_str() {
        return Some((text.as_ptr().cast(), text.len()));
    }
    if let Some(bytes) = value.as_bytes() {
        return Some((bytes.as_ptr().cast(), bytes.len()));
    }
    let items = |address: *const (), items: usize| Some((address, items.saturating_mul(ITEM_BYTES)));
    if let Some(list) = value.downcast_object_ref::<Vec<Value>>() {
        return items(std::ptr::from_ref(list).cast(), list.len());
    }
    if let Some(list) = value.downcast_object_ref::<Vec<String>>() {
        let texts = list.iter().map(String::len).sum::<usize>();
        let (address, bytes) = items(std::ptr::from_ref(list).cast(), list.len())?;
        return Some((address, bytes.saturating_add(texts)));
    }
    if let Some(tuple) = value.downcast_object_ref::<Tuple>() {
        return items(std::ptr::from_ref(tuple).cast(), tuple.len());
    }
    if let Some(dict) = value.downcast_object_ref::<IndexMap<Value, Value>>() {
        return items(std::ptr::from_ref(dict).cast(), dict.len());
    }
    if let Some(list) = value.downcast_object_ref::<MutableList>() {
        return items(std::ptr::from_ref(list).cast(), value.len().unwrap_or(0));
    }
    let dict = value.downcast_object_ref::<MutableDict>()?;
    items(std::ptr::from_ref(dict).cast(), value.len().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_on_is_not_counted() {
        let text = Value::from("a".repeat(100));
        let list = Value::from(vec![1, 2, 3].into_iter().map(Value::from).collect::<Vec<_>>());
        let cases = [
            (&text, vec![], 100),
            (&text, vec![list.clone(), text.clone()], 0),
            (&text, vec![Value::from("a".repeat(100))], 100),
            (&list, vec![text.clone()], 3 * ITEM_BYTES),
            (&list, vec![list.clone()], 0),
            (&Value::from(vec!["ab".to_owned(); 2]), vec![], 2 * ITEM_BYTES + 4),
            (&Value::from(7), vec![], 0),
        ];
        for (value, others, expect) in cases {
            assert_eq!(Made::bytes(value, &others), expect, "{value} of {others:?}");
        }
    }

    #[test]
    fn calls_of_a_state_make_no_more_than_fits() {
        let environment = minijinja::Environment::new();
        let mut state = environment.empty_state();
        Made::add(&mut state, MAX_BYTES).unwrap();
        assert_eq!(Made::add_items(&mut state, 1), Err(ValueError::TooLarge));
        assert_eq!(Made::take(&mut state), MAX_BYTES + ITEM_BYTES);
        assert_eq!(Made::take(&mut state), 0);
    }
}
