//! Natural numbers of any size, just enough to write another notation in decimal.

use modbox_python_json::{MAX_INT_DIGITS, Value};

/// One digit of the number, in base 10^9.
const BASE: u64 = 1_000_000_000;
/// Decimal digits of one such digit.
const WIDTH: usize = 9;

/// A natural number with at most about [`MAX_INT_DIGITS`] decimal digits: Python refuses to write longer ones.
#[derive(Debug, Default)]
pub(crate) struct Decimal {
    /// The digits, the least first; without zeros at the end.
    digits: Vec<u32>,
}

impl Decimal {
    /// Reads digits of a base up to 36; `None` if there is none, one is invalid, or the number is too long.
    pub(crate) fn parse(text: &str, base: u32) -> Option<Self> {
        let mut number = Self::default();
        if text.is_empty() {
            return None;
        }
        for character in text.chars() {
            number.multiply_add(base, character.to_digit(base)?)?;
        }
        Some(number)
    }

    /// Multiplies by one small number and adds another; `None` if the number is then too long.
    pub(crate) fn multiply_add(&mut self, factor: u32, summand: u32) -> Option<()> {
        let mut carry = u64::from(summand);
        for digit in &mut self.digits {
            let product = u64::from(*digit) * u64::from(factor) + carry;
            *digit = u32::try_from(product % BASE).ok()?;
            carry = product / BASE;
        }
        while carry > 0 {
            self.digits.push(u32::try_from(carry % BASE).ok()?);
            carry /= BASE;
        }
        (self.digits.len() <= MAX_INT_DIGITS / WIDTH + 1).then_some(())
    }

    /// Writes the number in decimal.
    pub(crate) fn text(&self) -> String {
        let mut digits = self.digits.iter().rev();
        let first = digits.next().map_or_else(|| "0".to_owned(), u32::to_string);
        digits.fold(first, |text, digit| text + &format!("{digit:0WIDTH$}"))
    }

    /// Returns the number, or its negative, as a value; `None` if it is longer than Python writes.
    pub(crate) fn value(&self, is_negative: bool) -> Option<Value> {
        let text = self.text();
        if text.len() > MAX_INT_DIGITS {
            return None;
        }
        Value::int_from_decimal(&if is_negative && text != "0" { format!("-{text}") } else { text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, base: u32, wanted: Option<&str>) {
        assert_eq!(Decimal::parse(text, base).map(|number| number.text()).as_deref(), wanted);
    }

    #[test]
    fn numbers_of_any_base_are_written_in_decimal() {
        check("0", 10, Some("0"));
        check("000", 8, Some("0"));
        check("ffffffffffffffffffff", 16, Some("1208925819614629174706175"));
        check("1000000000000000000001", 10, Some("1000000000000000000001"));
        check("", 10, None);
        check("12", 2, None);
        check(&"1".repeat(100_000), 10, None);
    }
}
