//! One rule for commands: parsing, formatting and matching.

use std::fmt;
use std::path::{Component, Path};
use std::str::FromStr;

use modbox_vocabulary::quoting::quote;
use serde::{Deserialize, Serialize};

/// A syntax error in a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunRuleError {
    /// No words.
    #[error("the command is empty; expected a program and its arguments, such as `systemctl restart *`")]
    Empty,
    /// A quote is open at the end.
    #[error("a quote is not closed")]
    Quote,
    /// A backslash is the last character.
    #[error("nothing follows the last backslash")]
    Backslash,
    /// A NUL byte, which no argument can hold.
    #[error("the rule contains a NUL byte")]
    Nul,
    /// The program has wildcards.
    #[error("the program must not contain `*` and `?`; quote them if they are part of its name")]
    WildProgram,
    /// The program is neither a name nor a plain absolute path.
    #[error("the program `{0}` must be a name, or an absolute path without `.`, `..` and empty parts")]
    Program(String),
}

/// One character of a word, or a wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Piece {
    /// This character.
    Is(char),
    /// Any one character: `?`.
    One,
    /// Any number of characters: `*`.
    Any,
}

/// A rule that permits commands: a program and patterns for its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRule {
    program: String,
    arguments: Vec<Vec<Piece>>,
    /// Whether any number of further arguments may follow.
    rest: bool,
}

impl RunRule {
    /// Returns the program as written in the rule: a name or an absolute path.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Returns whether the rule covers one command alone.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !self.rest && self.arguments.iter().flatten().all(|piece| matches!(piece, Piece::Is(_)))
    }

    /// Returns whether the rule covers these arguments.
    #[must_use]
    pub fn covers(&self, arguments: &[String]) -> bool {
        let enough =
            if self.rest { arguments.len() >= self.arguments.len() } else { arguments.len() == self.arguments.len() };
        enough && self.arguments.iter().zip(arguments).all(|(word, argument)| matches(word, argument))
    }
}

impl RunRule {
    /// Returns whether the rule covers all arguments that another one does, as far as that can be told: words with
    /// wildcards must be equal.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        let literal = |word: &Vec<Piece>| {
            let letter = |piece: &Piece| if let Piece::Is(letter) = piece { Some(*letter) } else { None };
            word.iter().map(letter).collect::<Option<String>>()
        };
        let count = self.arguments.len();
        let fits = |(own, word): (&Vec<Piece>, &Vec<Piece>)| {
            own == word || literal(word).is_some_and(|word| matches(own, &word))
        };
        let has_room =
            if self.rest { other.arguments.len() >= count } else { other.arguments.len() == count && !other.rest };
        has_room && self.arguments.iter().zip(&other.arguments).all(fits)
    }
}

impl FromStr for RunRule {
    type Err = RunRuleError;

    fn from_str(text: &str) -> Result<Self, RunRuleError> {
        let mut words = split(text)?.into_iter();
        let program = words.next().ok_or(RunRuleError::Empty)?;
        let plain = |piece: Piece| match piece {
            Piece::Is(c) => Ok(c),
            Piece::One | Piece::Any => Err(RunRuleError::WildProgram),
        };
        let program: String = program.into_iter().map(plain).collect::<Result<_, _>>()?;
        if !is_program(&program) {
            return Err(RunRuleError::Program(program));
        }
        let mut arguments: Vec<Vec<Piece>> = words.collect();
        let rest = arguments.last().is_some_and(|word| *word == [Piece::Any]);
        if rest {
            arguments.pop();
        }
        Ok(Self { program, arguments, rest })
    }
}

/// Formats the rule so that parsing the text gives the same rule.
impl fmt::Display for RunRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quote(&self.program))?;
        for word in &self.arguments {
            write!(f, " {}", quote_word(word))?;
        }
        f.write_str(if self.rest { " *" } else { "" })
    }
}

fn is_program(program: &str) -> bool {
    if !program.contains('/') {
        return !matches!(program, "" | "." | "..");
    }
    let path = Path::new(program);
    // `components` normalises the path. If the result differs, the path was not plain.
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    path.is_absolute()
        && plain
        && path.components().collect::<std::path::PathBuf>().as_os_str() == program
        && program.len() > 1
}

/// Splits a text into words like Python's `shlex.split`, and keeps track of quoted wildcards.
fn split(text: &str) -> Result<Vec<Vec<Piece>>, RunRuleError> {
    if text.contains('\0') {
        return Err(RunRuleError::Nul);
    }
    let mut words = Vec::new();
    // `Some` as soon as a word begins, so that a pair of quotes is an empty word.
    let mut word: Option<Vec<Piece>> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\'' => single_quoted(&mut chars, word.get_or_insert_default())?,
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(Piece::Is(chars.next().ok_or(RunRuleError::Backslash)?)),
            '*' => word.get_or_insert_default().push(Piece::Any),
            '?' => word.get_or_insert_default().push(Piece::One),
            plain => word.get_or_insert_default().push(Piece::Is(plain)),
        }
    }
    words.extend(word);
    Ok(words)
}

fn single_quoted(chars: &mut impl Iterator<Item = char>, word: &mut Vec<Piece>) -> Result<(), RunRuleError> {
    for c in chars {
        match c {
            '\'' => return Ok(()),
            plain => word.push(Piece::Is(plain)),
        }
    }
    Err(RunRuleError::Quote)
}

fn double_quoted(chars: &mut impl Iterator<Item = char>, word: &mut Vec<Piece>) -> Result<(), RunRuleError> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => match chars.next() {
                None => return Err(RunRuleError::Backslash),
                Some(escaped @ ('"' | '\\')) => word.push(Piece::Is(escaped)),
                Some(other) => word.extend([Piece::Is('\\'), Piece::Is(other)]),
            },
            plain => word.push(Piece::Is(plain)),
        }
    }
    Err(RunRuleError::Quote)
}

/// Returns whether a word matches an argument. On a mismatch it goes back only to the last `*`, so the time is at most
/// proportional to the product of both lengths.
fn matches(word: &[Piece], argument: &str) -> bool {
    let text: Vec<char> = argument.chars().collect();
    let (mut at, mut next) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while next < text.len() {
        match word.get(at) {
            Some(Piece::Any) => {
                star = Some((at, next));
                at += 1;
            }
            Some(Piece::One) => (at, next) = (at + 1, next + 1),
            Some(Piece::Is(c)) if *c == text[next] => (at, next) = (at + 1, next + 1),
            _ => match star {
                Some((wild, taken)) => {
                    (at, next) = (wild + 1, taken + 1);
                    star = Some((wild, taken + 1));
                }
                None => return false,
            },
        }
    }
    word[at..].iter().all(|piece| *piece == Piece::Any)
}

/// Formats a word. Quotes its plain characters where necessary.
fn quote_word(word: &[Piece]) -> String {
    if word.is_empty() {
        return quote("");
    }
    let (mut text, mut plain) = (String::new(), String::new());
    let flush = |plain: &mut String, text: &mut String| {
        if !plain.is_empty() {
            text.push_str(&quote(plain));
            plain.clear();
        }
    };
    for piece in word {
        match piece {
            Piece::Is(c) => plain.push(*c),
            wild => {
                flush(&mut plain, &mut text);
                text.push(if *wild == Piece::Any { '*' } else { '?' });
            }
        }
    }
    flush(&mut plain, &mut text);
    // The caller handles a bare `*` at the end: it means further arguments.
    text
}
