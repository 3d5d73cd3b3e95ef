//! Integers: decimal, binary, octal with a leading zero, hexadecimal and sexagesimal.

use modbox_python_json::Value;

use super::decimal::Decimal;

/// Returns the value of a scalar with the type of integers; `None` if Python refuses it.
pub(crate) fn int_value(text: &str) -> Option<Value> {
    let text = text.replace('_', "");
    let (is_negative, digits) = signed(&text)?;
    if digits == "0" {
        return Some(Value::Int(0));
    }
    let (base, digits) = if let Some(digits) = digits.strip_prefix("0b") {
        (2, digits)
    } else if let Some(digits) = digits.strip_prefix("0x") {
        (16, digits)
    } else if digits.starts_with('0') {
        let digits = digits.trim();
        (8, digits.strip_prefix("0o").or_else(|| digits.strip_prefix("0O")).unwrap_or(digits))
    } else if digits.contains(':') {
        return sexagesimal(digits)?.value(is_negative);
    } else {
        (10, digits)
    };
    let (is_negative_again, digits) = python_digits(digits)?;
    Decimal::parse(digits, base)?.value(is_negative != is_negative_again)
}

/// Splits the sign off; `None` if the text is empty.
fn signed(text: &str) -> Option<(bool, &str)> {
    match text.chars().next()? {
        '-' => Some((true, &text[1..])).filter(|(_, digits)| !digits.is_empty()),
        '+' => Some((false, &text[1..])).filter(|(_, digits)| !digits.is_empty()),
        _ => Some((false, text)),
    }
}

/// Returns what Python's `int` leaves of a text before it looks at the digits: it takes spaces around and a sign.
fn python_digits(text: &str) -> Option<(bool, &str)> {
    signed(text.trim())
}

/// Adds up numbers between colons, each counting 60 times the one behind it.
fn sexagesimal(text: &str) -> Option<Decimal> {
    let mut parts = text.split(':').map(str::trim);
    let mut sum = Decimal::parse(parts.next()?, 10)?;
    for part in parts {
        sum.multiply_add(60, part.parse().ok()?)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: Option<&str>) {
        assert_eq!(int_value(text).map(|value| modbox_python_json::str(&value)).as_deref(), wanted, "{text}");
    }

    #[test]
    fn integers_are_those_of_yaml_1_1() {
        for (text, wanted) in [
            ("0644", "420"),
            ("-0644", "-420"),
            ("1_000", "1000"),
            ("0x1F", "31"),
            ("-0b101", "-5"),
            ("1:30", "90"),
            ("-1:00:00", "-3600"),
            ("190:20:30", "685230"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("0_", "0"),
            ("00", "0"),
            ("+0", "0"),
            ("12\n", "12"),
            (" 12 ", "12"),
        ] {
            check(text, Some(wanted));
        }
        for text in ["", "-", "0b_", "0x", "08", "abc", "1:x", "1:"] {
            check(text, None);
        }
    }
}
