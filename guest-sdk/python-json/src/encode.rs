//! `json.dumps` with its defaults: ASCII only, `", "` and `": "` between items.
//!
//! ASCII is necessary: Ansible splits a module's output with `str.splitlines`, so a raw U+2028 inside a string would
//! split the document.

use std::fmt::Write as _;

use crate::text::float_digits;
use crate::value::{Dict, Value};

/// Returns the JSON text of a value, as Python's `json.dumps(value)` writes it: one line, ASCII only, with `NaN`,
/// `Infinity` and `-Infinity` for floats that JSON lacks.
#[must_use]
pub fn encode(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

/// Returns the JSON text of an object, as [`encode`] writes it.
#[must_use]
pub fn encode_dict(entries: &Dict) -> String {
    let mut out = String::new();
    write_dict(&mut out, entries);
    out
}

pub(crate) fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(number) => write!(out, "{number}").expect("a String takes every write"),
        Value::BigInt(number) => out.push_str(number.as_str()),
        Value::Float(number) => out.push_str(&float_text(*number)),
        Value::Str(text) => write_text(out, text),
        Value::Surrogates(text) => write_string(out, text.units().iter().copied()),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Dict(entries) => write_dict(out, entries),
    }
}

fn write_dict(out: &mut String, entries: &Dict) {
    out.push('{');
    for (index, (key, item)) in entries.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write_text(out, key);
        out.push_str(": ");
        write_value(out, item);
    }
    out.push('}');
}

pub(crate) fn float_text(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        float_digits(number)
    }
}

/// Writes a string. Most strings have nothing to escape and are copied.
pub(crate) fn write_text(out: &mut String, text: &str) {
    if is_plain(text.as_bytes()) {
        out.reserve(text.len() + 2);
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        write_string(out, text.encode_utf16());
    }
}

/// Returns whether a text has nothing to escape. It looks at sixteen bytes at once, as the processor can.
fn is_plain(text: &[u8]) -> bool {
    let is_escaped = |byte: &u8| !matches!(byte, b' '..=b'~') || matches!(byte, b'"' | b'\\');
    let none_escaped = |bytes: &[u8]| !bytes.iter().fold(false, |any, byte| any | is_escaped(byte));
    let (blocks, rest) = text.as_chunks::<16>();
    blocks.iter().all(|block| none_escaped(block)) && none_escaped(rest)
}

fn write_string(out: &mut String, units: impl Iterator<Item = u16>) {
    out.push('"');
    for unit in units {
        match u8::try_from(unit).map(char::from) {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok('\u{c}') => out.push_str("\\f"),
            Ok('\u{8}') => out.push_str("\\b"),
            Ok(plain @ ' '..='~') => out.push(plain),
            _ => write_escape(out, unit),
        }
    }
    out.push('"');
}

/// Writes an escape without `write!`, which is slower: a module's output can need megabytes of escapes.
fn write_escape(out: &mut String, unit: u16) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        let digit = u32::from(unit >> shift & 0xf);
        out.push(char::from_digit(digit, 16).expect("four bits are one digit"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    #[track_caller]
    fn check(value: impl Into<Value>, expect: &str) {
        assert_eq!(encode(&value.into()), expect);
    }

    #[test]
    fn writes_ascii_only() {
        check("\u{2028}é😀\u{7f}\u{0}\"\\/\t", r#""\u2028\u00e9\ud83d\ude00\u007f\u0000\"\\/\t""#);
    }

    #[test]
    fn finds_what_to_escape_anywhere() {
        let plain = "a ~".repeat(16);
        for at in 0..=plain.len() {
            for (odd, escaped) in
                [("\"", "\\\""), ("\\", "\\\\"), ("\n", "\\n"), ("\u{7f}", "\\u007f"), ("é", "\\u00e9")]
            {
                let (start, end) = plain.split_at(at);
                check(format!("{start}{odd}{end}"), &format!("\"{start}{escaped}{end}\""));
            }
        }
        check(plain.as_str(), &format!("\"{plain}\""));
    }

    #[test]
    fn writes_numbers_as_python_does() {
        check(1.0, "1.0");
        check(1e16, "1e+16");
        check(1e-7, "1e-07");
        check(f64::NAN, "NaN");
        check(f64::NEG_INFINITY, "-Infinity");
        check(u64::MAX, "18446744073709551615");
    }

    #[test]
    fn keeps_lone_surrogates() {
        let text = r#"{"a": ["\udcff", "\ud83d\ude00"]}"#;
        assert_eq!(encode(&decode(text).unwrap()), text);
    }
}
