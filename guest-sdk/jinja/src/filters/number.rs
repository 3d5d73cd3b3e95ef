//! Filters on numbers: conversion, rounding, powers and logarithms.

use minijinja::{Error, Value};

use crate::call::{Call, int_argument};
use crate::failure::{Outcome, failure};
use crate::values::{Number, View, equal, integer, parse_float, parse_int, type_name, view, whole_number};

/// Returns the number of a value.
///
/// # Errors
///
/// It is not a number.
pub(super) fn number(value: &Value) -> Outcome<f64> {
    let number = Number::of(value).ok_or_else(|| failure(format!("must be real number, not {}", type_name(value))))?;
    finite(number.to_f64(), &number)
}

fn finite(float: f64, number: &Number) -> Outcome<f64> {
    if float.is_infinite() && !matches!(number, Number::Float(_)) {
        return Err(failure("int too large to convert to float"));
    }
    Ok(float)
}

/// Returns the absolute value.
pub(super) fn abs(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["x"], [])?;
    match Number::of(&value) {
        Some(Number::Int(number)) => Ok(number.checked_abs().map_or(value, Value::from)),
        Some(Number::Long(text)) => Ok(integer(text.trim_start_matches('-')).unwrap_or(value)),
        Some(Number::Float(number)) => Ok(Value::from(number.abs())),
        None => Err(failure(format!("bad operand type for abs(): '{}'", type_name(&value)))),
    }
}

/// Converts to an integer. What cannot be converted becomes 0, or another default.
pub(super) fn int(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [default, base]) = call.bind(["value"], ["default", "base"])?;
    let default = default.unwrap_or_else(|| Value::from(0));
    match view(&value) {
        View::Str(text) => {
            let base = base.as_ref().map_or(Ok(10), int_argument).ok();
            let base = base.and_then(|base| u32::try_from(base).ok()).unwrap_or(u32::MAX);
            let whole = || parse_float(text).and_then(whole_number);
            Ok(parse_int(text, base).or_else(whole).unwrap_or(default))
        }
        View::Float(number) if number.is_infinite() => Err(failure("cannot convert float infinity to integer")),
        View::Float(number) => Ok(whole_number(number).unwrap_or(default)),
        View::Bool(truth) => Ok(Value::from(i32::from(truth))),
        View::Int(_) | View::Long(_) => Ok(value),
        _ => Ok(default),
    }
}

/// Converts to a float. What cannot be converted becomes 0.0, or another default.
pub(super) fn float(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [default]) = call.bind(["value"], ["default"])?;
    let converted = match view(&value) {
        View::Str(text) => parse_float(text),
        _ => Number::of(&value).map(|number| finite(number.to_f64(), &number)).transpose()?,
    };
    Ok(converted.map_or_else(|| default.unwrap_or_else(|| Value::from(0.0)), Value::from))
}

/// Rounds to a number of decimals: half to even, up, or down.
pub(super) fn round(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [precision, method]) = call.bind(["value"], ["precision", "method"])?;
    let precision = precision.filter(|_| true);
    let digits = match &precision {
        Some(precision) if precision.is_none() => None,
        Some(precision) => Some(int_argument(precision)?),
        None => Some(0),
    };
    let method = method.unwrap_or_else(|| Value::from("common"));
    let method = method.as_str().unwrap_or_default();
    if !["common", "ceil", "floor"].contains(&method) {
        return Err(failure("method must be common, ceil or floor"));
    }
    let wrong = || failure(format!("type {} doesn't define __round__ method", type_name(&value)));
    let number = Number::of(&value).ok_or_else(wrong)?;
    if method == "common" {
        return match (number, digits) {
            (Number::Float(float), Some(digits)) => Ok(Value::from(round_float(float, digits))),
            (Number::Float(float), None) => {
                whole_number(round_float(float, 0)).ok_or_else(|| failure("cannot convert float to integer"))
            }
            (Number::Int(whole), digits) => Ok(Value::from(round_int(whole, digits.unwrap_or(0)))),
            (Number::Long(_), _) => Ok(value),
        };
    }
    let digits = i32::try_from(digits.unwrap_or(0)).unwrap_or(i32::MAX);
    let scaled = finite(number.to_f64(), &number)? * 10f64.powi(digits);
    if !scaled.is_finite() {
        return Err(failure("cannot convert float to integer"));
    }
    let moved = if method == "ceil" { scaled.ceil() } else { scaled.floor() };
    // Python divides integers here, so that zero has no sign.
    Ok(Value::from((moved + 0.0) / 10f64.powi(digits)))
}

/// Rounds a float exactly, half to even.
fn round_float(number: f64, digits: i64) -> f64 {
    if !number.is_finite() || digits > 323 {
        return number;
    }
    if digits < -308 {
        return 0f64.copysign(number);
    }
    if let Ok(digits) = usize::try_from(digits) {
        return format!("{number:.digits$}").parse().unwrap_or(number);
    }
    let magnitude = number.abs();
    if magnitude >= 1e38 {
        return number;
    }
    #[expect(clippy::cast_possible_truncation, reason = "checked to be below 1e38")]
    let whole = magnitude.trunc() as i128;
    let unit = 10i128.checked_pow(u32::try_from(-digits).unwrap_or(u32::MAX));
    let Some(unit) = unit else { return 0f64.copysign(number) };
    let (quotient, rest) = (whole / unit, whole % unit);
    let beyond = (rest * 2).cmp(&unit).then(magnitude.fract().partial_cmp(&0.0).unwrap_or(std::cmp::Ordering::Equal));
    let up = beyond.is_gt() || beyond.is_eq() && quotient % 2 == 1;
    Number::Int((quotient + i128::from(up)) * unit).to_f64().copysign(number)
}

fn round_int(number: i128, digits: i64) -> i128 {
    let Some(unit) = u32::try_from(-digits.min(0)).ok().and_then(|digits| 10i128.checked_pow(digits)) else { return 0 };
    if digits >= 0 {
        return number;
    }
    let (quotient, rest) = (number.div_euclid(unit), number.rem_euclid(unit));
    let beyond = (rest * 2).cmp(&unit);
    let up = beyond.is_gt() || beyond.is_eq() && quotient.rem_euclid(2) == 1;
    (quotient + i128::from(up)).checked_mul(unit).unwrap_or(number)
}

/// Returns the number of a value that a filter calculates with.
///
/// # Errors
///
/// It is not a number; the words are those of Ansible's filter.
fn operand(call: &Call<'_, '_, '_>, value: &Value) -> Outcome<f64> {
    if Number::of(value).is_none() {
        return Err(only_numbers(call));
    }
    number(value)
}

fn only_numbers(call: &Call<'_, '_, '_>) -> Error {
    let name = call.name.rsplit('.').next().unwrap_or(call.name);
    failure(format!("{name}() can only be used on numbers"))
}

/// Returns a logarithm.
pub(super) fn log(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [base]) = call.bind(["x"], ["base"])?;
    let base = base.unwrap_or_else(|| Value::from(std::f64::consts::E));
    let number = operand(call, &value)?;
    if number <= 0.0 {
        return Err(failure("math domain error"));
    }
    if equal(&base, &Value::from(10))? {
        return Ok(Value::from(number.log10()));
    }
    let base = operand(call, &base)?;
    if base <= 0.0 {
        return Err(failure("math domain error"));
    }
    if base == 1.0 {
        return Err(failure("float division by zero"));
    }
    Ok(Value::from(number.ln() / base.ln()))
}

/// Returns a power.
pub(super) fn pow(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, exponent], []) = call.bind(["x", "y"], [])?;
    power(operand(call, &value)?, operand(call, &exponent)?).map(Value::from)
}

fn power(base: f64, exponent: f64) -> Outcome<f64> {
    let power = base.powf(exponent);
    if base.is_finite() && exponent.is_finite() {
        if power.is_nan() || base == 0.0 && exponent < 0.0 {
            return Err(failure("math domain error"));
        }
        if power.is_infinite() {
            return Err(failure("math range error"));
        }
    }
    Ok(power)
}

pub(super) fn root(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [base]) = call.bind(["x"], ["base"])?;
    let base = base.unwrap_or_else(|| Value::from(2));
    let number = operand(call, &value)?;
    if equal(&base, &Value::from(2))? {
        return if number < 0.0 { Err(only_numbers(call)) } else { Ok(Value::from(number.sqrt())) };
    }
    let base = match view(&base) {
        View::Str(text) => parse_float(text).ok_or_else(|| only_numbers(call))?,
        _ => operand(call, &base)?,
    };
    if base == 0.0 {
        return Err(failure("float division by zero"));
    }
    if number < 0.0 && number.is_finite() && (1.0 / base).fract() != 0.0 || number == 0.0 && base < 0.0 {
        return Err(only_numbers(call));
    }
    power(number, 1.0 / base).map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_exact() {
        let cases = [
            (2.5, 0, 2.0),
            (3.5, 0, 4.0),
            (2.675, 2, 2.67),
            (1250.0, -2, 1200.0),
            (1250.5, -2, 1300.0),
            (-0.4, 0, -0.0),
        ];
        for (number, digits, expect) in cases {
            assert_eq!(round_float(number, digits).to_bits(), f64::to_bits(expect), "{number} {digits}");
        }
        assert_eq!((round_int(15, -1), round_int(25, -1), round_int(-15, -1), round_int(7, 3)), (20, 20, -20, 7));
    }
}
