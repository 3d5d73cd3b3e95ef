//! `str.ljust`, `rjust`, `center`, `zfill`, and repetition, within a limit of size.

use crate::failure::{Outcome, failure};

/// The longest text that padding or replacing may make.
pub(crate) const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Returns how many characters lack to a width.
///
/// # Errors
///
/// The width is beyond any sensible text.
fn missing(text: &str, width: i64) -> Outcome<usize> {
    let width = usize::try_from(width).unwrap_or(0);
    if width > MAX_BYTES / 4 {
        return Err(failure("the text would be too long"));
    }
    Ok(width.saturating_sub(text.chars().count()))
}

/// Returns a character many times.
fn many(fill: char, count: usize) -> String {
    std::iter::repeat_n(fill, count).collect()
}

/// `str.ljust`
pub(crate) fn left(text: &str, width: i64, fill: char) -> Outcome<String> {
    Ok(format!("{text}{}", many(fill, missing(text, width)?)))
}

/// `str.rjust`
pub(crate) fn right(text: &str, width: i64, fill: char) -> Outcome<String> {
    Ok(format!("{}{text}", many(fill, missing(text, width)?)))
}

/// `str.center`, which puts an odd blank to the left if the width is odd.
pub(crate) fn center(text: &str, width: i64, fill: char) -> Outcome<String> {
    let lacks = missing(text, width)?;
    let left = lacks / 2 + (lacks & usize::try_from(width).unwrap_or(0) & 1);
    Ok(format!("{}{text}{}", many(fill, left), many(fill, lacks - left)))
}

/// `str.zfill`
pub(crate) fn zero(text: &str, width: i64) -> Outcome<String> {
    let zeros = many('0', missing(text, width)?);
    let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
    Ok(format!("{sign}{zeros}{digits}"))
}

/// Returns a text many times.
pub(crate) fn repeat(text: &str, count: i64) -> Outcome<String> {
    let count = usize::try_from(count).unwrap_or(0);
    if text.len().saturating_mul(count) > MAX_BYTES {
        return Err(failure("the text would be too long"));
    }
    Ok(text.repeat(count))
}

/// Returns the text with tabs replaced: `str.expandtabs`.
pub(crate) fn expand_tabs(text: &str, size: i64) -> Outcome<String> {
    let size = usize::try_from(size).unwrap_or(0);
    if text.matches('\t').count().saturating_mul(size) > MAX_BYTES {
        return Err(failure("the text would be too long"));
    }
    let (mut out, mut column) = (String::with_capacity(text.len()), 0);
    for c in text.chars() {
        match c {
            '\t' if size > 0 => {
                let blanks = size - column % size;
                out.push_str(&many(' ', blanks));
                column += blanks;
            }
            '\t' => {}
            '\n' | '\r' => {
                out.push(c);
                column = 0;
            }
            _ => {
                out.push(c);
                column += 1;
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pads_as_python_does() {
        assert_eq!(center("ab", 5, '*').unwrap(), "**ab*");
        assert_eq!(center("a", 4, '*').unwrap(), "*a**");
        assert_eq!(zero("-5", 4).unwrap(), "-005");
        assert_eq!(right("é", 3, ' ').unwrap(), "  é");
        assert_eq!(expand_tabs("a\tb\n\tc", 4).unwrap(), "a   b\n    c");
        assert!(left("a", i64::MAX, ' ').is_err());
    }
}
