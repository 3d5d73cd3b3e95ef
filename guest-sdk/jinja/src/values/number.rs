//! Numbers: exact comparison of integers and floats, and Python's `int()` and `float()` of text.

use std::cmp::Ordering;

use minijinja::Value;
use modbox_python_json::Value as Json;

use super::decimal::{compare_decimals, decimal_digit, is_python_space};
use super::json::from_json;
use super::view::{View, view};

/// A number of any of Python's types.
#[derive(Debug, Clone, PartialEq)]
pub enum Number {
    /// A `bool`, or an `int` of at most 128 bits.
    Int(i128),
    /// Any other `int`, as decimal text.
    Long(String),
    /// A `float`.
    Float(f64),
}

impl Number {
    /// Returns the number of a value that has one.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        match view(value) {
            View::Bool(truth) => Some(Self::Int(truth.into())),
            View::Int(number) => Some(Self::Int(number)),
            View::Long(text) => Some(Self::Long(text.into_owned())),
            View::Float(number) => Some(Self::Float(number)),
            _ => None,
        }
    }

    /// Returns the nearest float: Python's `float()`.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        match self {
            Self::Int(number) => {
                #[expect(clippy::cast_precision_loss, reason = "rounding to the nearest float is Python's rule")]
                let nearest = *number as f64;
                nearest
            }
            Self::Long(text) => text.parse().unwrap_or(f64::INFINITY),
            Self::Float(number) => *number,
        }
    }

    /// Compares exactly. `None` is the order of `NaN`.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(right),
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Float(left), _) => compare_float(*left, &other.decimal()),
            (_, Self::Float(right)) => compare_float(*right, &self.decimal()).map(Ordering::reverse),
            _ => Some(compare_decimals(&self.decimal(), &other.decimal())),
        }
    }

    fn decimal(&self) -> String {
        match self {
            Self::Int(number) => number.to_string(),
            Self::Long(text) => text.clone(),
            Self::Float(number) => format!("{:.0}", number.trunc()),
        }
    }
}

fn compare_float(left: f64, right: &str) -> Option<Ordering> {
    if !left.is_finite() {
        return left.partial_cmp(&0.0);
    }
    let whole = format!("{:.0}", left.trunc());
    let whole = if whole == "-0" { "0" } else { &whole };
    Some(compare_decimals(whole, right).then_with(|| left.fract().partial_cmp(&0.0).unwrap_or(Ordering::Equal)))
}

/// Returns the value of an integer in decimal text.
pub(crate) fn integer(text: &str) -> Option<Value> {
    Json::int_from_decimal(text).as_ref().map(from_json)
}

/// Returns the integer part of a float: Python's `int()`. `None`: it is not finite.
#[must_use]
pub fn whole_number(number: f64) -> Option<Value> {
    if !number.is_finite() {
        return None;
    }
    let digits = format!("{:.0}", number.trunc());
    integer(if digits == "-0" { "0" } else { &digits })
}

/// Returns the result of Python's `int(text, base)`: blanks around it, underscores between digits, and the prefix of
/// the base are accepted. `None` is Python's `ValueError`.
#[must_use]
pub fn parse_int(text: &str, base: u32) -> Option<Value> {
    let text = text.trim_matches(is_python_space);
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (base, digits) = without_prefix(digits, base)?;
    let digits = plain_digits(digits)?;
    let sign = if negative { "-" } else { "" };
    if base == 10 {
        return (digits.len() <= modbox_python_json::MAX_INT_DIGITS).then(|| integer(&format!("{sign}{digits}")))?;
    }
    i128::from_str_radix(&format!("{sign}{digits}"), base).ok().map(Value::from)
}

fn without_prefix(digits: &str, base: u32) -> Option<(u32, &str)> {
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let prefixed = match lower.as_deref() {
        Some("0x") => Some(16),
        Some("0o") => Some(8),
        Some("0b") => Some(2),
        _ => None,
    };
    match prefixed {
        Some(known) if base == known || base == 0 => {
            let rest = &digits[2..];
            Some((known, rest.strip_prefix('_').unwrap_or(rest)))
        }
        _ if base == 0 => {
            let is_zero = digits.bytes().all(|byte| byte == b'0' || byte == b'_');
            (is_zero || !digits.starts_with('0')).then_some((10, digits))
        }
        _ => Some((base, digits)),
    }
    .filter(|(base, _)| (2..=36).contains(base))
}

/// Returns ASCII digits and letters without the underscores that may separate them.
fn plain_digits(text: &str) -> Option<String> {
    let single = !text.starts_with('_') && !text.ends_with('_') && !text.contains("__") && !text.is_empty();
    let digit = |c: char| match c {
        '_' => None,
        _ if c.is_ascii_alphanumeric() => Some(Ok(c)),
        _ => Some(decimal_digit(c).ok_or(())),
    };
    if single { text.chars().filter_map(digit).collect::<Result<_, ()>>().ok() } else { None }
}

/// Returns the result of Python's `float(text)`, or `None` for its `ValueError`.
#[must_use]
pub fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_python_space);
    let valid_underscores = text.char_indices().filter(|(_, c)| *c == '_').all(|(at, _)| {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        digit(text[..at].chars().next_back()) && digit(text[at + 1..].chars().next())
    });
    if !valid_underscores || text.is_empty() {
        return None;
    }
    let plain: String = text.chars().filter(|c| *c != '_').map(|c| decimal_digit(c).unwrap_or(c)).collect();
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(&plain).to_ascii_lowercase();
    match unsigned.as_str() {
        "nan" => Some(f64::NAN),
        "inf" | "infinity" => Some(if plain.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }),
        _ if unsigned.bytes().all(|byte| byte.is_ascii_digit() || b".e+-".contains(&byte)) => plain.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_integers_as_python_does() {
        let cases: [(&str, u32, Option<&str>); 17] = [
            (" 12 ", 10, Some("12")),
            ("-0012", 10, Some("-12")),
            ("1_000", 10, Some("1000")),
            ("1__0", 10, None),
            ("_1", 10, None),
            ("", 10, None),
            ("+", 10, None),
            ("1.0", 10, None),
            ("0x1f", 16, Some("31")),
            ("1f", 16, Some("31")),
            ("0x1f", 10, None),
            ("0b11", 0, Some("3")),
            ("010", 0, None),
            ("0", 0, Some("0")),
            ("\u{663}", 10, Some("3")),
            ("9", 8, None),
            ("340282366920938463463374607431768211456", 10, Some("340282366920938463463374607431768211456")),
        ];
        for (text, base, expect) in cases {
            assert_eq!(parse_int(text, base).map(|value| value.to_string()).as_deref(), expect, "{text:?} {base}");
        }
    }

    #[test]
    fn reads_floats_as_python_does() {
        let cases = [
            ("1", Some(1.0)),
            (" -1.5e3 ", Some(-1500.0)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1_0.0", Some(10.0)),
            ("1_.0", None),
            ("Infinity", Some(f64::INFINITY)),
            ("-inf", Some(f64::NEG_INFINITY)),
            ("1e", None),
            ("0x1", None),
            ("", None),
        ];
        for (text, expect) in cases {
            assert_eq!(parse_float(text), expect, "{text:?}");
        }
        assert!(parse_float("nan").is_some_and(f64::is_nan));
    }

    #[test]
    fn compares_exactly() {
        let big = Number::Int(9_007_199_254_740_993);
        assert_eq!(big.compare(&Number::Float(9_007_199_254_740_992.0)), Some(Ordering::Greater));
        assert_eq!(Number::Float(-0.5).compare(&Number::Int(0)), Some(Ordering::Less));
        assert_eq!(Number::Float(1e300).compare(&Number::Long("9".repeat(200))), Some(Ordering::Greater));
        assert_eq!(Number::Float(f64::NAN).compare(&Number::Int(0)), None);
        assert_eq!(Number::Float(1.0).compare(&Number::Int(1)), Some(Ordering::Equal));
    }
}
