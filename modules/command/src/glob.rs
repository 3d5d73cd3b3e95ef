//! Whether there is anything at a path with wildcards, by the rules of Python's `glob.glob`: `*`, `?` and `[…]` within a name, names
//! with a leading dot only where the pattern has it, too.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Returns whether a pattern finds anything, from `base` on if it is relative.
pub(crate) fn finds(base: &Path, pattern: &str) -> bool {
    let path = base.join(pattern);
    if !has_wildcards(pattern) {
        // A link that leads nowhere is there, too, unless the path says that it is to be a directory.
        return if pattern.ends_with('/') { path.is_dir() } else { path.symlink_metadata().is_ok() };
    }
    let mut found = vec![PathBuf::from(base)];
    for component in Path::new(pattern).components() {
        found = match component {
            Component::Normal(name) if name.to_str().is_some_and(has_wildcards) => {
                let pattern: Vec<char> = name.to_str().unwrap_or_default().chars().collect();
                found.iter().flat_map(|directory| matching(directory, &pattern)).collect()
            }
            plain => found.iter().map(|directory| directory.join(plain)).collect(),
        };
        found.retain(|path| path.as_os_str().is_empty() || path.symlink_metadata().is_ok());
    }
    found.iter().any(|path| !pattern.ends_with('/') || path.is_dir())
}

fn has_wildcards(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

fn matching(directory: &Path, pattern: &[char]) -> Vec<PathBuf> {
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let Ok(entries) = fs::read_dir(listed) else { return Vec::new() };
    let fits = |name: &str| {
        let hidden = name.starts_with('.') && pattern.first() != Some(&'.');
        !hidden && matches(pattern, &name.chars().collect::<Vec<_>>())
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| fits(name)).map(|name| directory.join(name)).collect()
}

/// Whether a name fits a pattern; it goes back to the last `*` alone.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut next) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while next < name.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, next));
            at += 1;
            continue;
        }
        match one(&pattern[at..], name[next]) {
            Some(length) => (at, next) = (at + length, next + 1),
            None => match star {
                Some((wild, taken)) => {
                    (at, next) = (wild + 1, taken + 1);
                    star = Some((wild, taken + 1));
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// How much of a pattern one character takes, if it fits.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match class(pattern) {
            Some((members, negated, length)) => (contains(members, c) != negated).then_some(length),
            None => (c == '[').then_some(1),
        },
        plain => (*plain == c).then_some(1),
    }
}

/// What stands in brackets, whether it is what must not be there, and how long all of it is.
fn class(pattern: &[char]) -> Option<(&[char], bool, usize)> {
    let negated = pattern.get(1) == Some(&'!');
    let start = 1 + usize::from(negated);
    // A bracket that comes first belongs to it.
    let from = start + usize::from(pattern.get(start) == Some(&']'));
    let end = (from..pattern.len()).find(|index| pattern[*index] == ']')?;
    Some((&pattern[start..end], negated, end + 1))
}

fn contains(members: &[char], c: char) -> bool {
    let mut rest = members;
    loop {
        rest = match rest {
            [low, '-', high, more @ ..] => {
                if (*low..=*high).contains(&c) {
                    return true;
                }
                more
            }
            [member, more @ ..] => {
                if *member == c {
                    return true;
                }
                more
            }
            [] => return false,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_as_in_python() {
        for (pattern, name, expect) in [
            ("*", "a", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[ab]x", "bx", true),
            ("[!ab]x", "bx", false),
            ("[!ab]x", "cx", true),
            ("[a-c]", "b", true),
            ("[]]", "]", true),
            ("[a", "[a", true),
            ("a**b", "ab", true),
        ] {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(matches(&chars(pattern), &chars(name)), expect, "{pattern} {name}");
        }
    }
}
