//! Changes the lines: bytes in, bytes out.
//!
//! The newline is part of a line; the last line may lack it. When lines are compared, a carriage return before the
//! newline counts as part of the line end. It is lost when a line is replaced.

use modbox_python_re::{Match, Pattern, Template};
use modbox_sdk::Failure;

/// How to find the line to replace or remove.
pub(crate) enum Finder<'a> {
    /// The line matches a pattern.
    Pattern(Box<Pattern>),
    /// The line contains a text.
    Text(&'a [u8]),
    /// The line is equal to this one.
    Line(&'a [u8]),
}

/// The place of a new line.
pub(crate) enum Place {
    Beginning,
    End,
    After(Pattern),
    Before(Pattern),
}

/// A line to insert.
pub(crate) struct Edit<'a> {
    /// The line without its end.
    pub(crate) line: &'a [u8],
    pub(crate) finder: Finder<'a>,
    /// The line as a template, which the finder's match fills.
    pub(crate) template: Option<Template>,
    pub(crate) place: Place,
    /// Whether the first match counts, instead of the last.
    pub(crate) first_match: bool,
}

type Lines<'a> = Vec<&'a [u8]>;

const ADDED: &str = "line added";
const REPLACED: &str = "line replaced";

impl Finder<'_> {
    fn find(&self, line: &[u8]) -> Result<Option<Option<Match>>, Failure> {
        Ok(match self {
            Self::Pattern(pattern) => pattern.search(line)?.map(Some),
            Self::Text(text) => contains(line, text).then_some(None),
            Self::Line(wanted) => (bare(line) == *wanted).then_some(None),
        })
    }
}

/// Removes the lines that the finder finds, and returns their number.
pub(crate) fn absent(contents: &[u8], finder: &Finder<'_>) -> Result<(Vec<u8>, usize), Failure> {
    let mut kept = Vec::with_capacity(contents.len());
    let mut found = 0;
    for line in contents.split_inclusive(|byte| *byte == b'\n') {
        if finder.find(line)?.is_some() {
            found += 1;
        } else {
            kept.extend_from_slice(line);
        }
    }
    Ok((kept, found))
}

impl Edit<'_> {
    /// Inserts or replaces the line. Returns the contents and, if they changed, what was done.
    pub(crate) fn present(&self, contents: &[u8]) -> Result<(Vec<u8>, Option<&'static str>), Failure> {
        let mut lines: Lines<'_> = contents.split_inclusive(|byte| *byte == b'\n').collect();
        if let Some((index, matched)) = self.found(&lines)? {
            let replacement = self.replacement(matched.as_ref());
            if lines[index] == replacement {
                return Ok((contents.to_vec(), None));
            }
            lines[index] = &replacement;
            return Ok((lines.concat(), Some(REPLACED)));
        }
        if self.template.is_some() {
            return Ok((contents.to_vec(), None));
        }
        self.insert(&lines)
    }

    /// Returns the line to replace: the finder's match or, without a match, the line itself.
    fn found(&self, lines: &Lines<'_>) -> Result<Option<(usize, Option<Match>)>, Failure> {
        let mut found = None;
        for (index, line) in lines.iter().enumerate() {
            if let Some(matched) = self.finder.find(line)? {
                found = Some((index, matched));
                if self.first_match {
                    break;
                }
            }
        }
        let exact = || lines.iter().rposition(|line| bare(line) == self.line).map(|index| (index, None));
        Ok(found.or_else(exact))
    }

    fn replacement(&self, matched: Option<&Match>) -> Vec<u8> {
        let mut line = match (&self.template, matched) {
            (Some(template), Some(matched)) => template.expand(matched),
            _ => self.line.to_vec(),
        };
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        line
    }

    fn insert(&self, lines: &Lines<'_>) -> Result<(Vec<u8>, Option<&'static str>), Failure> {
        let line = [self.line, b"\n"].concat();
        let mut lines = lines.clone();
        let index = match &self.place {
            Place::Beginning => Some(0),
            Place::End => None,
            Place::After(pattern) => self.place_of(pattern, &lines)?.map(|index| index + 1),
            Place::Before(pattern) => self.place_of(pattern, &lines)?,
        };
        let unended = lines.last().is_some_and(|last| !last.ends_with(b"\n") && !last.ends_with(b"\r"));
        let index = index.unwrap_or(lines.len());
        if index == lines.len() && unended {
            lines.push(b"\n");
            lines.push(&line);
        } else {
            lines.insert(index, &line);
        }
        Ok((lines.concat(), Some(ADDED)))
    }

    fn place_of(&self, pattern: &Pattern, lines: &Lines<'_>) -> Result<Option<usize>, Failure> {
        let mut place = None;
        for (index, line) in lines.iter().enumerate() {
            if pattern.search(line)?.is_some() {
                place = Some(index);
                if self.first_match {
                    break;
                }
            }
        }
        Ok(place)
    }
}

/// Returns a line without its end.
fn bare(line: &[u8]) -> &[u8] {
    let length = line.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
    &line[..length]
}

fn contains(line: &[u8], text: &[u8]) -> bool {
    text.is_empty() || line.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use modbox_python_re::{Flags, Subject};

    use super::*;

    fn pattern(pattern: &str) -> Pattern {
        Pattern::new(pattern, Subject::Bytes, Flags::default()).unwrap()
    }

    #[track_caller]
    fn check(contents: &str, line: &str, regexp: Option<&str>, place: Place, expect: (&str, Option<&str>)) {
        let finder = match regexp {
            Some(regexp) => Finder::Pattern(Box::new(pattern(regexp))),
            None => Finder::Line(line.as_bytes()),
        };
        let edit = Edit { line: line.as_bytes(), finder, template: None, place, first_match: false };
        let (after, message) = edit.present(contents.as_bytes()).unwrap();
        assert_eq!((String::from_utf8(after).unwrap().as_str(), message), expect);
    }

    #[test]
    fn replaces_the_last_match() {
        check("a=1\na=2\n", "a=3", Some("^a="), Place::End, ("a=1\na=3\n", Some(REPLACED)));
        check("a=3\n", "a=3", Some("^a="), Place::End, ("a=3\n", None));
        check("x\ny", "y", None, Place::End, ("x\ny\n", Some(REPLACED)));
    }

    #[test]
    fn inserts_where_told() {
        check("a\nb\n", "c", None, Place::End, ("a\nb\nc\n", Some(ADDED)));
        check("a\nb", "c", None, Place::End, ("a\nb\nc\n", Some(ADDED)));
        check("a\nb\n", "c", None, Place::Beginning, ("c\na\nb\n", Some(ADDED)));
        check("a\nb\n", "c", None, Place::After(pattern("a")), ("a\nc\nb\n", Some(ADDED)));
        check("a\nb\n", "c", None, Place::Before(pattern("b")), ("a\nc\nb\n", Some(ADDED)));
        check("a\nb\n", "c", None, Place::Before(pattern("z")), ("a\nb\nc\n", Some(ADDED)));
    }
}
