//! Reads and writes whole numbers of any size.
//!
//! Rust's formatting writes large floats too, but needs code for fractions that would be a tenth of a small guest.

/// A whole number in groups of nine digits, the last group first.
pub(crate) struct Big(Vec<u32>);

const GROUP: u64 = 1_000_000_000;

impl Big {
    pub(crate) fn new() -> Self {
        Self(vec![0])
    }

    /// Multiplies, then adds.
    pub(crate) fn multiply_add(&mut self, factor: u32, summand: u32) {
        let mut carry = u64::from(summand);
        for group in &mut self.0 {
            let sum = u64::from(*group) * u64::from(factor) + carry;
            *group = u32::try_from(sum % GROUP).unwrap_or_default();
            carry = sum / GROUP;
        }
        while carry > 0 {
            self.0.push(u32::try_from(carry % GROUP).unwrap_or_default());
            carry /= GROUP;
        }
    }

    /// Returns the decimal digits.
    pub(crate) fn digits(&self) -> String {
        let mut digits = String::with_capacity(self.0.len() * 9);
        for group in self.0.iter().rev() {
            let mut unit = 100_000_000;
            while unit > 0 {
                digits.extend(char::from_digit(group / unit % 10, 10));
                unit /= 10;
            }
        }
        let significant = digits.trim_start_matches('0');
        if significant.is_empty() { "0".to_owned() } else { significant.to_owned() }
    }
}

/// Returns the decimal digits of a float without a fraction, with its sign. Returns no digits for zero.
pub(crate) fn whole_float(number: f64) -> String {
    let bits = number.to_bits();
    let exponent = i32::try_from(bits >> 52 & 0x7ff).unwrap_or_default() - 1075;
    if exponent < -63 {
        return "0".to_owned();
    }
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let shifted = if exponent < 0 { mantissa >> -exponent } else { mantissa };
    let mut big = Big::new();
    for half in [shifted >> 32, shifted & 0xffff_ffff] {
        big.multiply_add(1 << 16, 0);
        big.multiply_add(1 << 16, u32::try_from(half).unwrap_or_default());
    }
    for _ in 0..exponent {
        big.multiply_add(2, 0);
    }
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", big.digits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_floats_as_rust_does() {
        let powers = (0..1024).map(|power| 2_f64.powi(power));
        for number in powers.chain([0.0, 1.0, 3.0, -7.0, 1e15, 9_007_199_254_740_993.0, 1e22, -1e300, f64::MAX]) {
            assert_eq!(whole_float(number), format!("{number:.0}"));
        }
    }
}
