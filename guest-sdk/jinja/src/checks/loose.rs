//! Loose versions: numbers and words, compared one by one.

use std::cmp::Ordering;

/// Compares two versions. `None`: a number meets a word.
pub(super) fn compare(left: &str, right: &str) -> Option<Ordering> {
    let (left, right) = (parts(left), parts(right));
    for (left, right) in left.iter().zip(&right) {
        match (left, right) {
            (Part::Number(left), Part::Number(right)) => {
                match left.len().cmp(&right.len()).then_with(|| left.cmp(right)) {
                    Ordering::Equal => {}
                    order => return Some(order),
                }
            }
            (Part::Word(left), Part::Word(right)) if left == right => {}
            (Part::Word(left), Part::Word(right)) => return Some(left.cmp(right)),
            _ => return None,
        }
    }
    Some(left.len().cmp(&right.len()))
}

enum Part {
    /// Digits without zeros before them.
    Number(String),
    Word(String),
}

/// Splits a version into runs of digits, runs of lower-case letters, and what is between them. Dots are dropped.
fn parts(version: &str) -> Vec<Part> {
    let class = |c: char| match c {
        '.' => 0,
        _ if crate::text::case::is_decimal(c) => 1,
        'a'..='z' => 2,
        _ => 3,
    };
    let mut parts = Vec::new();
    let mut rest = version;
    while let Some(first) = rest.chars().next() {
        let kind = class(first);
        let end = rest.find(|c| class(c) != kind).unwrap_or(rest.len());
        let part = &rest[..end];
        match kind {
            0 => {}
            1 => {
                let digits: String = part.chars().map(|c| crate::values::decimal_digit(c).unwrap_or(c)).collect();
                parts.push(Part::Number(digits.trim_start_matches('0').to_owned()));
            }
            _ => parts.push(Part::Word(part.to_owned())),
        }
        rest = &rest[end..];
    }
    parts
}
