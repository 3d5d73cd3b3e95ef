//! Compares values as Python's `==` does (`1 == 1.0 == True`), for choices and `required_if`.

use modbox_python_json::Value;

use crate::big::whole_float;

/// Returns the result of Python's `left == right`.
#[must_use]
pub fn python_eq(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Str(left), Value::Str(right)) => left == right,
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| python_eq(left, right))
        }
        (Value::Dict(left), Value::Dict(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| python_eq(value, other)))
        }
        _ => match (Number::of(left), Number::of(right)) {
            (Some(left), Some(right)) => left.equals(&right),
            _ => left == right,
        },
    }
}

/// Returns the result of Python's `value in choices`. It compares identity first, and each `NaN` of JSON is the same
/// object.
pub(crate) fn is_in(value: &Value, choices: &[Value]) -> bool {
    choices.iter().any(|choice| python_eq(choice, value) || is_same_nan(choice, value))
}

fn is_same_nan(left: &Value, right: &Value) -> bool {
    matches!((left, right), (Value::Float(left), Value::Float(right)) if left.is_nan() && left.to_bits() == right.to_bits())
}

/// A number in the form in which Python compares it.
enum Number<'a> {
    Small(i64),
    Big(&'a str),
    Float(f64),
}

impl<'a> Number<'a> {
    fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::Bool(truth) => Some(Self::Small((*truth).into())),
            Value::Int(number) => Some(Self::Small(*number)),
            Value::BigInt(number) => Some(Self::Big(number.as_str())),
            Value::Float(number) => Some(Self::Float(*number)),
            _ => None,
        }
    }

    fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Small(left), Self::Small(right)) => left == right,
            (Self::Big(left), Self::Big(right)) => left == right,
            (Self::Float(left), Self::Float(right)) => left == right,
            (Self::Float(float), Self::Small(int)) | (Self::Small(int), Self::Float(float)) => {
                float_is(*float, &int.to_string())
            }
            (Self::Float(float), Self::Big(int)) | (Self::Big(int), Self::Float(float)) => float_is(*float, int),
            (Self::Small(_), Self::Big(_)) | (Self::Big(_), Self::Small(_)) => false,
        }
    }
}

/// Returns whether a float equals the integer with this decimal text.
fn float_is(float: f64, int: &str) -> bool {
    if float == 0.0 {
        return int == "0";
    }
    float.is_finite() && float.fract() == 0.0 && whole_float(float) == int
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(left: impl Into<Value>, right: impl Into<Value>, expect: bool) {
        assert_eq!(python_eq(&left.into(), &right.into()), expect);
    }

    #[test]
    fn numbers_of_all_types_compare() {
        check(1, true, true);
        check(1.0, 1, true);
        check(0.0, -0.0, true);
        check(0, -0.0, true);
        check(1e300, 1, false);
        check(f64::NAN, f64::NAN, false);
        check(9_007_199_254_740_993_i64, 9_007_199_254_740_992.0, false);
        check("1", 1, false);
        check(vec![1], vec![1.0], true);
    }
}
