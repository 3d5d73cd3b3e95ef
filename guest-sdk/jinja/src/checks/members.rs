//! Tests of what a container holds, and of the names of filters and tests.

use std::collections::HashSet;

use minijinja::Value;

use crate::call::Call;
use crate::failure::Outcome;
use crate::filters;
use crate::values::{Key, ValueError, View, contains, is_true, items, view};

/// Is the value in a container?
pub(super) fn is_in(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, container], []) = call.bind(["value", "seq"], [])?;
    Ok(Value::from(contains(&container, &value)?))
}

/// Does the container hold a value?
pub(super) fn holds(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([container, value], []) = call.bind(["seq", "value"], [])?;
    Ok(Value::from(contains(&container, &value)?))
}

/// Is a value in the container true?
pub(super) fn any(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([container], []) = call.bind(["iterable"], [])?;
    let all = items(&container)?;
    check(&all)?;
    Ok(Value::from(all.iter().any(is_true)))
}

/// Are all values in the container true?
pub(super) fn all(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([container], []) = call.bind(["iterable"], [])?;
    let all = items(&container)?;
    check(&all)?;
    Ok(Value::from(all.iter().all(is_true)))
}

fn check(all: &[Value]) -> Outcome<()> {
    if all.iter().any(Value::is_undefined) { Err(ValueError::Undefined.into()) } else { Ok(()) }
}

fn set(value: &Value) -> Outcome<HashSet<Key>> {
    Ok(items(value)?.into_iter().map(Key::new).collect::<Result<_, _>>()?)
}

/// Are all items in another list?
pub(super) fn subset(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([first, second], []) = call.bind(["a", "b"], [])?;
    Ok(Value::from(set(&first)?.is_subset(&set(&second)?)))
}

/// Are all items of another list in it?
pub(super) fn superset(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([first, second], []) = call.bind(["a", "b"], [])?;
    Ok(Value::from(set(&first)?.is_superset(&set(&second)?)))
}

/// Can the value be iterated?
pub(super) fn iterable(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    Ok(Value::from(matches!(
        view(&value),
        View::Str(_) | View::Surrogates(_) | View::Bytes(_) | View::List | View::Tuple | View::Dict
    )))
}

/// Is the value the name of a filter?
pub(super) fn filter(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    super::names::is_name(&value, |name| filters::ALL.iter().any(|plugin| plugin.has_name(name)))
}
