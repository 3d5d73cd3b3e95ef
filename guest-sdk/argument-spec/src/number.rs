//! Reads `int` and `float` options as Python's `decimal.Decimal` and `float()` do.

use modbox_python_json::{MAX_INT_DIGITS, Value};

use crate::big::whole_float;

/// Returns the integer that a value stands for (`2.0`, `" 42 "`, `"4.0"`, `"1e3"`), or `None`.
pub(crate) fn to_int(value: &Value) -> Option<Value> {
    match value {
        Value::Int(_) | Value::BigInt(_) | Value::Bool(_) => Some(value.clone()),
        Value::Float(number) if number.is_finite() && number.fract() == 0.0 => {
            Value::int_from_decimal(&whole_float(*number))
        }
        Value::Str(text) => int_from_text(text),
        Value::List(parts) => int_from_parts(parts),
        _ => None,
    }
}

/// Reads the form of sign, digits and exponent, which `Decimal` also takes: `[0, [1, 2], 1]` is 120.
fn int_from_parts(parts: &[Value]) -> Option<Value> {
    let [sign, Value::List(digits), exponent] = parts else { return None };
    let small = |value: &Value| value.as_int().or_else(|| value.as_bool().map(i64::from));
    let sign = match small(sign)? {
        0 => "",
        1 => "-",
        _ => return None,
    };
    let digit = |value: &Value| char::from_digit(u32::try_from(small(value)?).ok()?, 10);
    let digits: String = digits.iter().map(digit).collect::<Option<_>>()?;
    let digits = shifted(digits.trim_start_matches('0'), small(exponent)?)?;
    Value::int_from_decimal(&format!("{sign}{digits}"))
}

/// Reads decimal text with optional sign, fraction and exponent. As in Python, underscores are ignored, and the digits
/// of all scripts count.
fn int_from_text(text: &str) -> Option<Value> {
    if let Ok(small) = text.parse() {
        return Some(Value::Int(small));
    }
    let text: String = python_strip(text).chars().filter(|c| *c != '_').map(ascii_digit).collect();
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let shift = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let digits = shifted(digits.trim_start_matches('0'), shift)?;
    Value::int_from_decimal(&format!("{}{digits}", if negative { "-" } else { "" }))
}

/// Returns the digits times ten to the power of `shift`, if that is an integer and not too large.
fn shifted(digits: &str, shift: i64) -> Option<String> {
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    if let Ok(zeros) = usize::try_from(shift) {
        let fits = digits.len().checked_add(zeros)? <= MAX_INT_DIGITS;
        return fits.then(|| format!("{digits}{}", "0".repeat(zeros)));
    }
    let cut = digits.len().checked_sub(usize::try_from(shift.unsigned_abs()).ok()?)?;
    let (whole, fraction) = digits.split_at(cut);
    fraction.bytes().all(|byte| byte == b'0').then(|| if whole.is_empty() { "0".to_owned() } else { whole.to_owned() })
}

/// Returns the float that a value stands for, or `None`.
pub(crate) fn to_float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Bool(truth) => Some(if *truth { 1.0 } else { 0.0 }),
        Value::Int(number) => number.to_string().parse().ok(),
        // Python raises OverflowError when a float cannot hold the value; Ansible does not expect that.
        Value::BigInt(number) => number.as_str().parse().ok().filter(|float: &f64| float.is_finite()),
        Value::Str(text) => float_from_text(text.trim_matches(float_space)),
        _ => None,
    }
}

/// The `NaN` of text. In Python, it is a different object than the one of JSON, so it does not equal any choice.
const NEW_NAN: f64 = f64::from_bits(0x7ff8_0000_0000_0001);

/// Reads a float. Rust reads the same floats as Python, except for underscores between digits and the digits of other
/// scripts.
fn float_from_text(text: &str) -> Option<f64> {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return text.parse().ok();
    }
    let text: String = text.chars().map(ascii_digit).collect();
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let misplaced =
        |(at, byte): (usize, &u8)| *byte == b'_' && !(is_digit(at.checked_sub(1)) && is_digit(at.checked_add(1)));
    if bytes.iter().enumerate().any(misplaced) {
        return None;
    }
    let float: f64 = text.replace('_', "").parse().ok()?;
    Some(if float.is_nan() { NEW_NAN } else { float })
}

/// The zeros of the decimal digits of all scripts beyond ASCII. The other nine digits follow each zero (Unicode 14, as
/// in CPython 3.11).
const ZEROS: [u32; 65] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
    0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0,
    0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0,
    0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0,
    0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// Returns the ASCII digit for a decimal digit, and any other character unchanged.
fn ascii_digit(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= u32::from(c))].last();
    zero.and_then(|zero| char::from_digit(u32::from(c) - zero, 10)).unwrap_or(c)
}

/// Returns whether `float` ignores a character around a number: of ASCII, only C's white space.
fn float_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{b}'
}

/// Removes the white space that Python's `str.strip` removes: Unicode's white space, and the separators U+001C to
/// U+001F.
pub(crate) fn python_strip(text: &str) -> &str {
    text.trim_matches(python_space)
}

/// Returns the result of Python's `str.isspace` for one character.
pub(crate) fn python_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_int(value: impl Into<Value>, expect: Option<&str>) {
        let got = to_int(&value.into()).map(|int| modbox_python_json::str(&int));
        assert_eq!(got.as_deref(), expect);
    }

    #[test]
    fn reads_integers_as_decimal_does() {
        check_int(" 42 ", Some("42"));
        check_int("4.0", Some("4"));
        check_int("1e3", Some("1000"));
        check_int("0644", Some("644"));
        check_int("12.50e1", Some("125"));
        check_int("_1_0_", Some("10"));
        check_int("-0", Some("0"));
        check_int(".0", Some("0"));
        check_int("100e-2", Some("1"));
        check_int(2.0, Some("2"));
        check_int(true, Some("True"));
        check_int(Value::List(vec![1.into(), vec![1, 2].into(), 1.into()]), Some("-120"));
        check_int("١٢", Some("12"));
        check_int("𝟡３", Some("93"));
    }

    #[test]
    fn refuses_values_that_are_not_integers() {
        for text in ["", "x", "4.5", "inf", "nan", "0x10", "--1", "1e-1", ".", "1e99999999999999999999", "1e9999", "e1"]
        {
            check_int(text, None);
        }
        check_int(2.5, None);
        check_int(f64::INFINITY, None);
    }

    #[test]
    fn reads_floats_as_python_does() {
        assert_eq!(to_float(&"1_0.5".into()), Some(10.5));
        assert_eq!(to_float(&" -1e3\n".into()), Some(-1000.0));
        assert_eq!(to_float(&"1__0".into()), None);
        assert_eq!(to_float(&"_1".into()), None);
        assert_eq!(to_float(&true.into()), Some(1.0));
    }
}
