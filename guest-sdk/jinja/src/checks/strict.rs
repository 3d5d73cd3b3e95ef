//! Strict versions: two or three numbers, and a pre-release such as `a1`.

use std::cmp::Ordering;

type Version = ([u128; 3], Option<(char, u128)>);

/// Compares two versions. `None`: one is not a strict version.
pub(super) fn compare(left: &str, right: &str) -> Option<Ordering> {
    let (left, right) = (parse(left)?, parse(right)?);
    let release = left.0.cmp(&right.0);
    Some(release.then_with(|| match (left.1, right.1) {
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (left, right) => left.cmp(&right),
    }))
}

fn parse(version: &str) -> Option<Version> {
    let version = version.strip_suffix('\n').unwrap_or(version);
    let (release, pre) = match version.find(['a', 'b']) {
        Some(at) => (&version[..at], Some((version[at..].chars().next()?, number(&version[at + 1..])?))),
        None => (version, None),
    };
    let mut numbers = [0; 3];
    let parts: Vec<&str> = release.split('.').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    for (number_of, part) in numbers.iter_mut().zip(parts) {
        *number_of = number(part)?;
    }
    Some((numbers, pre))
}

fn number(digits: &str) -> Option<u128> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}
