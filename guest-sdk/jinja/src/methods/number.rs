//! Methods of `int` and `float`. Ansible allows the operators on bits by their names.

use minijinja::Value;

use super::arguments::Arguments;
use crate::call::int_argument;
use crate::failure::{Outcome, failure};
use crate::values::{View, type_name, view};

/// Calls a method of a number. `None`: there is no such method.
///
/// # Errors
///
/// The arguments do not fit, or the result is too large.
pub(super) fn call(value: &Value, arguments: &Arguments<'_>) -> Outcome<Option<Value>> {
    let number = match view(value) {
        View::Float(number) if arguments.name == "is_integer" => {
            arguments.none()?;
            return Ok(Some(Value::from(number.is_finite() && number.fract() == 0.0)));
        }
        View::Int(number) => number,
        View::Bool(truth) => truth.into(),
        _ => return Ok(None),
    };
    let other = || -> Outcome<i128> {
        let ([other], []) = arguments.bind(["value"], [])?;
        match view(&other) {
            View::Int(other) => Ok(other),
            View::Bool(truth) => Ok(truth.into()),
            _ => Err(failure(format!("unsupported operand type(s): 'int' and '{}'", type_name(&other)))),
        }
    };
    Ok(Some(Value::from(match arguments.name {
        "bit_length" => {
            arguments.none()?;
            i128::from(128 - number.unsigned_abs().leading_zeros())
        }
        "bit_count" => {
            arguments.none()?;
            i128::from(number.unsigned_abs().count_ones())
        }
        "__and__" => number & other()?,
        "__or__" => number | other()?,
        "__xor__" => number ^ other()?,
        "__lshift__" => shifted(number, arguments, true)?,
        "__rshift__" => shifted(number, arguments, false)?,
        _ => return Ok(None),
    })))
}

fn shifted(number: i128, arguments: &Arguments<'_>, left: bool) -> Outcome<i128> {
    let ([count], []) = arguments.bind(["value"], [])?;
    let count = u32::try_from(int_argument(&count)?).map_err(|_| failure("negative shift count"))?;
    if left {
        let shifted = 1i128.checked_shl(count).filter(|unit| *unit > 0).and_then(|unit| number.checked_mul(unit));
        return shifted.ok_or_else(|| failure("the integer is too large"));
    }
    Ok(number >> count.min(127))
}
