//! Values as booleans and numbers, as Ansible reads them.

use modbox_python_json::Value;

/// Returns the truth of a value as Ansible reads booleans.
#[must_use]
pub fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::Int(1) => Some(true),
        Value::Int(0) => Some(false),
        Value::Float(number) if *number == 1.0 => Some(true),
        Value::Float(number) if *number == 0.0 => Some(false),
        Value::Str(text) => match text.trim().to_lowercase().as_str() {
            "y" | "yes" | "on" | "1" | "true" | "t" => Some(true),
            "n" | "no" | "off" | "0" | "false" | "f" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a number with a fraction.
#[must_use]
pub fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        Value::Str(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Float(number) => Some(*number).filter(|number| number.is_finite()),
        // Exact for all times and counts that make sense.
        Value::Int(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

/// Returns a whole number.
#[must_use]
pub fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Bool(truth) => Some(i64::from(*truth)),
        Value::Str(text) => text.trim().parse().ok().or_else(|| whole_text(&text.trim().parse::<f64>().ok()?)),
        Value::Float(number) => whole_text(number),
        _ => None,
    }
}

fn whole_text(number: &f64) -> Option<i64> {
    (number.fract() == 0.0).then(|| format!("{number:.0}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_booleans_as_in_ansible() {
        let check = |value: Value, expect| assert_eq!(truth(&value), expect, "{value:?}");
        check(Value::from("Yes"), Some(true));
        check(Value::from("off"), Some(false));
        check(Value::from("maybe"), None);
        check(Value::Int(1), Some(true));
        check(Value::Int(2), None);
        check(Value::Null, None);
    }

    #[test]
    fn numbers_are_whole_or_refused() {
        let check = |value: Value, expect| assert_eq!(whole(&value), expect, "{value:?}");
        check(Value::from("12"), Some(12));
        check(Value::Float(3.0), Some(3));
        check(Value::Float(3.5), None);
        check(Value::from("2.0"), Some(2));
        check(Value::from("x"), None);
    }
}
