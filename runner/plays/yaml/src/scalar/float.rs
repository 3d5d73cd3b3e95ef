//! Numbers with a fraction: decimal and sexagesimal, infinities and not-a-number.

use super::decimal::Decimal;

/// Returns the value of a scalar with the type of such numbers; `None` if Python refuses it.
pub(crate) fn float_value(text: &str) -> Option<f64> {
    let text = text.replace('_', "").to_lowercase();
    let (sign, text) = match text.chars().next()? {
        '-' => (-1.0, &text[1..]),
        '+' => (1.0, &text[1..]),
        _ => (1.0, &*text),
    };
    let size = match text {
        ".inf" => f64::INFINITY,
        ".nan" => return Some(f64::NAN),
        text if text.contains(':') => sexagesimal(text)?,
        text => python_float(text)?,
    };
    Some(sign * size)
}

/// Reads a number as Python's `float` does.
fn python_float(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// Adds up numbers between colons in PyYAML's order, from the last to the first, so that rounding is the same.
fn sexagesimal(text: &str) -> Option<f64> {
    let (mut sum, mut factor) = (0.0, Decimal::parse("1", 10)?);
    for part in text.rsplit(':') {
        let exact: f64 = factor.text().parse().ok()?;
        if exact.is_infinite() {
            return None;
        }
        sum += python_float(part)? * exact;
        factor.multiply_add(60, 0)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: Option<f64>) {
        assert_eq!(float_value(text), wanted, "{text}");
    }

    #[test]
    fn numbers_are_those_of_yaml_1_1() {
        check("1.5", Some(1.5));
        check("-1_0.5e+2", Some(-1050.0));
        check("1.", Some(1.0));
        check(".5", Some(0.5));
        check("-.INF", Some(f64::NEG_INFINITY));
        check("1:30.5", Some(90.5));
        check("1e400", Some(f64::INFINITY));
        check("x", None);
        check("", None);
        assert!(float_value(".NaN").is_some_and(f64::is_nan));
        check(&format!("1{}.0", ":0".repeat(400)), None);
    }
}
