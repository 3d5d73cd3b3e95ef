//! Numbers in text by a width, a precision and a type: the common part of `%` and `str.format`.

use minijinja::Value;

use super::pad::MAX_BYTES;
use crate::failure::{Outcome, failure};
use crate::values::{Number, View, repr, view};

/// How to write a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) fill: char,
    /// One of `<`, `>`, `^`, and `=` for zeros between sign and digits.
    pub(crate) align: Option<char>,
    /// One of `-`, `+` and a blank.
    pub(crate) sign: char,
    pub(crate) alternate: bool,
    pub(crate) width: usize,
    pub(crate) grouping: Option<char>,
    pub(crate) precision: Option<usize>,
}

impl Default for Layout {
    fn default() -> Self {
        Self { fill: ' ', align: None, sign: '-', alternate: false, width: 0, grouping: None, precision: None }
    }
}

/// The largest width and precision.
const MAX_WIDTH: usize = MAX_BYTES / 16;

impl Layout {
    /// Checks width and precision.
    ///
    /// # Errors
    ///
    /// One is too large.
    pub(crate) fn check(&self) -> Outcome<()> {
        if self.width > MAX_WIDTH || self.precision.is_some_and(|precision| precision > 4096) {
            return Err(failure("the text would be too long"));
        }
        Ok(())
    }

    /// Pads a text. Text starts at the left unless the layout says otherwise.
    pub(crate) fn text(&self, text: &str) -> String {
        let text: String = match self.precision {
            Some(precision) => text.chars().take(precision).collect(),
            None => text.to_owned(),
        };
        self.pad("", &text, '<')
    }

    fn pad(&self, sign: &str, body: &str, default: char) -> String {
        let length = sign.chars().count() + body.chars().count();
        let missing = self.width.saturating_sub(length);
        let fill = |count: usize| std::iter::repeat_n(self.fill, count).collect::<String>();
        match self.align.unwrap_or(default) {
            '<' => format!("{sign}{body}{}", fill(missing)),
            '^' => format!("{}{sign}{body}{}", fill(missing / 2), fill(missing - missing / 2)),
            '=' => format!("{sign}{}{body}", fill(missing)),
            _ => format!("{}{sign}{body}", fill(missing)),
        }
    }

    fn sign_of(&self, negative: bool) -> &'static str {
        match self.sign {
            _ if negative => "-",
            '+' => "+",
            ' ' => " ",
            _ => "",
        }
    }

    /// Writes an integer. `kind` is one of `d`, `x`, `X`, `o`, `b` and `n`.
    ///
    /// # Errors
    ///
    /// The integer is too large for its base.
    pub(crate) fn integer(&self, value: &Value, kind: char) -> Outcome<String> {
        let (negative, digits) = match Number::of(value) {
            Some(Number::Int(number)) => (number < 0, in_base(number.unsigned_abs(), kind)),
            Some(Number::Long(text)) if matches!(kind, 'd' | 'n' | 'i' | 'u') => {
                (text.starts_with('-'), text.trim_start_matches('-').to_owned())
            }
            _ => return Err(failure("the integer is too large for this format")),
        };
        let prefix = match kind {
            'x' | 'X' | 'o' | 'b' if self.alternate => format!("0{kind}"),
            _ => String::new(),
        };
        let minimum = self.precision.unwrap_or(0);
        let digits = format!("{digits:0>minimum$}");
        Ok(self.number(&format!("{}{prefix}", self.sign_of(negative)), &digits, ""))
    }

    /// Joins sign, digits and the rest, with separators between the digits.
    fn number(&self, sign: &str, digits: &str, rest: &str) -> String {
        let Some(separator) = self.grouping else { return self.pad(sign, &format!("{digits}{rest}"), '>') };
        let zeros = if self.align == Some('=') && self.fill == '0' {
            self.width.saturating_sub(sign.len() + rest.len())
        } else {
            0
        };
        let mut digits = digits.to_owned();
        while !digits.is_empty() && digits.len() + (digits.len() - 1) / 3 < zeros {
            digits.insert(0, '0');
        }
        let mut grouped = String::new();
        for (index, c) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push(separator);
            }
            grouped.push(c);
        }
        self.pad(sign, &format!("{grouped}{rest}"), '>')
    }

    /// Writes a float. `kind` is one of `e`, `f`, `g`, their capitals, `%`, and a blank for the shortest form.
    pub(crate) fn float(&self, number: f64, kind: char) -> String {
        let negative = number.is_sign_negative() && !number.is_nan();
        let body = float_body(number.abs(), kind, self.precision, self.alternate);
        let body = if kind.is_ascii_uppercase() { body.to_uppercase() } else { body };
        let split = body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len());
        let (digits, rest) = body.split_at(split);
        if number.is_finite() {
            self.number(self.sign_of(negative), digits, rest)
        } else {
            self.pad(self.sign_of(negative), &body, '>')
        }
    }
}

fn in_base(number: u128, kind: char) -> String {
    match kind {
        'x' => format!("{number:x}"),
        'X' => format!("{number:X}"),
        'o' => format!("{number:o}"),
        'b' => format!("{number:b}"),
        _ => number.to_string(),
    }
}

fn float_body(number: f64, kind: char, precision: Option<usize>, alternate: bool) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if kind == '%' { "inf%" } else { "inf" }.to_owned();
    }
    let digits = precision.unwrap_or(6);
    let dot = if alternate && digits == 0 { "." } else { "" };
    match kind.to_ascii_lowercase() {
        'f' => format!("{number:.digits$}{dot}"),
        '%' => format!("{:.digits$}{dot}%", number * 100.0),
        'e' => exponent_form(number, digits, dot),
        ' ' if precision.is_none() => repr(&Value::from(number)).unwrap_or_default(),
        ' ' => general(number, digits.max(1), alternate, true),
        _ => general(number, digits.max(1), alternate, false),
    }
}

fn exponent_form(number: f64, digits: usize, dot: &str) -> String {
    let text = format!("{number:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{mantissa}{dot}e{sign}{exponent:0>2}")
}

/// Writes with a number of significant digits, in the shorter of the two forms.
fn general(number: f64, digits: usize, alternate: bool, keep_point: bool) -> String {
    let text = format!("{number:.*e}", digits - 1);
    let exponent: i32 = text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let most = i32::try_from(digits).unwrap_or(i32::MAX);
    let most = if keep_point { most - 1 } else { most };
    let trim = |text: &str| {
        if alternate || !text.contains('.') {
            return text.to_owned();
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if (-4..most.max(i32::from(!keep_point))).contains(&exponent) {
        let decimals = usize::try_from(i32::try_from(digits).unwrap_or(i32::MAX) - 1 - exponent).unwrap_or(0);
        let plain = trim(&format!("{number:.decimals$}"));
        return if keep_point && !plain.contains('.') { format!("{plain}.0") } else { plain };
    }
    let text = exponent_form(number, digits - 1, "");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
    format!("{}e{exponent}", trim(mantissa))
}

/// Returns the float of a number for a float format.
///
/// # Errors
///
/// The value is not a number.
pub(crate) fn float_of(value: &Value) -> Outcome<f64> {
    let not_a_number = || failure(format!("must be real number, not {}", crate::values::type_name(value)));
    match view(value) {
        View::Str(_) => Err(not_a_number()),
        _ => Number::of(value).map(|number| number.to_f64()).ok_or_else(not_a_number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_c_s() {
        let layout = |precision| Layout { precision, ..Layout::default() };
        let cases = [
            (3.146, 'f', Some(2), "3.15"),
            (1234.5, 'e', None, "1.234500e+03"),
            (0.0001, 'g', None, "0.0001"),
            (0.00001, 'g', None, "1e-05"),
            (1e6, 'g', None, "1e+06"),
            (123_456.0, 'g', None, "123456"),
            (0.5, '%', Some(0), "50%"),
            (2.5, 'f', Some(0), "2"),
            (1.0, ' ', None, "1.0"),
            (123.456, ' ', Some(4), "123.5"),
            (1000.0, ' ', Some(3), "1e+03"),
        ];
        for (number, kind, precision, expect) in cases {
            assert_eq!(layout(precision).float(number, kind), expect, "{number} {kind} {precision:?}");
        }
    }
}
