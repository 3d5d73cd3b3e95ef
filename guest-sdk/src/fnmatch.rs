//! Shell patterns for names: Python's `fnmatchcase`.

/// Returns whether a name fits a pattern: `*` is any characters, `?` any one, `[…]` one of these, `[!…]` any other.
///
/// Only the last `*` is tried again, so the time is at most the product of both lengths.
#[must_use]
pub fn fnmatch(pattern: &str, name: &str) -> bool {
    let chars = |text: &str| text.chars().collect::<Vec<_>>();
    fits(&chars(pattern), &chars(name))
}

fn fits(pattern: &[char], name: &[char]) -> bool {
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

/// Returns the length of the pattern's first part, if the character fits it.
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

/// Returns the characters in brackets, whether they are excluded, and the length of the whole class.
fn class(pattern: &[char]) -> Option<(&[char], bool, usize)> {
    let negated = pattern.get(1) == Some(&'!');
    let start = 1 + usize::from(negated);
    // A bracket in first place is part of the class.
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
            assert_eq!(fnmatch(pattern, name), expect, "{pattern} {name}");
        }
    }
}
