//! The parser of rules for outside commands.
//!
//! Blanks separate words. Single quotes, double quotes and backslashes keep characters together and take away their special
//! meaning. The special characters are `( ) { } | < > * ?`; a rule cannot have the last two unquoted.

use std::str::FromStr;

use crate::outside::error::{OutsideRuleError, OutsideRuleProblem as Problem};
use crate::outside::forms;
use crate::outside::kinds::Kind;
use crate::outside::rule::{Group, Item, OutsideRule, RuleProgram, RuleWord, SCRIPTS};

/// Maximum length of a rule, in bytes. A list of ten thousand words has half of it.
pub(crate) const MAX_RULE: usize = 256 << 10;

type Parsed<T> = Result<T, OutsideRuleError>;

impl FromStr for OutsideRule {
    type Err = OutsideRuleError;

    fn from_str(text: &str) -> Parsed<Self> {
        if text.len() > MAX_RULE {
            return Err(OutsideRuleError { position: 1, problem: Problem::Long(MAX_RULE) });
        }
        let mut parser = Parser { characters: text.chars().collect(), at: 0 };
        parser.skip_blanks();
        let program = parser.program()?;
        let mut items = Vec::new();
        loop {
            parser.skip_blanks();
            if parser.peek().is_none() {
                return Ok(Self { program, items });
            }
            items.push(parser.item()?);
        }
    }
}

impl TryFrom<String> for OutsideRule {
    type Error = OutsideRuleError;

    fn try_from(text: String) -> Parsed<Self> {
        text.parse()
    }
}

/// A word as written, and whether `…` follows it.
struct Written {
    word: RuleWord,
    is_repeated: bool,
}

struct Parser {
    characters: Vec<char>,
    at: usize,
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn wrong<T>(&self, at: usize, problem: Problem) -> Parsed<T> {
        Err(OutsideRuleError { position: at + 1, problem })
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    fn program(&mut self) -> Parsed<RuleProgram> {
        let start = self.at;
        match self.peek() {
            None => return self.wrong(start, Problem::Empty),
            Some('(' | '{') => return self.wrong(start, Problem::OpenProgram),
            Some(_) => {}
        }
        let Written { word: RuleWord { before, kind, after }, is_repeated } = self.word()?;
        self.check_end_of_word()?;
        let scripts = before.strip_suffix('/');
        match kind {
            None if is_program(&before) => Ok(RuleProgram::Named(before)),
            None => self.wrong(start, Problem::Program(before)),
            Some(Kind::Unit) if scripts == Some(SCRIPTS) && after.is_empty() && !is_repeated => Ok(RuleProgram::Script),
            Some(_) => self.wrong(start, Problem::OpenProgram),
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        match self.peek() {
            Some('(') => Ok(Item::One(self.group(')')?)),
            Some('{') => Ok(Item::Any(self.group('}')?)),
            _ => {
                let Written { word, is_repeated } = self.word()?;
                self.check_end_of_word()?;
                Ok(match word.kind {
                    Some(kind) if is_repeated => Item::Repeated(kind),
                    _ => Item::Word(word),
                })
            }
        }
    }

    /// Refuses a bracket or a bar at the end of a word that is in no group.
    fn check_end_of_word(&self) -> Parsed<()> {
        match self.peek() {
            Some('(' | '{') => self.wrong(self.at, Problem::Touching),
            Some(close @ (')' | '}')) => self.wrong(self.at, Problem::CloseGroup(close)),
            Some('|') => self.wrong(self.at, Problem::Bar),
            _ => Ok(()),
        }
    }

    fn group(&mut self, close: char) -> Parsed<Group> {
        let start = self.at;
        self.at += 1;
        let (mut alternatives, mut words) = (Vec::new(), Vec::new());
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return self.wrong(start, Problem::OpenGroup(close)),
                Some('(' | '{') => return self.wrong(self.at, Problem::Nested),
                Some(end @ ('|' | ')' | '}')) => {
                    if end != '|' && end != close {
                        return self.wrong(self.at, Problem::CloseGroup(end));
                    }
                    if words.is_empty() {
                        return self.wrong(self.at, Problem::EmptyAlternative);
                    }
                    alternatives.push(std::mem::take(&mut words));
                    self.at += 1;
                    if end == close {
                        break;
                    }
                }
                Some(_) => {
                    let word = self.at;
                    let Written { word: found, is_repeated } = self.word()?;
                    if is_repeated {
                        return self.wrong(word, Problem::Repetition);
                    }
                    if let Some('(' | '{') = self.peek() {
                        return self.wrong(self.at, Problem::Touching);
                    }
                    words.push(found);
                }
            }
        }
        match self.peek() {
            Some(next) if !is_blank(next) => self.wrong(self.at, Problem::Touching),
            _ => Ok(Group::new(alternatives)),
        }
    }

    /// Reads a word, to a blank or a special character that ends it.
    fn word(&mut self) -> Parsed<Written> {
        let mut word = RuleWord::default();
        let start = self.at;
        while let Some(character) = self.peek() {
            match character {
                blank if is_blank(blank) => break,
                '(' | ')' | '{' | '}' | '|' => break,
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '\\' => {
                    self.at += 1;
                    let Some(escaped) = self.peek() else { return self.wrong(self.at - 1, Problem::Backslash) };
                    self.push(&mut word, escaped)?;
                }
                wildcard @ ('*' | '?') => return self.wrong(self.at, Problem::Wildcard(wildcard)),
                '>' => return self.wrong(self.at, Problem::CloseKind),
                '<' => {
                    self.kind(&mut word)?;
                    if let Some(length) = self.repetition() {
                        return self.repeated(word, start, length);
                    }
                }
                plain => self.push(&mut word, plain)?,
            }
        }
        if start == self.at {
            // A bar or a closing bracket begins the word.
            self.check_end_of_word()?;
        }
        Ok(Written { word, is_repeated: false })
    }

    /// Adds a character, and passes it.
    fn push(&mut self, word: &mut RuleWord, character: char) -> Parsed<()> {
        if !forms::is_printable(character.encode_utf8(&mut [0; 4])) {
            return self.wrong(self.at, Problem::Control(character));
        }
        let text = if word.kind.is_none() { &mut word.before } else { &mut word.after };
        text.push(character);
        self.at += 1;
        Ok(())
    }

    fn single_quoted(&mut self, word: &mut RuleWord) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return self.wrong(start, Problem::Quote),
                Some('\'') => break,
                Some(plain) => self.push(word, plain)?,
            }
        }
        self.at += 1;
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut RuleWord) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return self.wrong(start, Problem::Quote),
                Some('"') => break,
                Some('\\') if matches!(self.characters.get(self.at + 1), Some('"' | '\\')) => {
                    self.at += 1;
                    self.push(word, self.characters[self.at])?;
                }
                Some(plain) => self.push(word, plain)?,
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads `<kind>`.
    fn kind(&mut self, word: &mut RuleWord) -> Parsed<()> {
        let start = self.at;
        let rest = &self.characters[start + 1..];
        let is_end = |character: &char| is_blank(*character) || "<>(){}|'\"\\".contains(*character);
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        if rest.get(length) != Some(&'>') {
            return self.wrong(start, Problem::OpenKind);
        }
        let name: String = rest[..length].iter().collect();
        if word.kind.is_some() {
            return self.wrong(start, Problem::SecondKind);
        }
        match name.parse() {
            Ok(kind) => word.kind = Some(kind),
            Err(()) => {
                // Only as much of it as a line can show.
                return self.wrong(start, Problem::UnknownKind(name.chars().take(40).collect()));
            }
        }
        self.at = start + length + 2;
        Ok(())
    }

    /// Returns the length of `…` or `...` at this place.
    fn repetition(&self) -> Option<usize> {
        match &self.characters[self.at..] {
            ['…', ..] => Some(1),
            ['.', '.', '.', ..] => Some(3),
            _ => None,
        }
    }

    fn repeated(&mut self, word: RuleWord, start: usize, length: usize) -> Parsed<Written> {
        let after = self.characters.get(self.at + length).copied();
        let is_end = after.is_none_or(|character| is_blank(character) || "(){}|".contains(character));
        // A quoted empty text before it would be lost.
        if !is_end || !word.before.is_empty() || self.characters[start] != '<' {
            return self.wrong(self.at, Problem::Repetition);
        }
        self.at += length;
        Ok(Written { word, is_repeated: true })
    }
}

fn is_program(program: &str) -> bool {
    match program.contains('/') {
        true => forms::is_path(program),
        false => !matches!(program, "" | "." | "..") && !program.starts_with('-'),
    }
}
