//! Python's patterns, on bytes and on text.
//!
//! The engine works on text, so bytes are passed as characters, and the pattern is rewritten to classes of such
//! characters; see `translate.rs`. Callers of this file pass and get bytes.

use std::fmt;
use std::sync::OnceLock;

use fancy_regex::{Captures, Regex, RegexBuilder};

use crate::class::Subject;
use crate::flags::Flags;
use crate::translate::{Translated, translate};

/// How much a pattern may backtrack. Ordinary lines need far less.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// The first of the characters for bytes that are not UTF-8, for which Python uses lone surrogates.
const NO_TEXT: u32 = 0x10_FF00;

/// A mistake in a pattern or a template, in Python's words where it has some, or a search that took too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError(String);

impl PatternError {
    pub(crate) fn new(message: String) -> Self {
        Self(message)
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for PatternError {}

impl From<fancy_regex::Error> for PatternError {
    fn from(error: fancy_regex::Error) -> Self {
        Self(error.to_string())
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    /// The translated pattern, of which the others are made.
    text: String,
    /// The pattern from the start of a text, and for a whole text.
    anchored: [OnceLock<Regex>; 2],
    /// The pattern with a match that is not empty, to continue after an empty match.
    advancing: OnceLock<Regex>,
    names: Vec<(String, usize)>,
    groups: usize,
    subject: Subject,
    flags: Flags,
}

/// A match of a pattern.
#[derive(Debug, Clone)]
pub struct Match {
    groups: Vec<Option<Vec<u8>>>,
    spans: Vec<Option<(usize, usize)>>,
}

impl Match {
    /// Returns the bytes of a group, or `None` if it did not take part or does not exist.
    #[must_use]
    pub fn group(&self, number: usize) -> Option<&[u8]> {
        self.groups.get(number)?.as_deref()
    }

    /// Returns start and end of a group, in bytes.
    #[must_use]
    pub fn span(&self, number: usize) -> Option<(usize, usize)> {
        *self.spans.get(number)?
    }
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// The pattern is wrong.
    pub fn new(pattern: &str, subject: Subject, flags: Flags) -> Result<Self, PatternError> {
        let Translated { text, names, groups, flags } = translate(pattern, subject, flags).map_err(PatternError)?;
        Ok(Self {
            regex: compile(&text)?,
            text,
            anchored: Default::default(),
            advancing: OnceLock::new(),
            names,
            groups,
            subject,
            flags,
        })
    }

    /// Returns the flags of the whole pattern.
    #[must_use]
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// Returns the number of a named group.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, index)| *index)
    }

    /// Returns the number of groups, without the whole match.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Returns the kind of text that the pattern is for.
    #[must_use]
    pub fn subject(&self) -> Subject {
        self.subject
    }

    /// Searches for the first match.
    ///
    /// # Errors
    ///
    /// The pattern backtracks too much, or the text contains characters that stand for bytes that are not text.
    pub fn search(&self, contents: &[u8]) -> Result<Option<Match>, PatternError> {
        let text = self.encode(contents)?;
        Ok(self.regex.captures(text.as_str())?.map(|captures| self.matched(&text, &captures)))
    }

    /// Returns whether the text matches from its start, and with `whole` up to its end: `re.match` and `re.fullmatch`.
    ///
    /// # Errors
    ///
    /// Those of [`Pattern::search`].
    pub fn matches_start(&self, contents: &[u8], whole: bool) -> Result<bool, PatternError> {
        let end = if whole { r"\z" } else { "" };
        let anchored = once(&self.anchored[usize::from(whole)], || format!(r"\A(?:{}){end}", self.text))?;
        Ok(anchored.is_match(&self.encode(contents)?)?)
    }

    pub(crate) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Returns the pattern that does not match an empty text at the start of the search.
    pub(crate) fn advancing(&self) -> Result<&Regex, PatternError> {
        once(&self.advancing, || format!(r"(?:{})(?!\G)", self.text))
    }

    pub(crate) fn matched(&self, text: &str, captures: &Captures<'_, str>) -> Match {
        let length = |text: &str| self.decode(text).len();
        let span = |group: fancy_regex::Match<'_>| {
            let start = length(&text[..group.start()]);
            (start, start + length(group.as_str()))
        };
        let spans = (0..=self.groups).map(|index| captures.get(index).map(span)).collect();
        Match { spans, ..self.groups_of(captures) }
    }

    /// Returns the groups without their positions: counting the characters before each of many matches would take too
    /// long.
    pub(crate) fn groups_of(&self, captures: &Captures<'_, str>) -> Match {
        let groups = (0..=self.groups).map(|index| Some(self.decode(captures.get(index)?.as_str()))).collect();
        Match { groups, spans: Vec::new() }
    }

    /// Converts bytes to the characters for the engine.
    pub(crate) fn encode(&self, contents: &[u8]) -> Result<String, PatternError> {
        if self.subject == Subject::Bytes {
            return Ok(contents.iter().map(|byte| char::from(*byte)).collect());
        }
        let mut text = String::with_capacity(contents.len());
        for chunk in contents.utf8_chunks() {
            if chunk.valid().chars().any(|c| u32::from(c) >= NO_TEXT) {
                return Err(PatternError(format!("the text has a private character beyond U+{NO_TEXT:X}")));
            }
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(NO_TEXT + u32::from(*byte))));
        }
        Ok(text)
    }

    /// Converts characters back to bytes.
    pub(crate) fn decode(&self, text: &str) -> Vec<u8> {
        if self.subject == Subject::Bytes {
            return text.chars().map(|c| u8::try_from(u32::from(c)).expect("every character was a byte")).collect();
        }
        let mut bytes = Vec::with_capacity(text.len());
        for c in text.chars() {
            match u32::from(c).checked_sub(NO_TEXT).and_then(|number| u8::try_from(number).ok()) {
                Some(byte) => bytes.push(byte),
                None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        bytes
    }
}

/// Compiles a pattern when it is first needed.
fn once(cell: &OnceLock<Regex>, text: impl FnOnce() -> String) -> Result<&Regex, PatternError> {
    if let Some(known) = cell.get() {
        return Ok(known);
    }
    let compiled = compile(&text())?;
    Ok(cell.get_or_init(|| compiled))
}

fn compile(text: &str) -> fancy_regex::Result<Regex> {
    RegexBuilder::new(text).backtrack_limit(BACKTRACK_LIMIT).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(pattern: &str) -> Result<Pattern, PatternError> {
        Pattern::new(pattern, Subject::Bytes, Flags::default())
    }

    #[track_caller]
    fn check(pattern: &str, line: &str, expect: Option<&str>) {
        let found = bytes(pattern).unwrap().search(line.as_bytes()).unwrap();
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
    fn text_has_the_classes_of_unicode() {
        for (pattern, text, expect) in [
            (r"^\w+$", "caf\u{e9}", Some("caf\u{e9}")),
            ("(?i)\u{c9}", "\u{e9}", Some("\u{e9}")),
            (r"\d+", "\u{663}7", Some("\u{663}7")),
            (r"(?a)\d+", "\u{663}7", Some("7")),
            (r"^.\s$", "\u{fc}\u{a0}", Some("\u{fc}\u{a0}")),
            (r"\u00fc", "\u{fc}", Some("\u{fc}")),
        ] {
            let found =
                Pattern::new(pattern, Subject::Text, Flags::default()).unwrap().search(text.as_bytes()).unwrap();
            let found = found.map(|found| String::from_utf8(found.group(0).unwrap().to_vec()).unwrap());
            assert_eq!(found.as_deref(), expect, "for {pattern} on {text:?}");
        }
    }

    #[test]
    fn text_outside_utf_8_keeps_its_bytes() {
        let pattern = Pattern::new("(a.)b", Subject::Text, Flags::default()).unwrap();
        let found = pattern.search(b"\xFFa\xFEb").unwrap().unwrap();
        assert_eq!((found.group(1), found.span(0)), (Some(&b"a\xFE"[..]), Some((1, 4))));
    }

    #[test]
    fn matches_from_the_start() {
        let matches = |pattern: &str, text: &str, whole| bytes(pattern).unwrap().matches_start(text.as_bytes(), whole);
        assert_eq!(matches("b|ab", "abc", false), Ok(true));
        assert_eq!(matches("b", "abc", false), Ok(false));
        assert_eq!(matches("(?m)^b", "a\nb", false), Ok(false));
        assert_eq!(matches("a|ab", "ab", true), Ok(true));
        assert_eq!(matches("a", "ab", true), Ok(false));
    }

    #[test]
    fn refuses_what_python_refuses() {
        for pattern in ["(", ")", "[a", "*a", "a**", r"\q", "(?P<1>a)", "(?P=no)", "a{3,2}", "(?<=a+)b", r"\1", "[b-a]"]
        {
            assert!(bytes(pattern).is_err(), "{pattern}");
        }
        for (pattern, expect) in [
            ("*a", "nothing to repeat at position 0"),
            ("a(?:+b)", "nothing to repeat at position 4"),
            ("^*", "nothing to repeat at position 1"),
            ("a|{2}", "nothing to repeat at position 2"),
            ("a**", "multiple repeat at position 2"),
            ("(?x)a + +", "multiple repeat at position 8"),
        ] {
            assert_eq!(bytes(pattern).map(drop).unwrap_err().to_string(), expect, "{pattern}");
        }
        assert!(bytes("(a*)*b{2}{x}c?+d*?").is_ok());
    }

    #[test]
    fn bounds_backtracking() {
        let pattern = bytes(r"(a|a)*\1c").unwrap();
        assert!(pattern.search("a".repeat(60).as_bytes()).is_err());
    }
}
