//! Semantic versions, as semver.org defines them.

use std::cmp::Ordering;

/// Compares two versions. `None`: one is not a semantic version.
pub(super) fn compare(left: &str, right: &str) -> Option<Ordering> {
    let (left, right) = (Version::new(left)?, Version::new(right)?);
    let core = left.core.cmp(&right.core);
    Some(core.then_with(|| match (left.pre.is_empty(), right.pre.is_empty()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        _ => left.pre.cmp(&right.pre),
    }))
}

/// A part of a pre-release. Numbers are less than words.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The number of digits, and the digits.
    Number(usize, String),
    Word(String),
}

struct Version {
    core: Vec<(usize, String)>,
    pre: Vec<Part>,
}

impl Version {
    fn new(version: &str) -> Option<Self> {
        let version = version.strip_suffix('\n').unwrap_or(version);
        let (version, build) =
            version.split_once('+').map_or((version, None), |(version, build)| (version, Some(build)));
        if build.is_some_and(|build| !build.split('.').all(is_word)) {
            return None;
        }
        let (core, pre) = version.split_once('-').map_or((version, None), |(core, pre)| (core, Some(pre)));
        let core = core.split('.').map(number).collect::<Option<Vec<_>>>().filter(|core| core.len() == 3)?;
        let part = |part: &str| {
            if !is_word(part) {
                return None;
            }
            if part.bytes().all(|byte| byte.is_ascii_digit()) {
                return number(part).map(|(length, digits)| Part::Number(length, digits));
            }
            Some(Part::Word(part.to_owned()))
        };
        let pre = pre.map_or(Some(Vec::new()), |pre| pre.split('.').map(part).collect())?;
        Some(Self { core, pre })
    }
}

fn is_word(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns a number without leading zeros, in a form that compares.
fn number(digits: &str) -> Option<(usize, String)> {
    let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (valid && (digits == "0" || !digits.starts_with('0'))).then(|| (digits.len(), digits.to_owned()))
}
