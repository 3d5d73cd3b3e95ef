//! Methods of `dict`.

use minijinja::Value;
use minijinja::value::Tuple;

use super::arguments::Arguments;
use crate::failure::{Outcome, failure};
use crate::values::{Key, MutableDict, View, entries, get_item, items, mutable, repr, view};

/// Methods that change a dict.
const CHANGING: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];

/// Calls a method of a dict. `None`: there is no such method.
///
/// # Errors
///
/// The arguments do not fit, the method fails, or the dict cannot change.
pub(super) fn call(value: &Value, arguments: &Arguments<'_>) -> Outcome<Option<Value>> {
    let all = || entries(value).unwrap_or_default().into_iter();
    Ok(Some(match arguments.name {
        "keys" | "values" | "items" => {
            arguments.none()?;
            match arguments.name {
                "keys" => Value::from(all().map(|(key, _)| key).collect::<Vec<_>>()),
                "values" => Value::from(all().map(|(_, value)| value).collect::<Vec<_>>()),
                _ => Value::from(all().map(|(key, value)| Value::from(Tuple::from([key, value]))).collect::<Vec<_>>()),
            }
        }
        "get" => {
            let ([key], [default]) = arguments.bind(["key"], ["default"])?;
            Key::new(key.clone())?;
            let found = Some(get_item(value, &key)).filter(|found| !found.is_undefined());
            found.or(default).unwrap_or_else(|| Value::from(()))
        }
        "copy" => {
            arguments.none()?;
            mutable(&Value::from_pairs(all()))?
        }
        name if CHANGING.contains(&name) => {
            let Some(dict) = value.downcast_object_ref::<MutableDict>() else {
                return Err(failure(format!(
                    "failed to call `{name}`: this dict cannot change; assign a copy of it to a local with `set` first"
                )));
            };
            change(dict, arguments)?
        }
        _ => return Ok(None),
    }))
}

fn change(dict: &MutableDict, arguments: &Arguments<'_>) -> Outcome {
    match arguments.name {
        "update" => update(dict, arguments),
        "setdefault" => {
            let ([key], [default]) = arguments.bind(["key"], ["default"])?;
            if let Some(known) = dict.table().get(&key)? {
                return Ok(known.clone());
            }
            let default = mutable(&default.unwrap_or_else(|| Value::from(())))?;
            dict.insert(key, default.clone())?;
            Ok(default)
        }
        "pop" => {
            let ([key], [default]) = arguments.bind(["key"], ["default"])?;
            let removed = dict.change(|table| table.remove(&key))?;
            let missing = || failure(repr(&key).unwrap_or_default());
            removed.or(default).ok_or_else(missing)
        }
        "popitem" => {
            arguments.none()?;
            dict.change(|table| {
                let (key, value) = table.pop_last().ok_or_else(|| failure("popitem(): dictionary is empty"))?;
                Ok(Value::from(Tuple::from([key, value])))
            })
        }
        _ => {
            arguments.none()?;
            dict.change(|table| {
                table.clear();
                Ok(Value::from(()))
            })
        }
    }
}

fn update(dict: &MutableDict, arguments: &Arguments<'_>) -> Outcome {
    let mut pairs = Vec::new();
    match arguments.positional {
        [] => {}
        [other] => match view(other) {
            View::Dict => pairs = entries(other).unwrap_or_default(),
            _ => {
                for pair in items(other)? {
                    let [key, value] = <[Value; 2]>::try_from(items(&pair)?)
                        .map_err(|_| failure("dictionary update sequence element has no length 2"))?;
                    pairs.push((key, value));
                }
            }
        },
        _ => return Err(failure("update expected at most 1 argument")),
    }
    pairs.extend(arguments.named.iter().map(|(key, value)| (Value::from(key.as_str()), value.clone())));
    for (key, value) in pairs {
        dict.insert(key, mutable(&value)?)?;
    }
    Ok(Value::from(()))
}
