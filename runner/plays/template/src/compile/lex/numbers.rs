//! Numbers: `1_000`, `0xff`, `0o17`, `0b1`, `1.5`, `1e-3`.

use minijinja::Value;
use modbox_jinja::values::{decimal_digit, parse_int};

/// The most digits of a decimal integer that Python reads.
const MAX_DIGITS: usize = 4300;

/// Returns the length of the number that a text begins with, and whether it is one with a fraction or an exponent. After
/// a dot there is none, so that `a.0.1` is an item of an item. The text begins with a digit.
pub(super) fn length(text: &str, is_after_dot: bool) -> (usize, bool) {
    let bytes = text.as_bytes();
    match fractional(bytes).filter(|_| !is_after_dot) {
        Some(length) => (length, true),
        None => (integral(text), false),
    }
}

fn fractional(bytes: &[u8]) -> Option<usize> {
    let whole = groups(bytes, 0)?;
    let fraction = (bytes.get(whole) == Some(&b'.')).then(|| groups(bytes, whole + 1)).flatten();
    let end = fraction.unwrap_or(whole);
    let exponent = matches!(bytes.get(end), Some(b'e' | b'E')).then(|| {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        groups(bytes, end + 1 + sign)
    });
    exponent.flatten().or(fraction)
}

/// Returns the byte after digits with single underscores between them.
fn groups(bytes: &[u8], from: usize) -> Option<usize> {
    bytes.get(from).filter(|byte| byte.is_ascii_digit())?;
    Some(digits(bytes, from, |byte| byte.is_ascii_digit()))
}

/// Returns the byte after the digits that a text begins with, which may be those of other scripts.
fn decimal(text: &str) -> usize {
    let mut end = 0;
    loop {
        let rest = &text[end..];
        let digits = rest.strip_prefix('_').unwrap_or(rest);
        match digits.chars().next() {
            Some(c) if c.is_ascii_digit() || decimal_digit(c).is_some() => {
                end = text.len() - digits.len() + c.len_utf8();
            }
            _ => return end,
        }
    }
}

fn digits(bytes: &[u8], from: usize, is_digit: fn(u8) -> bool) -> usize {
    let mut end = from;
    loop {
        let gap = usize::from(bytes.get(end) == Some(&b'_'));
        match bytes.get(end + gap) {
            Some(byte) if is_digit(*byte) => end += gap + 1,
            _ => return end,
        }
    }
}

fn integral(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'0') {
        return decimal(text);
    }
    let is_digit: fn(u8) -> bool = match bytes.get(1).map(u8::to_ascii_lowercase) {
        Some(b'b') => |byte| matches!(byte, b'0' | b'1'),
        Some(b'o') => |byte| matches!(byte, b'0'..=b'7'),
        Some(b'x') => |byte| byte.is_ascii_hexdigit(),
        _ => return digits(bytes, 0, |byte| byte == b'0'),
    };
    match digits(bytes, 2, is_digit) {
        2 => 1,
        end => end,
    }
}

/// Returns the value of an integer.
///
/// # Errors
///
/// It has more digits than Python reads.
pub(in crate::compile) fn integer(written: &str) -> Result<Value, String> {
    let plain: String = written.chars().filter(|c| *c != '_').map(|c| decimal_digit(c).unwrap_or(c)).collect();
    let plain = plain.to_ascii_lowercase();
    let (radix, digits) = match plain.get(..2) {
        Some("0b") => (2, &plain[2..]),
        Some("0o") => (8, &plain[2..]),
        Some("0x") => (16, &plain[2..]),
        _ => (10, &plain[..]),
    };
    if let Ok(number) = i64::from_str_radix(digits, radix) {
        return Ok(Value::from(number));
    }
    if digits.len() > MAX_DIGITS {
        return Err(format!("Exceeds the limit ({MAX_DIGITS} digits) for integer string conversion"));
    }
    parse_int(digits, radix).ok_or_else(|| "the integer is too large".to_owned())
}

/// Returns the value of a number with a fraction or an exponent.
///
/// # Errors
///
/// It is larger than any such number: ansible-core fails with it, too.
pub(in crate::compile) fn float(written: &str) -> Result<Value, String> {
    match written.replace('_', "").parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Value::from(number)),
        _ => Err(format!("the number {written} is too large")),
    }
}

#[cfg(test)]
mod tests {
    use modbox_jinja::values::repr;

    use super::*;

    #[test]
    fn numbers_end_where_those_of_jinja_do() {
        for (text, expect) in [
            ("1_000 ", (5, false)),
            ("1__0", (1, false)),
            ("007", (2, false)),
            ("0_0_1", (3, false)),
            ("0x_fFg", (5, false)),
            ("0x", (1, false)),
            ("0B102", (4, false)),
            ("0o78", (3, false)),
            ("1.", (1, false)),
            ("1.5.3", (3, true)),
            ("1_0.5_0e-1_0_", (12, true)),
            ("1e5", (3, true)),
            ("1e+", (1, false)),
            ("1.5e", (3, true)),
            ("007.5", (5, true)),
            ("1_۳४.a", (7, false)),
            ("0۳", (1, false)),
        ] {
            assert_eq!(length(text, false), expect, "{text}");
        }
        assert_eq!(length("0.1", true), (1, false));
    }

    #[test]
    fn values_are_those_of_python() {
        let check = |made: Result<Value, String>, expect: &str| assert_eq!(repr(&made.unwrap()).unwrap(), expect);
        check(integer("1_000"), "1000");
        check(integer("0XfF"), "255");
        check(integer("1_۳४"), "134");
        check(integer("0b_101"), "5");
        check(
            integer("123456789012345678901234567890123456789012345"),
            "123456789012345678901234567890123456789012345",
        );
        check(float("1_0.5e1"), "105.0");
        check(float("1e16"), "1e+16");
        assert!(float("1e999").is_err());
        assert!(integer(&"1".repeat(5000)).is_err());
    }
}
