//! Patterns of names: `*` stands for any characters, also none, and `?` for one.

use std::convert::Infallible;
use std::fmt::{self, Write as _};
use std::str::FromStr;

/// A pattern of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern(Vec<char>);

impl FromStr for NamePattern {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|character| f.write_char(*character))
    }
}

impl NamePattern {
    /// Returns the pattern of a text. Every text is one.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.chars().collect())
    }

    /// Returns whether the whole name fits. Takes time in proportion to the product of both lengths at most.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (&self.0, name.chars().collect::<Vec<char>>());
        let (mut at, mut read) = (0, 0);
        // The place after the last `*`, and how much of the name that `*` stands for ends where.
        let mut star: Option<(usize, usize)> = None;
        while read < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    at += 1;
                    star = Some((at, read));
                }
                Some(wanted) if *wanted == '?' || *wanted == name[read] => {
                    at += 1;
                    read += 1;
                }
                _ => {
                    let Some((after, end)) = star else { return false };
                    at = after;
                    read = end + 1;
                    star = Some((after, read));
                }
            }
        }
        pattern[at..].iter().all(|rest| *rest == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        let matches = |pattern: &str, name: &str| pattern.parse::<NamePattern>().unwrap().matches(name);
        for (pattern, name) in [("", ""), ("*", ""), ("ping", "ping"), ("*.p?ng", "a.b.ping"), ("a*b*c", "axxbxbxc")] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("", "x"), ("ping", "pings"), ("?", ""), ("a*b", "axc"), ("*.ping", "ping"), ("é", "e")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        assert!(!matches(&"a*".repeat(40), &("a".repeat(39) + "b")));
    }
}
