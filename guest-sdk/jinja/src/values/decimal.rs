//! Characters and digits by Python's rules.

use std::cmp::Ordering;

/// Compares two integers in decimal, which have no leading zeros.
pub(crate) fn compare_decimals(left: &str, right: &str) -> Ordering {
    let size = |text: &str, other: &str| text.len().cmp(&other.len()).then_with(|| text.cmp(other));
    match (left.strip_prefix('-'), right.strip_prefix('-')) {
        (None, None) => size(left, right),
        (Some(left), Some(right)) => size(right, left),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
    }
}

/// Returns the ASCII digit of a decimal digit of another script: of those that Python's `int` takes, the scripts in use.
pub fn decimal_digit(c: char) -> Option<char> {
    // Unicode has decimal digits in runs of ten. These are the runs of scripts in use.
    const ZEROS: [char; 12] = [
        '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}', '\u{be6}', '\u{c66}',
        '\u{e50}', '\u{ff10}',
    ];
    let zero = ZEROS.into_iter().find(|zero| (u32::from(*zero)..u32::from(*zero) + 10).contains(&u32::from(c)))?;
    char::from_digit(u32::from(c) - u32::from(zero), 10)
}

/// Returns whether Python's `str.isspace` accepts the character.
pub(crate) fn is_python_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}
