//! Tests of a value's type.

use minijinja::Value;

use crate::call::Call;
use crate::failure::Outcome;
use crate::values::{View, is_true, type_name, view};

fn input(call: &Call<'_, '_, '_>) -> Outcome {
    call.bind(["value"], []).map(|([value], [])| value)
}

fn answer(call: &Call<'_, '_, '_>, fits: impl Fn(&View<'_>) -> bool) -> Outcome {
    input(call).map(|value| Value::from(fits(&view(&value))))
}

/// Is the value defined?
pub(super) fn defined(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| !matches!(view, View::Undefined))
}

/// Is the value undefined?
pub(super) fn undefined(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| matches!(view, View::Undefined))
}

/// Is the value `None`?
pub(super) fn none(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| matches!(view, View::None))
}

/// Is the value a `bool`?
pub(super) fn boolean(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| matches!(view, View::Bool(_)))
}

/// Is the value `True`?
pub(super) fn is_the_true(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| matches!(view, View::Bool(true)))
}

/// Is the value `False`?
pub(super) fn is_the_false(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| matches!(view, View::Bool(false)))
}

/// Is the value an `int`, and not a `bool`?
pub(super) fn integer(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| matches!(view, View::Int(_) | View::Long(_)))
}

/// Is the value a `float`?
pub(super) fn float(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| matches!(view, View::Float(_)))
}

/// Is the value a number? Python counts `bool`s.
pub(super) fn number(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| matches!(view, View::Int(_) | View::Long(_) | View::Float(_) | View::Bool(_)))
}

/// Is the value text?
pub(super) fn string(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| matches!(view, View::Str(_) | View::Surrogates(_)))
}

/// Is the value a dict?
pub(super) fn mapping(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| matches!(view, View::Dict))
}

/// Does the value have a length and items? Python counts text and dicts.
pub(super) fn sequence(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, is_collection)
}

fn is_collection(view: &View<'_>) -> bool {
    matches!(view, View::Str(_) | View::Surrogates(_) | View::Bytes(_) | View::List | View::Tuple | View::Dict)
}

/// Can the value be called?
pub(super) fn callable(call: &mut Call<'_, '_, '_>) -> Outcome {
    answer(call, |view| matches!(view, View::Other))
}

/// Is the value marked as HTML?
pub(super) fn escaped(call: &mut Call<'_, '_, '_>) -> Outcome {
    input(call).map(|value| Value::from(value.is_safe()))
}

/// Is the value true by Python's rules?
pub(super) fn truthy(call: &mut Call<'_, '_, '_>) -> Outcome {
    truth(call).map(Value::from)
}

/// Is the value false by Python's rules?
pub(super) fn falsy(call: &mut Call<'_, '_, '_>) -> Outcome {
    truth(call).map(|truth| Value::from(!truth))
}

fn truth(call: &Call<'_, '_, '_>) -> Outcome<bool> {
    let ([value], [convert]) = call.bind(["value"], ["convert_bool"])?;
    let known = convert.filter(is_true).and_then(|_| word(&value));
    Ok(known.unwrap_or_else(|| is_true(&value)))
}

/// Returns the truth of a word or number that has one, as module options do.
fn word(value: &Value) -> Option<bool> {
    if let View::Str(text) = view(value) {
        let text = text.to_lowercase();
        return match text.trim_matches(crate::values::is_python_space) {
            "y" | "yes" | "on" | "1" | "true" | "t" => Some(true),
            "n" | "no" | "off" | "0" | "false" | "f" => Some(false),
            _ => None,
        };
    }
    let number = crate::values::Number::of(value)?.to_f64();
    if number == 1.0 { Some(true) } else { (number == 0.0).then_some(false) }
}

/// Are the two values the same object? Numbers and texts count as the same if they are equal and of one type.
pub(super) fn same_as(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, other], []) = call.bind(["value", "other"], [])?;
    if let (Some(first), Some(second)) = (crate::values::identity(&value), crate::values::identity(&other)) {
        return Ok(Value::from(first == second));
    }
    let same = type_name(&value) == type_name(&other) && crate::values::equal(&value, &other)?;
    Ok(Value::from(same && !matches!(view(&value), View::List | View::Dict | View::Tuple)))
}
