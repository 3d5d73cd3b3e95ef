//! Why a text could not be read: what was found, where, and what to write instead.

use std::fmt;

use crate::advice::advice;
use crate::limits::{MAX_DEPTH, MAX_DOCUMENTS, MAX_EXPANDED_SIZE, MAX_NODES, MAX_TEXT};
use crate::position::Position;

/// How much of a line [`YamlError::snippet`] shows, in characters.
const SNIPPET: usize = 160;

/// Why a text could not be read.
#[derive(Debug, thiserror::Error)]
#[error("failed to read `{}`: {}{}", .0.position, .0.problem, Remedy(.0.remedy.as_deref()))]
pub struct YamlError(Box<Details>);

#[derive(Debug)]
struct Details {
    position: Position,
    problem: Problem,
    remedy: Option<String>,
    line: Option<String>,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text is not YAML.
    #[error("{problem}{}", Context(*.context))]
    Syntax {
        /// What the scanner or the parser found.
        problem: &'static str,
        /// What it was doing, and the line where that began.
        context: Option<(&'static str, u32)>,
    },
    /// A character that YAML does not allow.
    #[error("control character U+{0:04X}")]
    ControlCharacter(u32),
    /// The text is longer than [`MAX_TEXT`].
    #[error("the text is longer than {MAX_TEXT} bytes")]
    TooLong,
    /// The text has more nodes than [`MAX_NODES`].
    #[error("the text has more than {MAX_NODES} nodes")]
    TooManyNodes,
    /// Nodes nest deeper than [`MAX_DEPTH`].
    #[error("nodes nest deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The tree is larger than [`MAX_EXPANDED_SIZE`] when aliases are followed.
    #[error("aliases make the tree larger than {MAX_EXPANDED_SIZE} bytes")]
    TooLarge,
    /// A second document begins here.
    #[error("found a second document")]
    SecondDocument,
    /// The text has more documents than [`MAX_DOCUMENTS`].
    #[error("the text has more than {MAX_DOCUMENTS} documents")]
    TooManyDocuments,
    /// The anchor is defined a second time.
    #[error("duplicate anchor `{0}`")]
    DuplicateAnchor(String),
    /// The anchor is not defined above.
    #[error("undefined alias `{0}`")]
    UndefinedAlias(String),
    /// The node contains itself.
    #[error("the node contains itself")]
    Recursion,
    /// The tag is unknown.
    #[error("unknown tag `{0}`")]
    UnknownTag(String),
    /// The scalar does not fit its type.
    #[error("invalid {kind} `{text}`")]
    InvalidScalar {
        /// The type.
        kind: &'static str,
        /// The scalar, shortened.
        text: String,
    },
    /// The node is of another kind than its tag or its place needs.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What is needed.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A mapping or a sequence is the key of a mapping.
    #[error("{0} cannot be the key of a mapping")]
    InvalidKey(&'static str),
    /// Text with arguments has a quote or a block of a template that does not end.
    #[error("unbalanced quotes or template blocks in `{0}`")]
    Unbalanced(String),
    /// Text with arguments has an escape sequence without a character.
    #[error("invalid escape sequence `{0}`")]
    InvalidEscape(String),
    /// Encrypted text cannot be used.
    #[error("the value is encrypted with Ansible Vault, which is not supported")]
    Encrypted,
}

impl YamlError {
    /// Describes a problem of a node whose text is not at hand.
    pub(crate) fn new(position: &Position, problem: Problem) -> Self {
        let remedy = remedy(&problem).map(str::to_owned);
        Self(Box::new(Details { position: position.clone(), problem, remedy, line: None }))
    }

    /// Describes a problem in a text, with the line, and with advice if the line shows a common mistake.
    pub(crate) fn in_text(mut position: Position, problem: Problem, text: &str) -> Self {
        let line = line_of(text, position.line);
        let given = match &problem {
            Problem::Syntax { problem, .. } => advice(&line, position.column, problem),
            Problem::InvalidKey(_) => advice(&line, position.column, ""),
            _ => None,
        };
        if let Some(column) = given.as_ref().and_then(|advice| advice.column) {
            position.column = column;
        }
        let remedy = given.map(|advice| advice.text).or_else(|| remedy(&problem).map(str::to_owned));
        Self(Box::new(Details { position, problem, remedy, line: Some(line) }))
    }

    /// Returns the place of the mistake.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.0.position
    }

    /// Returns what is wrong.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// Returns what is wrong and what to write instead, without the position.
    #[must_use]
    pub fn explanation(&self) -> String {
        format!("{}{}", self.0.problem, Remedy(self.remedy()))
    }

    /// Returns what to write instead, if that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<&str> {
        self.0.remedy.as_deref()
    }

    /// Returns the line with a caret below the place of the mistake; `None` if the text was not at hand.
    #[must_use]
    pub fn snippet(&self) -> Option<String> {
        let line = self.0.line.as_deref()?;
        let column = usize::try_from(self.0.position.column).unwrap_or(usize::MAX).saturating_sub(1);
        let skipped = if column < SNIPPET { 0 } else { column - SNIPPET / 2 };
        let shown: String = line.chars().skip(skipped).take(SNIPPET).map(visible).collect();
        let number = self.0.position.line.to_string();
        let (gutter, indent) = (" ".repeat(number.len()), " ".repeat(column - skipped));
        Some(format!("{number} | {shown}\n{gutter} | {indent}^"))
    }
}

/// Returns a character with the width of one column.
fn visible(character: char) -> char {
    match character {
        '\t' => ' ',
        character if character.is_control() => '\u{fffd}',
        character => character,
    }
}

/// Returns a line by its number, as YAML counts lines.
fn line_of(text: &str, number: u32) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rest = text;
    for _ in 1..number {
        let Some(end) = rest.find(is_break) else { return String::new() };
        let width =
            if rest[end..].starts_with("\r\n") { 2 } else { rest[end..].chars().next().map_or(0, char::len_utf8) };
        rest = &rest[end + width..];
    }
    rest.split(is_break).next().unwrap_or_default().to_owned()
}

fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns what to do about a problem, whatever the line looks like.
fn remedy(problem: &Problem) -> Option<&'static str> {
    match problem {
        Problem::ControlCharacter(_) => Some("write it as an escape sequence in double quotes"),
        Problem::SecondDocument => Some("put each document into a file of its own"),
        Problem::DuplicateAnchor(_) => Some("give each anchor its own name"),
        Problem::UndefinedAlias(_) => Some("define the anchor above, or quote a value that begins with `*`"),
        Problem::UnknownTag(_) => Some("quote a value that begins with `!`"),
        Problem::TooLong | Problem::TooManyNodes | Problem::TooLarge | Problem::TooDeep => {
            Some("split the file, or read the data with a lookup")
        }
        Problem::Encrypted => Some("decrypt it first, for example with `ansible-vault`"),
        Problem::InvalidScalar { kind: "scalar", .. } => Some("quote the value"),
        Problem::InvalidScalar { .. } => Some("quote the value if it is text"),
        Problem::InvalidKey(_) => Some("use text as the key"),
        Problem::Unbalanced(_) => Some("close each quote, `{{` and `{%`, or write the arguments as a mapping"),
        _ => None,
    }
}

/// The part of a message after the semicolon.
struct Remedy<'a>(Option<&'a str>);

impl fmt::Display for Remedy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

/// The part of a message that says what the scanner was doing.
struct Context(Option<(&'static str, u32)>);

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |(doing, line)| write!(f, " {doing} that begins in line {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, (line, column): (u32, u32), snippet: &str) {
        let position = Position { file: "x".into(), line, column };
        let error = YamlError::in_text(position, Problem::Recursion, text);
        assert_eq!(error.snippet().as_deref(), Some(snippet));
    }

    #[test]
    fn a_snippet_points_at_the_column() {
        check("a: b\nc: d\n", (2, 4), "2 | c: d\n  |    ^");
        check("a\r\n\tb", (2, 2), "2 |  b\n  |  ^");
        check("a", (9, 1), "9 | \n  | ^");
        let long = "x".repeat(1000);
        check(&long, (1, 500), &format!("1 | {}\n  | {}^", "x".repeat(160), " ".repeat(80)));
    }

    #[test]
    fn a_message_has_place_cause_and_remedy() {
        let position = Position { file: "play.yml".into(), line: 3, column: 5 };
        let error = YamlError::new(&position, Problem::UnknownTag("!x".to_owned()));
        let wanted = "failed to read `play.yml:3:5`: unknown tag `!x`; quote a value that begins with `!`";
        assert_eq!(error.to_string(), wanted);
    }
}
