//! Reads `bytes` and `bits` options: a number with a unit.

use std::borrow::Cow;

use modbox_python_json::{Value, str};

use crate::big::whole_float;
use crate::number::python_space;

/// Prefixes as powers of 1024, and the word for each. Ansible lacks `zettabyte`.
const PREFIXES: [(char, i32, &str); 8] = [
    ('Y', 8, "yotta"),
    ('Z', 7, "zeta"),
    ('E', 6, "exa"),
    ('P', 5, "peta"),
    ('T', 4, "tera"),
    ('G', 3, "giga"),
    ('M', 2, "mega"),
    ('K', 1, "kilo"),
];

/// A float and an `i64` can hold every whole number below this one.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The counted unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Bits,
}

impl Unit {
    fn symbol(self) -> &'static str {
        match self {
            Self::Bytes => "B",
            Self::Bits => "b",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Bytes => "byte",
            Self::Bits => "bit",
        }
    }
}

/// Returns the number of units that a value stands for (`1024`, `1.5M`, `10 Kb`), or `None`.
pub(crate) fn to_size(value: &Value, unit: Unit) -> Option<Value> {
    let text = match value {
        Value::Str(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(str(other)),
    };
    let text = text.trim_end_matches(python_space);
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    if !number.ends_with(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
        return None;
    }
    let suffix = suffix.trim_start_matches(python_space);
    let factor = 1024_f64.powi(power(suffix, unit)?);
    let size = number.parse::<f64>().ok()? * factor;
    let size = size.round_ties_even();
    if size < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number that an i64 holds exactly")]
        return Some(Value::Int(size as i64));
    }
    size.is_finite().then(|| Value::int_from_decimal(&whole_float(size)))?
}

fn power(suffix: &str, unit: Unit) -> Option<i32> {
    if suffix.is_empty() || suffix.eq_ignore_ascii_case("b") || suffix.eq_ignore_ascii_case(unit.word()) {
        return Some(0);
    }
    let first = suffix.chars().next()?.to_ascii_uppercase();
    let (symbol, power, word) = PREFIXES.into_iter().find(|(symbol, ..)| *symbol == first)?;
    let short = suffix.len() == 1 || suffix == format!("{symbol}{}", unit.symbol());
    let long = suffix.eq_ignore_ascii_case(&format!("{word}{}", unit.word()));
    (short || long).then_some(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, unit: Unit, expect: Option<&str>) {
        let got = to_size(&text.into(), unit).map(|size| str(&size));
        assert_eq!(got.as_deref(), expect, "for {text}");
    }

    #[test]
    fn reads_units() {
        check("1.5 MB", Unit::Bytes, Some("1572864"));
        check("1kilobyte", Unit::Bytes, Some("1024"));
        check(".5K", Unit::Bytes, Some("512"));
        check("2.5", Unit::Bytes, Some("2"));
        check("3Y", Unit::Bytes, Some("3626777458843887524118528"));
        check("5Kb", Unit::Bits, Some("5120"));
        check("5b", Unit::Bytes, Some("5"));
    }

    #[test]
    fn refuses_others() {
        for text in ["", "x", "10 kB", "5Kb", "1.", "1..5", "1e3", " 42", "-1", "1KiB", "1bytes"] {
            check(text, Unit::Bytes, None);
        }
        check("1.5 MB", Unit::Bits, None);
    }
}
