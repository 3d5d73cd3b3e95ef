//! Patterns as Python's `re` has them on bytes.
//!
//! The engine works on text, so each byte goes in as the character of that number, and the pattern is
//! rewritten to classes of such characters; see `translate.rs`.

use fancy_regex::{Regex, RegexBuilder};
use modbox_sdk::Failure;

use crate::translate::{Translated, translate};

/// How much a pattern may backtrack: enough for every honest line, an end for the others.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// A compiled pattern.
pub(crate) struct Pattern {
    regex: Regex,
    names: Vec<(String, usize)>,
}

/// What a pattern matched.
pub(crate) struct Match {
    groups: Vec<Vec<u8>>,
    names: Vec<(String, usize)>,
}

impl Match {
    /// The bytes of a group, empty if it took no part; `None` if there is no such group.
    pub(crate) fn group(&self, number: usize) -> Option<&[u8]> {
        self.groups.get(number).map(Vec::as_slice)
    }

    /// The number of a named group.
    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, index)| *index)
    }
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn new(pattern: &str) -> Result<Self, Failure> {
        let bad = |why: &dyn std::fmt::Display| {
            Failure::new(format!("failed to read the regular expression `{pattern}`: {why}"))
        };
        let Translated { text, names } = translate(pattern.as_bytes()).map_err(|why| bad(&why))?;
        let regex = RegexBuilder::new(&text).backtrack_limit(BACKTRACK_LIMIT).build().map_err(|error| bad(&error))?;
        Ok(Self { regex, names })
    }

    /// Searches a line.
    ///
    /// # Errors
    ///
    /// A pattern that tries too many ways.
    pub(crate) fn search(&self, line: &[u8]) -> Result<Option<Match>, Failure> {
        let text: String = line.iter().map(|byte| char::from(*byte)).collect();
        let Some(captures) = self.regex.captures(&text)? else { return Ok(None) };
        let group = |index| captures.get(index).map_or_else(Vec::new, |group| bytes(group.as_str()));
        let groups = (0..captures.len()).map(group).collect();
        Ok(Some(Match { groups, names: self.names.clone() }))
    }
}

/// Back from characters to the bytes that they stand for.
fn bytes(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).expect("every character was a byte")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, line: &str, expect: Option<&str>) {
        let found = Pattern::new(pattern).unwrap().search(line.as_bytes()).unwrap();
        let found = found.map(|found| String::from_utf8_lossy(found.group(0).unwrap()).into_owned());
        assert_eq!(found.as_deref(), expect, "for {pattern} on {line:?}");
    }

    #[test]
    fn matches_as_python_does() {
        check("^foo$", "foo\n", Some("foo"));
        check(r"^foo\Z", "foo\n", None);
        check(r"\b(?:é)?(?i:FOO)\b", "a foo\n", Some("foo"));
        check("(?i)[a-c]+É", "ABCÉ", Some("ABCÉ"));
        check("(?i)é", "É", None);
        check("caf.{2}", "café!", Some("café"));
        check(r"(?P<q>['\x22]).*?(?P=q)", "x='a\"b' '", Some("'a\"b'"));
        check(r"(?<!#)port\s+\d{2,}", "#port 22\nport 8080", Some("port 8080"));
        check(r"a{,2}b{x}", "aab{x}", Some("aab{x}"));
        check("[]a[]+", "x]a[", Some("]a["));
        check(r"[^\W\d_]+", "1_ab2", Some("ab"));
        check(r"(a)?(?(1)b|c)", "ab", Some("ab"));
        check(r"[\d\-.]+/&&", "1-2.3/&&", Some("1-2.3/&&"));
        check("a(?#comment)b # c", "ab # c", Some("ab # c"));
        check(r"(?x) a b # c", "ab", Some("ab"));
        check(".", "\n", None);
    }

    #[test]
    fn refuses_what_python_refuses() {
        for pattern in ["(", ")", "[a", "*a", "a**", r"\q", "(?P<1>a)", "(?P=no)", "a{3,2}", "(?<=a+)b", r"\1", "[b-a]"]
        {
            assert!(Pattern::new(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn bounds_backtracking() {
        let pattern = Pattern::new(r"(a|a)*\1c").unwrap();
        assert!(pattern.search("a".repeat(60).as_bytes()).is_err());
    }
}
