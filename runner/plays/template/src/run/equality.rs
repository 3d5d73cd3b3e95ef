//! `==` and `in` of templates, as Python's operators work on lazy containers.
//!
//! They read items without using them, so a marker among them matters only when it is compared itself.

use std::collections::HashMap;
use std::sync::Arc;

use minijinja::Value;
use modbox_jinja::values::{self, Key, Number, Range, View, entries, view, whole_number};

use super::interpreter::Interpreter;
use crate::lazy::{LazyDict, LazyList};
use crate::marker::{Marker, Run, Stop};

impl Interpreter<'_> {
    pub(super) fn equals(&self, left: &Value, right: &Value) -> Run<bool> {
        self.step()?;
        // Python takes an object for equal to itself without a look at its items.
        if is_same(left, right) {
            return Ok(true);
        }
        Self::defined(left, right)?;
        if let (Some(left), Some(right)) = (plain(left), plain(right)) {
            return self.checked(values::equal(&left, &right));
        }
        match (view(left), view(right)) {
            (View::List, View::List) | (View::Tuple, View::Tuple) => self.deeper(|| self.equal_items(left, right)),
            (View::Dict, View::Dict) => self.deeper(|| self.equal_entries(left, right)),
            _ => match (left.downcast_object_ref::<Range>(), right.downcast_object_ref::<Range>()) {
                (Some(left), Some(right)) => Ok(left.equals(right)),
                _ => self.checked(values::equal(left, right)),
            },
        }
    }

    fn deeper(&self, compare: impl FnOnce() -> Run<bool>) -> Run<bool> {
        self.evaluation.enter(self.source.position(), self.line)?;
        let result = compare();
        self.evaluation.leave();
        result
    }

    fn equal_items(&self, left: &Value, right: &Value) -> Run<bool> {
        let (left, right) = (self.iterate(left)?, self.iterate(right)?);
        if left.len() != right.len() {
            return Ok(false);
        }
        for (left, right) in left.iter().zip(&right) {
            if !self.equals(left, right)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn equal_entries(&self, left: &Value, right: &Value) -> Run<bool> {
        let (left, right) = (pairs(left), pairs(right));
        if left.len() != right.len() {
            return Ok(false);
        }
        let keyed = right.into_iter().map(|(key, value)| Key::new(key).map(|key| (key, value)));
        let right: HashMap<Key, Value> = self.checked(keyed.collect())?;
        for (key, value) in left {
            let Some(other) = right.get(&self.checked(Key::new(key))?) else { return Ok(false) };
            if !self.equals(&value, other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn contains(&self, container: &Value, item: &Value) -> Run<bool> {
        if let Some(marker) = Marker::of(container) {
            return Err(Stop(marker));
        }
        if let View::List | View::Tuple = view(container) {
            for other in self.iterate(container)? {
                if self.equals(item, &other)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let range = container.downcast_object_ref::<Range>();
        if range.is_some_and(Range::is_empty) {
            return Ok(false);
        }
        if let Some(marker) = Marker::of(item) {
            return Err(Stop(marker));
        }
        if let Some(range) = range {
            return Ok(has(range, item));
        }
        if let Some(dict) = container.downcast_object_ref::<LazyDict>() {
            // The values are not read.
            return self.checked(dict.has_key(item));
        }
        if container.is_undefined() {
            return Ok(false);
        }
        self.checked(values::contains(container, item))
    }
}

/// Says whether two values are the same container or marker.
fn is_same(left: &Value, right: &Value) -> bool {
    fn same<T: minijinja::value::Object + 'static>(left: &Value, right: &Value) -> bool {
        let both = (left.downcast_object::<T>(), right.downcast_object::<T>());
        matches!(both, (Some(left), Some(right)) if Arc::ptr_eq(&left, &right))
    }
    same::<LazyList>(left, right) || same::<LazyDict>(left, right) || same::<Marker>(left, right)
}

/// Returns data that no template has changed, and that has no markers in it.
fn plain(value: &Value) -> Option<Value> {
    match value.downcast_object_ref::<LazyList>() {
        Some(list) => list.untouched(),
        None => value.downcast_object_ref::<LazyDict>()?.untouched(),
    }
}

/// Returns the entries of a dict; some values may be markers.
fn pairs(dict: &Value) -> Vec<(Value, Value)> {
    match dict.downcast_object_ref::<LazyDict>() {
        Some(dict) => dict.all(),
        None => entries(dict).unwrap_or_default(),
    }
}

/// Says whether a value equals an item of a range. Only numbers do.
fn has(range: &Range, value: &Value) -> bool {
    let whole = match Number::of(value) {
        Some(Number::Float(number)) if number.fract() == 0.0 => whole_number(number),
        Some(Number::Int(_)) => Some(value.clone()),
        _ => None,
    };
    let Some(Number::Int(number)) = whole.as_ref().and_then(Number::of) else { return false };
    let (offset, step) = (number.saturating_sub(i128::from(range.start)), i128::from(range.step));
    let (index, rest) = (offset / step, offset % step);
    rest == 0 && usize::try_from(index).is_ok_and(|index| index < range.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_the_numbers_that_python_finds() {
        let range = Range { start: 1, stop: 9, step: 3 };
        for found in [Value::from(1), Value::from(7), Value::from(4.0), Value::from(true)] {
            assert!(has(&range, &found), "{found:?}");
        }
        let missing = [Value::from(2), Value::from(10), Value::from(-2), Value::from(4.5), Value::from("4")];
        for missing in missing.into_iter().chain([Value::from(()), Value::from(f64::NAN)]) {
            assert!(!has(&range, &missing), "{missing:?}");
        }
        let down = Range { start: 3, stop: 0, step: -1 };
        assert!(has(&down, &Value::from(1)) && !has(&down, &Value::from(0)) && !has(&down, &Value::from(4)));
    }
}
