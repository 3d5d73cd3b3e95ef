//! Python's `str()` and `repr()` of JSON values.
//!
//! Ansible writes old-style argument files with `str()`, and uses `repr()` in validation messages, so both are part of
//! the contract. Source: CPython 3.11, `unicode_repr` and `float_repr_style == "short"`.

use std::fmt::Write as _;

use crate::value::Value;

/// Returns the result of Python's `str(value)`: a string unchanged (lone surrogates become U+FFFD, since Rust text
/// cannot hold them), anything else as [`repr`].
#[must_use]
pub fn str(value: &Value) -> String {
    match value {
        Value::Str(text) => text.clone(),
        Value::Surrogates(text) => text.to_string_lossy(),
        _ => repr(value),
    }
}

/// Returns the result of Python's `repr(value)`: `None`, `True`, `'text'`, `['a', 1]`, `{'k': 1.0}`.
#[must_use]
pub fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

/// Returns Python's `repr()` of a string: `'text'`, or `"it's"` when only that avoids an escape.
#[must_use]
pub fn str_repr(text: &str) -> String {
    let mut out = String::new();
    write_str_repr(&mut out, text.chars().map(Ok));
    out
}

fn write_repr(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(number) => write!(out, "{number}").expect("a String takes every write"),
        Value::BigInt(number) => out.push_str(number.as_str()),
        Value::Float(number) => out.push_str(&float_repr(*number)),
        Value::Str(text) => write_str_repr(out, text.chars().map(Ok)),
        Value::Surrogates(text) => write_str_repr(
            out,
            char::decode_utf16(text.units().iter().copied()).map(|unit| unit.map_err(|lone| lone.unpaired_surrogate())),
        ),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_repr(out, item);
            }
            out.push(']');
        }
        Value::Dict(entries) => {
            out.push('{');
            for (index, (key, item)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_str_repr(out, key.chars().map(Ok));
                out.push_str(": ");
                write_repr(out, item);
            }
            out.push('}');
        }
    }
}

fn write_str_repr(out: &mut String, chars: impl Iterator<Item = Result<char, u16>> + Clone) {
    let has = |wanted: char| chars.clone().any(|c| c == Ok(wanted));
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    out.push(quote);
    for c in chars {
        match c {
            Ok(c) if c == quote || c == '\\' => {
                out.push('\\');
                out.push(c);
            }
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok(c) if is_printable(c) => out.push(c),
            Ok(c) => write_escape(out, u32::from(c)),
            Err(lone) => write_escape(out, lone.into()),
        }
    }
    out.push(quote);
}

fn write_escape(out: &mut String, code: u32) {
    match code {
        0..=0xFF => write!(out, "\\x{code:02x}"),
        0x100..=0xFFFF => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    }
    .expect("a String takes every write");
}

/// Returns the result of `str.isprintable` for one character: everything except "Other" and "Separator", but with the
/// space. Each release of Python has its version of Unicode; a character that is newer is escaped by that release, and
/// not here.
///
/// `str::escape_debug` has the same rule, and every program contains its table already; another one of 40 kB would be
/// half of a small guest. It also escapes grapheme extenders, but only at the start of a text, so a letter is put
/// before the character.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let mut bytes = [b'x'; 5];
    let length = 1 + c.encode_utf8(&mut bytes[1..]).len();
    let escaped = str::from_utf8(&bytes[..length]).map(|text| text.escape_debug().nth(1));
    escaped == Ok(Some(c))
}

fn float_repr(number: f64) -> String {
    if number.is_nan() {
        "nan".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else {
        float_digits(number)
    }
}

/// Returns the shortest digits that read back as the same float, in Python's layout: with an exponent below 1e-4 and
/// from 1e16 on, of two digits at least, and always with `.0` or an exponent.
pub(crate) fn float_digits(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("`{:e}` always writes an exponent");
    let exponent: i32 = exponent.parse().expect("`{:e}` writes a decimal exponent");
    if (-4..16).contains(&exponent) {
        plain(mantissa, exponent)
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.abs())
    }
}

/// Returns the same digits without an exponent. `{}` would add code to a guest that nothing else needs.
fn plain(mantissa: &str, exponent: i32) -> String {
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let mut digits = mantissa.replace('.', "");
    let mut whole = usize::try_from(exponent + 1).unwrap_or(0);
    if exponent < 0 {
        let zeros = usize::try_from(-exponent).unwrap_or(0);
        digits.insert_str(0, &"0".repeat(zeros));
        whole = 1;
    }
    while digits.len() < whole + 1 {
        digits.push('0');
    }
    digits.insert(whole, '.');
    digits.insert_str(0, sign);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    #[track_caller]
    fn check(json: &str, expect: &str) {
        assert_eq!(repr(&decode(json).unwrap()), expect);
    }

    #[test]
    fn writes_containers_and_scalars() {
        check(r#"{"a": [1, true, null, 1.5, "x"], "b": {}}"#, "{'a': [1, True, None, 1.5, 'x'], 'b': {}}");
        check("[NaN, -Infinity, 1e400]", "[nan, -inf, inf]");
    }

    #[test]
    fn quotes_strings() {
        check(r#""it's""#, r#""it's""#);
        check(r#""it's \"so\"""#, r#"'it\'s "so"'"#);
        check(r#""a\n\t\u0000\u00e9\u2028\udcff""#, r"'a\n\t\x00é\u2028\udcff'");
        check(r#""\ud83d\ude00\udb80\udc00""#, "'😀\\U000f0000'");
    }

    #[test]
    fn writes_floats() {
        for (number, expect) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e15, "1000000000000000.0"),
            (1.5e16, "1.5e+16"),
            (1e100, "1e+100"),
            (0.1, "0.1"),
            (-12.5, "-12.5"),
            (-0.00025, "-0.00025"),
            (120.0, "120.0"),
            (1234567890123456.7, "1234567890123456.8"),
            (5.0, "5.0"),
        ] {
            assert_eq!(float_digits(number), expect);
        }
    }
}
