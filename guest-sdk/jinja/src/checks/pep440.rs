//! Versions of Python packages, as PEP 440 defines them.

use std::cmp::Ordering;
use std::sync::LazyLock;

use modbox_python_re::{Flags, Match, Pattern, Subject};

const VERSION: &str = concat!(
    r"(?i)^\s*v?(?:(?:(?P<epoch>[0-9]+)!)?(?P<release>[0-9]+(?:\.[0-9]+)*)",
    r"(?P<pre>[-_.]?(?P<pre_l>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>[0-9]+)?)?",
    r"(?P<post>-(?P<post_n1>[0-9]+)|[-_.]?(?P<post_l>post|rev|r)[-_.]?(?P<post_n2>[0-9]+)?)?",
    r"(?P<dev>[-_.]?(?P<dev_l>dev)[-_.]?(?P<dev_n>[0-9]+)?)?)",
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*\Z",
);

/// A number in a form that compares: its length without leading zeros, and its digits.
type Digits = (usize, String);

/// A part of the local version. Words are less than numbers.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Word(String),
    Number(Digits),
}

/// A version in the order of its parts.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    epoch: Digits,
    release: Vec<Digits>,
    /// Whether it is only a development release, a pre-release, or neither; then the pre-release.
    pre: (u8, String, Digits),
    post: Option<Digits>,
    /// Whether it is not a development release; then its number.
    dev: (bool, Digits),
    local: Option<Vec<Part>>,
}

/// Compares two versions. `None`: one is not a version.
pub(super) fn compare(left: &str, right: &str) -> Option<Ordering> {
    Some(parse(left)?.cmp(&parse(right)?))
}

fn digits(text: &str) -> Digits {
    let text = text.trim_start_matches('0');
    (text.len(), text.to_owned())
}

fn parse(version: &str) -> Option<Version> {
    static PATTERN: LazyLock<Pattern> =
        LazyLock::new(|| Pattern::new(VERSION, Subject::Bytes, Flags::default()).expect("the expression is constant"));
    let found = PATTERN.search(version.as_bytes()).ok()??;
    Some(version_of(|name| group(&PATTERN, &found, name)))
}

fn group(pattern: &Pattern, found: &Match, name: &str) -> Option<String> {
    let bytes = found.group(pattern.index_of(name)?)?;
    Some(String::from_utf8_lossy(bytes).to_lowercase())
}

fn version_of(group: impl Fn(&str) -> Option<String>) -> Version {
    let number = |name: &str| digits(&group(name).unwrap_or_default());
    let mut release: Vec<Digits> = group("release").unwrap_or_default().split('.').map(digits).collect();
    while release.last().is_some_and(|last| last.0 == 0) {
        release.pop();
    }
    let post = group("post").map(|_| if group("post_n1").is_some() { number("post_n1") } else { number("post_n2") });
    let is_dev = group("dev").is_some();
    let pre = match group("pre_l") {
        Some(word) => {
            let word = match word.as_str() {
                "alpha" | "a" => "a",
                "beta" | "b" => "b",
                _ => "rc",
            };
            (1, word.to_owned(), number("pre_n"))
        }
        None if post.is_none() && is_dev => (0, String::new(), digits("")),
        None => (2, String::new(), digits("")),
    };
    let part = |part: &str| {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            Part::Number(digits(part))
        } else {
            Part::Word(part.to_owned())
        }
    };
    let local = group("local").map(|local| local.split(['-', '_', '.']).map(part).collect());
    Version { epoch: number("epoch"), release, pre, post, dev: (!is_dev, number("dev_n")), local }
}
