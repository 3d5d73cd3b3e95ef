//! Methods of `list` and `tuple`.

use minijinja::Value;

use super::arguments::Arguments;
use crate::call::{flag, given, int_argument};
use crate::failure::{Outcome, failure};
use crate::values::{MutableList, View, equal, items, mutable, position, sort, view};

/// Methods that change a list.
const CHANGING: [&str; 8] = ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];

/// Calls a method of a list. `None`: there is no such method.
///
/// # Errors
///
/// The arguments do not fit, the method fails, or the list cannot change.
pub(super) fn call(value: &Value, arguments: &Arguments<'_>) -> Outcome<Option<Value>> {
    let is_tuple = matches!(view(value), View::Tuple);
    match arguments.name {
        "index" => find(&items(value)?, arguments).map(Some),
        "count" => {
            let ([wanted], []) = arguments.bind(["value"], [])?;
            let mut count = 0;
            for item in items(value)? {
                count += usize::from(equal(&item, &wanted)?);
            }
            Ok(Some(Value::from(count)))
        }
        "copy" if !is_tuple => {
            arguments.none()?;
            Ok(Some(mutable(&Value::from(items(value)?))?))
        }
        name if !is_tuple && CHANGING.contains(&name) => {
            let Some(list) = value.downcast_object_ref::<MutableList>() else {
                return Err(failure(format!(
                    "failed to call `{name}`: this list cannot change; assign a copy of it to a local with `set` first"
                )));
            };
            change(list, arguments).map(Some)
        }
        _ => Ok(None),
    }
}

fn find(all: &[Value], arguments: &Arguments<'_>) -> Outcome {
    let ([wanted], [start, end]) = arguments.bind(["value"], ["start", "stop"])?;
    let length = i64::try_from(all.len()).unwrap_or(i64::MAX);
    let place = |value: Option<Value>, default: i64| -> Outcome<usize> {
        let place = value.as_ref().map_or(Ok(default), int_argument)?;
        let place = if place < 0 { place.saturating_add(length).max(0) } else { place.min(length) };
        Ok(usize::try_from(place).unwrap_or(0))
    };
    let (start, end) = (place(start, 0)?, place(end, length)?);
    for (at, item) in all.iter().enumerate().take(end).skip(start) {
        if equal(item, &wanted)? {
            return Ok(Value::from(at));
        }
    }
    Err(failure("the value is not in the list"))
}

fn change(list: &MutableList, arguments: &Arguments<'_>) -> Outcome {
    let none = || Value::from(());
    match arguments.name {
        "append" => {
            let ([item], []) = arguments.bind(["object"], [])?;
            list.push(mutable(&item)?)?;
            Ok(none())
        }
        "extend" => {
            let ([more], []) = arguments.bind(["iterable"], [])?;
            for item in items(&more)? {
                list.push(mutable(&item)?)?;
            }
            Ok(none())
        }
        "pop" => {
            let ([], [index]) = arguments.bind([], ["index"])?;
            let index = index.as_ref().map_or(Ok(-1), int_argument)?;
            list.change(|all| {
                if all.is_empty() {
                    return Err(failure("pop from empty list"));
                }
                let at = position(index, all.len()).ok_or_else(|| failure("pop index out of range"))?;
                Ok(all.remove(at))
            })
        }
        "sort" => {
            let ([], [key, reverse]) = arguments.bind([], ["key", "reverse"])?;
            if given(key).is_some() {
                return Err(failure("sort(key=…) is not supported; use the filter `sort` with an attribute"));
            }
            let reverse = flag(reverse.as_ref());
            list.change(|all| {
                let keyed = all.iter().map(|item| (item.clone(), item.clone())).collect();
                *all = sort(keyed, reverse)?;
                Ok(none())
            })
        }
        _ => change_order(list, arguments),
    }
}

fn change_order(list: &MutableList, arguments: &Arguments<'_>) -> Outcome {
    match arguments.name {
        "insert" => {
            let ([index, item], []) = arguments.bind(["index", "object"], [])?;
            let (index, item) = (int_argument(&index)?, mutable(&item)?);
            list.change(|all| {
                let length = i64::try_from(all.len()).unwrap_or(i64::MAX);
                let at = if index < 0 { index.saturating_add(length).max(0) } else { index.min(length) };
                all.insert(usize::try_from(at).unwrap_or(0), item);
                Ok(Value::from(()))
            })
        }
        "remove" => {
            let ([wanted], []) = arguments.bind(["value"], [])?;
            list.change(|all| {
                for at in 0..all.len() {
                    if equal(&all[at], &wanted)? {
                        all.remove(at);
                        return Ok(Value::from(()));
                    }
                }
                Err(failure("list.remove(x): x not in list"))
            })
        }
        name => {
            arguments.none()?;
            list.change(|all| {
                if name == "reverse" {
                    all.reverse()
                } else {
                    all.clear()
                }
                Ok(Value::from(()))
            })
        }
    }
}
