//! The type of a plain scalar: PyYAML's table for YAML 1.1.

use super::timestamp::is_timestamp;
use crate::tag::Tag;

/// Returns the type of a plain scalar.
///
/// PyYAML's expressions end with `$`, which also matches before a newline at the end. A plain scalar has none, but text
/// with `!unsafe` may.
pub(crate) fn resolve(text: &str) -> Tag {
    let whole = text;
    let text = text.strip_suffix('\n').unwrap_or(text);
    match text.as_bytes().first() {
        None if whole.is_empty() => Tag::Null,
        None => Tag::Str,
        Some(b'~' | b'n' | b'N') if matches!(text, "~" | "null" | "Null" | "NULL") => Tag::Null,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O') if is_bool(text) => Tag::Bool,
        Some(b'<') if text == "<<" => Tag::Merge,
        Some(b'=') if text == "=" => Tag::Value,
        Some(b'-' | b'+' | b'.' | b'0'..=b'9') => resolve_number(text),
        _ => Tag::Str,
    }
}

fn resolve_number(text: &str) -> Tag {
    if is_float(text) {
        Tag::Float
    } else if is_int(text) {
        Tag::Int
    } else if is_timestamp(text) {
        Tag::Timestamp
    } else {
        Tag::Str
    }
}

fn is_bool(text: &str) -> bool {
    matches!(
        text,
        "yes"
            | "Yes"
            | "YES"
            | "no"
            | "No"
            | "NO"
            | "true"
            | "True"
            | "TRUE"
            | "false"
            | "False"
            | "FALSE"
            | "on"
            | "On"
            | "ON"
            | "off"
            | "Off"
            | "OFF"
    )
}

fn is_int(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if let Some(digits) = digits.strip_prefix("0b") {
        return consists_of(digits, |byte| matches!(byte, b'0' | b'1'));
    }
    if let Some(digits) = digits.strip_prefix("0x") {
        return consists_of(digits, |byte| byte.is_ascii_hexdigit());
    }
    match digits.as_bytes() {
        [b'0'] => true,
        [b'0', ..] => consists_of(&digits[1..], |byte| matches!(byte, b'0'..=b'7')),
        [b'1'..=b'9', ..] => {
            let rest = number_behind(digits);
            rest.is_empty() || sixtieths_behind(rest) == Some("")
        }
        _ => false,
    }
}

fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match unsigned.as_bytes() {
        [b'.', ..] => match &unsigned[1..] {
            "inf" | "Inf" | "INF" => true,
            "nan" | "NaN" | "NAN" => unsigned.len() == text.len(),
            fraction => {
                fraction.starts_with(|first: char| first.is_ascii_digit())
                    && unsigned.len() == text.len()
                    && is_exponent(number_behind(fraction))
            }
        },
        [b'0'..=b'9', ..] => {
            let rest = number_behind(unsigned);
            match rest.strip_prefix('.') {
                Some(fraction) => is_exponent(number_behind(fraction)),
                None => sixtieths_behind(rest)
                    .and_then(|rest| rest.strip_prefix('.'))
                    .is_some_and(|fraction| number_behind(fraction).is_empty()),
            }
        }
        _ => false,
    }
}

/// Returns what is behind digits and underscores.
fn number_behind(text: &str) -> &str {
    text.trim_start_matches(|character: char| character.is_ascii_digit() || character == '_')
}

/// Returns what is behind one or more `:ss`, each below 60; `None` if there is none.
fn sixtieths_behind(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(digits) = rest.strip_prefix(':') {
        let width = match digits.as_bytes() {
            [b'0'..=b'5', b'0'..=b'9', ..] => 2,
            [b'0'..=b'9', ..] => 1,
            _ => break,
        };
        rest = &digits[width..];
    }
    (rest.len() < text.len()).then_some(rest)
}

/// Says whether the text is an exponent with a sign, or empty.
fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['e', 'E']).and_then(|rest| rest.strip_prefix(['-', '+']));
    text.is_empty()
        || digits.is_some_and(|digits| consists_of(digits, |byte| byte.is_ascii_digit()) && !digits.contains('_'))
}

/// Says whether the text has at least one byte, and only such bytes and underscores.
fn consists_of(text: &str, is_digit: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'_' || is_digit(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &Tag, texts: &[&str]) {
        for text in texts {
            assert_eq!(resolve(text), *wanted, "{text}");
        }
    }

    #[test]
    fn plain_scalars_have_the_types_of_yaml_1_1() {
        check(&Tag::Null, &["", "~", "null", "Null", "NULL", "~\n"]);
        check(&Tag::Bool, &["yes", "No", "ON", "off", "True", "false", "yes\n"]);
        check(&Tag::Int, &["0", "-0", "0644", "0_7", "1_000", "0b10", "0b_", "0x1F", "-12", "1:30", "9:5", "1:59:59"]);
        check(&Tag::Float, &["1.", "0.5", ".5", "-1.5e+3", "1_0._5", ".inf", "-.INF", ".NaN", "1:30.5", "1:30."]);
        check(&Tag::Timestamp, &["2001-12-14", "2001-1-4 1:00:00"]);
        check(&Tag::Merge, &["<<"]);
        check(&Tag::Value, &["="]);
        check(
            &Tag::Str,
            &["\n", "nULL", "y", "n", "yEs", "0o17", "08", "1e3", "1.5e3", "-.5", "+.nan", "._5", "0b", "0x"],
        );
        check(&Tag::Str, &["1:60", "0:30", "1:", "-", "+", ".", "_1", "2001-1-4", "1.5:30", "<", "==", "a\n"]);
    }
}
