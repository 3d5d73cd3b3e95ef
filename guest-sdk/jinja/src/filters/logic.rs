//! Filters that decide: `default`, `ternary`, `mandatory`, `bool`, `type_debug`.

use minijinja::Value;

use crate::call::{Call, given};
use crate::failure::{Outcome, failure};
use crate::values::{Number, View, from_json, is_true, text, to_json, type_name, view};

/// Replaces an undefined value, and with `boolean=true` a false one.
pub(super) fn default(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [default, boolean]) = call.bind(["value"], ["default_value", "boolean"])?;
    let boolean = match boolean.as_ref().map(|value| (value, view(value))) {
        None => false,
        Some((_, View::Bool(truth))) => truth,
        Some((value, _)) => {
            let wrong = type_name(value);
            return Err(failure(format!("The 'boolean' argument must be of type 'bool', not '{wrong}'.")));
        }
    };
    let replaced = value.is_undefined() || boolean && !is_true(&value);
    Ok(if replaced { default.unwrap_or_else(|| Value::from("")) } else { value })
}

/// Chooses between two values, or three if the input may be `None`.
pub(super) fn ternary(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, yes, no], [none]) = call.bind(["value", "true_val", "false_val"], ["none_val"])?;
    if value.is_undefined() {
        return Ok(value);
    }
    if let (true, Some(none)) = (value.is_none(), given(none)) {
        return Ok(none);
    }
    Ok(if is_true(&value) { yes } else { no })
}

/// Fails if the value is undefined.
pub(super) fn mandatory(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [message]) = call.bind(["a"], ["msg"])?;
    if !value.is_undefined() {
        return Ok(value);
    }
    Err(failure(match given(message) {
        Some(message) => text(&message)?,
        None => "Mandatory variable not defined.".to_owned(),
    }))
}

/// Converts the well-known words for true and false. Anything else is false, but for numbers that equal 1.
pub(super) fn boolean(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    Ok(Value::from(match view(&value) {
        View::Str(word) => matches!(word.to_lowercase().as_str(), "yes" | "on" | "true" | "1"),
        _ => Number::of(&value).is_some_and(|number| number.to_f64() == 1.0),
    }))
}

/// Returns the plain data that a result has of a value: a tuple is a list.
pub(super) fn finalize(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    Ok(from_json(&to_json(&value)?))
}

/// Returns Python's name of the type.
pub(super) fn type_debug(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["obj"], [])?;
    Ok(Value::from(match view(&value) {
        View::Str(_) if value.is_safe() => "Markup",
        View::Tuple if value.downcast_object_ref::<crate::values::Group>().is_some() => "GroupTuple",
        View::Undefined => "UndefinedMarker",
        _ => type_name(&value),
    }))
}
