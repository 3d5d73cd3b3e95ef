//! Tests that compare, and those of numbers.

use std::cmp::Ordering;

use minijinja::Value;

use crate::call::Call;
use crate::failure::{Outcome, failure};
use crate::values::{Number, View, compare, equal, type_name, view};

fn both(call: &Call<'_, '_, '_>) -> Outcome<[Value; 2]> {
    call.bind(["a", "b"], []).map(|(both, [])| both)
}

/// Are the values equal?
pub(super) fn eq(call: &mut Call<'_, '_, '_>) -> Outcome {
    let [left, right] = both(call)?;
    Ok(Value::from(equal(&left, &right)?))
}

/// Are the values different?
pub(super) fn ne(call: &mut Call<'_, '_, '_>) -> Outcome {
    let [left, right] = both(call)?;
    Ok(Value::from(!equal(&left, &right)?))
}

fn ordered(call: &Call<'_, '_, '_>, operator: &'static str, fits: fn(Ordering) -> bool) -> Outcome {
    let [left, right] = both(call)?;
    Ok(Value::from(compare(&left, &right, operator)?.is_some_and(fits)))
}

/// Is the value less than another?
pub(super) fn lt(call: &mut Call<'_, '_, '_>) -> Outcome {
    ordered(call, "<", Ordering::is_lt)
}

/// Is the value at most another?
pub(super) fn le(call: &mut Call<'_, '_, '_>) -> Outcome {
    ordered(call, "<=", Ordering::is_le)
}

/// Is the value greater than another?
pub(super) fn gt(call: &mut Call<'_, '_, '_>) -> Outcome {
    ordered(call, ">", Ordering::is_gt)
}

/// Is the value at least another?
pub(super) fn ge(call: &mut Call<'_, '_, '_>) -> Outcome {
    ordered(call, ">=", Ordering::is_ge)
}

/// Returns whether the rest of a division equals a number.
fn rest_is(value: &Value, divisor: &Value, wanted: i128) -> Outcome<bool> {
    let wrong =
        || failure(format!("unsupported operand type(s) for %: '{}' and '{}'", type_name(value), type_name(divisor)));
    let (Some(number), Some(by)) = (Number::of(value), Number::of(divisor)) else { return Err(wrong()) };
    match (number, by) {
        (_, Number::Int(0)) => Err(failure("integer modulo by zero")),
        (_, Number::Float(0.0)) => Err(failure("float modulo")),
        (Number::Int(number), Number::Int(by)) => {
            let rest = number.checked_rem(by).unwrap_or(0);
            let floored = if rest != 0 && (rest < 0) != (by < 0) { rest + by } else { rest };
            Ok(floored == wanted)
        }
        (Number::Long(text), Number::Int(2)) => Ok(i128::from(text.ends_with(['1', '3', '5', '7', '9'])) == wanted),
        (number, by) => {
            let (number, by) = (number.to_f64(), by.to_f64());
            let rest = number % by;
            let floored = if rest != 0.0 && (rest < 0.0) != (by < 0.0) { rest + by } else { rest };
            Ok(Number::Float(floored).compare(&Number::Int(wanted)) == Some(Ordering::Equal))
        }
    }
}

/// Is the number odd?
pub(super) fn odd(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    rest_is(&value, &Value::from(2), 1).map(Value::from)
}

/// Is the number even?
pub(super) fn even(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    rest_is(&value, &Value::from(2), 0).map(Value::from)
}

/// Can the number be divided by another?
pub(super) fn divisible_by(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, number], []) = call.bind(["value", "num"], [])?;
    rest_is(&value, &number, 0).map(Value::from)
}

/// Is the value the float `nan`?
pub(super) fn nan(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["x"], [])?;
    Ok(Value::from(matches!(view(&value), View::Float(number) if number.is_nan())))
}
