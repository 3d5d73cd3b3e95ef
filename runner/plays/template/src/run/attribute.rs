//! Attributes, items and slices.

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::Tuple;
use modbox_jinja::values::{self, Group, Range, View, view};

use super::interpreter::Interpreter;
use crate::lazy::{Items, LazyDict, LazyList};
use crate::marker::{Marker, Run, Stop};
use crate::methods::is_method;
use crate::objects::{Method, SelfReference};
use crate::types::type_name;

impl Interpreter<'_> {
    /// Returns `object.name`: a method of the type, or an item.
    pub(super) fn attribute(&mut self, object: &Value, name: &Arc<str>) -> Run<Value> {
        if Marker::is(object) {
            return Ok(object.clone());
        }
        if name.starts_with("__") {
            let type_name = type_name(object);
            return Ok(self.undefined(format!("access to attribute '{name}' of '{type_name}' object is unsafe.")));
        }
        if let Some(value) = built_in(object, name) {
            return Ok(value);
        }
        if object.downcast_object_ref::<SelfReference>().is_some() && self.blocks.get(name, 0).is_some() {
            return Ok(Value::from_object(Method { receiver: object.clone(), name: name.clone() }));
        }
        let found = match view(object) {
            View::Undefined => return Err(self.raise("the value is undefined")),
            View::Dict => self.entry(object, &Value::from(name.clone()))?,
            View::Tuple => object.downcast_object_ref::<Group>().and_then(|group| group.field(name)),
            View::Other | View::Date(_) | View::DateTime(_) | View::Time(_) | View::TimeDelta(_) => {
                object.as_object().and_then(|object| object.get_value(&Value::from(name.clone())))
            }
            _ => None,
        };
        match found.filter(|value| !value.is_undefined()) {
            Some(value) => Ok(value),
            None => Ok(self.missing(object, &Value::from(name.clone()))),
        }
    }

    /// Returns `object[key]`.
    pub(super) fn item(&mut self, object: &Value, key: &Value) -> Run<Value> {
        if Marker::is(object) {
            return Ok(object.clone());
        }
        if let Some(marker) = Marker::of(key) {
            return Err(Stop(marker));
        }
        let found = match view(object) {
            View::Undefined => return Err(self.raise("the value is undefined")),
            View::Dict => self.entry(object, key)?,
            View::List | View::Tuple => index_of(key, object.len().unwrap_or(0)).and_then(|at| element(object, at)),
            View::Str(text) => {
                let length = if text.is_ascii() { text.len() } else { text.chars().count() };
                index_of(key, length).and_then(|at| text.chars().nth(at)).map(|c| Value::from(String::from(c)))
            }
            View::Other => match object.downcast_object_ref::<Range>() {
                Some(range) => index_of(key, range.len()).and_then(|at| range.get(at)),
                None => object.as_object().and_then(|object| object.get_value(key)),
            },
            _ => None,
        };
        if let Some(value) = found {
            return Ok(value);
        }
        match key.as_str().and_then(|name| built_in(object, &Arc::from(name))) {
            Some(value) => Ok(value),
            None => Ok(self.missing(object, key)),
        }
    }

    fn entry(&self, object: &Value, key: &Value) -> Run<Option<Value>> {
        match object.downcast_object_ref::<LazyDict>() {
            // A key without a hash is a missing one for Jinja.
            Some(dict) => Ok(dict.get(key).unwrap_or_default()),
            None => {
                let entries = values::entries(object).unwrap_or_default();
                let is_wanted = |known: &Value| values::equal(known, key).unwrap_or(false);
                Ok(entries.into_iter().find(|(known, _)| is_wanted(known)).map(|(_, value)| value))
            }
        }
    }

    fn missing(&self, object: &Value, key: &Value) -> Value {
        let is_index = matches!(view(object), View::List | View::Tuple) && matches!(view(key), View::Int(_));
        let (type_name, shown) = (type_name(object), values::repr(key).unwrap_or_default());
        let message = if is_index {
            format!("{type_name} object has no element {shown}")
        } else {
            format!("object of type '{type_name}' has no attribute {shown}")
        };
        self.undefined_name(key, message)
    }

    /// Returns `object[start:stop:step]`.
    pub(super) fn slice(&self, object: &Value, bounds: &[Value; 3]) -> Run<Value> {
        if Marker::is(object) {
            return Ok(object.clone());
        }
        let mut numbers = [None; 3];
        for (number, bound) in numbers.iter_mut().zip(bounds) {
            *number = match view(bound) {
                View::None => None,
                View::Bool(truth) => Some(i64::from(truth)),
                View::Int(number) => {
                    Some(i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX }))
                }
                _ => return Err(self.raise("slice indices must be integers or None or have an __index__ method")),
            };
        }
        if numbers[2] == Some(0) {
            return Err(self.raise("slice step cannot be zero"));
        }
        match view(object) {
            View::Str(text) => {
                let characters: Vec<char> = text.chars().collect();
                let picked = picked(characters.len(), numbers).into_iter().filter_map(|at| characters.get(at));
                let part: String = picked.collect();
                self.make(part.len())?;
                Ok(Value::from(part))
            }
            View::Other if object.downcast_object_ref::<Range>().is_some() => {
                let sliced = object.downcast_object_ref::<Range>().and_then(|range| range.slice(numbers));
                sliced.map(Value::from_object).ok_or_else(|| self.raise("the range is too large"))
            }
            View::List | View::Tuple => {
                let items = self.iterate(object)?;
                let picked = picked(items.len(), numbers).into_iter().filter_map(|at| items.get(at).cloned());
                let picked: Vec<Value> = picked.collect();
                self.make(picked.len().saturating_mul(size_of::<Value>()))?;
                Ok(match object.is_tuple() {
                    true => Value::from(Tuple::from(picked)),
                    false => LazyList::value(self.evaluation, Items::Made(picked)),
                })
            }
            View::Dict => Err(self.raise("unhashable type: 'slice'")),
            _ => Err(self.raise(format!("'{}' object is not subscriptable", type_name(object)))),
        }
    }
}

/// Returns an attribute that every value of the type has.
fn built_in(object: &Value, name: &Arc<str>) -> Option<Value> {
    if is_method(object, name) {
        return Some(Value::from_object(Method { receiver: object.clone(), name: name.clone() }));
    }
    match (view(object), &**name) {
        (View::Int(_) | View::Long(_) | View::Float(_), "real") | (View::Int(_) | View::Long(_), "numerator") => {
            Some(object.clone())
        }
        (View::Bool(truth), "real" | "numerator") => Some(Value::from(i64::from(truth))),
        (View::Int(_) | View::Long(_) | View::Bool(_), "imag") => Some(Value::from(0)),
        (View::Int(_) | View::Long(_) | View::Bool(_), "denominator") => Some(Value::from(1)),
        (View::Float(_), "imag") => Some(Value::from(0.0)),
        (View::Other, "start" | "stop" | "step") => {
            let range = object.downcast_object_ref::<Range>()?;
            let number = if &**name == "start" { range.start } else { range.stop };
            Some(Value::from(if &**name == "step" { range.step } else { number }))
        }
        _ => None,
    }
}

fn element(object: &Value, at: usize) -> Option<Value> {
    match object.downcast_object_ref::<LazyList>() {
        Some(list) => list.get(at),
        None => object.as_object().and_then(|object| object.get_value(&Value::from(at))),
    }
}

/// Returns the place of an index, which counts from the end if it is negative.
fn index_of(key: &Value, length: usize) -> Option<usize> {
    let index = match view(key) {
        View::Bool(truth) => i128::from(truth),
        View::Int(number) => number,
        _ => return None,
    };
    let length = i128::try_from(length).ok()?;
    let index = if index < 0 { index + length } else { index };
    usize::try_from(index).ok().filter(|_| index < length)
}

/// Returns the indices that a slice picks.
fn picked(length: usize, [start, stop, step]: [Option<i64>; 3]) -> Vec<usize> {
    let (length, step) = (i64::try_from(length).unwrap_or(i64::MAX), step.unwrap_or(1));
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let place = |bound: Option<i64>, default: i64| match bound {
        None => default,
        Some(bound) if bound < 0 => bound.saturating_add(length).max(low),
        Some(bound) => bound.min(high),
    };
    let (mut at, stop) =
        if step > 0 { (place(start, low), place(stop, high)) } else { (place(start, high), place(stop, low)) };
    let mut all = Vec::new();
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        all.extend(usize::try_from(at));
        at = at.saturating_add(step);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_as_python_does() {
        let cases: [([Option<i64>; 3], &[usize]); 8] = [
            ([None, None, None], &[0, 1, 2, 3]),
            ([Some(1), Some(3), None], &[1, 2]),
            ([Some(-2), None, None], &[2, 3]),
            ([None, None, Some(-1)], &[3, 2, 1, 0]),
            ([Some(10), None, Some(-2)], &[3, 1]),
            ([Some(0), Some(-1), Some(2)], &[0, 2]),
            ([Some(3), Some(1), None], &[]),
            ([Some(i64::MIN), Some(i64::MAX), Some(i64::MAX)], &[0]),
        ];
        for (bounds, expect) in cases {
            assert_eq!(picked(4, bounds), expect, "{bounds:?}");
        }
    }
}
