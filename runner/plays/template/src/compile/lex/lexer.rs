//! From text to tokens, as the lexer of Jinja 3.1 does it, with its control of white space.
//!
//! A token is made when it is asked for, so that the first fault of a text is the one that is told. Where tags begin is
//! in `openings.rs`, and how long a number or a literal is in `numbers.rs` and `literal.rs`.

use minijinja::Value;
use modbox_jinja::values::repr;

use super::blanks::{after_blanks, is_blank};
use super::literal::closing_quote;
use super::numbers;
use super::openings::{Opening, Openings, Place};
use super::tokens::{SYMBOLS, Token, TokenKind};
use crate::compile::syntax::{Form, Syntax, SyntaxFailure};
use crate::options::TemplateOptions;

/// Where the next character is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Outside,
    /// In `{{ }}`.
    Variable,
    /// In `{% %}`.
    Block,
    /// In a line that is a statement.
    Line,
    Comment,
    LineComment,
    /// Behind `{% raw %}`.
    Raw,
}

/// A text that is being read.
#[derive(Debug)]
pub(in crate::compile) struct Lexer<'t> {
    text: &'t str,
    options: &'t TemplateOptions,
    openings: Openings<'t>,
    state: State,
    /// The next byte.
    at: usize,
    /// The line of the next byte, from 1.
    line: u32,
    /// The token behind the one that was returned last, if that is known.
    next: Option<Token<'t>>,
    /// What closes the brackets that are open in a tag.
    brackets: Vec<char>,
    /// Whether the part before the next byte ended a line.
    is_line_start: bool,
    /// The line of the last token.
    last_line: u32,
}

type Lexed<T> = Result<T, SyntaxFailure>;

impl<'t> Lexer<'t> {
    /// Begins a text whose line ends are `\n`.
    pub(in crate::compile) fn new(text: &'t str, syntax: &'t Syntax) -> Self {
        let state = if syntax.form == Form::Template { State::Outside } else { State::Variable };
        Self {
            text,
            options: &syntax.options,
            openings: Openings::new(&syntax.options),
            state,
            at: 0,
            line: 1,
            next: None,
            brackets: Vec::new(),
            is_line_start: true,
            last_line: 1,
        }
    }

    /// Returns the next token.
    ///
    /// # Errors
    ///
    /// No token begins like this, a bracket closes none, or a comment or a raw block does not end.
    pub(in crate::compile) fn token(&mut self) -> Lexed<Token<'t>> {
        loop {
            let found = match self.next.take() {
                Some(token) => Some(token),
                None => self.part()?,
            };
            if let Some(token) = found {
                self.last_line = token.line;
                return Ok(token);
            }
        }
    }

    /// Reads a part of the text, which may be a blank or a comment.
    fn part(&mut self) -> Lexed<Option<Token<'t>>> {
        if self.at >= self.text.len() && self.state != State::Line {
            return Ok(Some(Token { kind: TokenKind::End, line: self.last_line, at: self.text.len() }));
        }
        match self.state {
            State::Outside => Ok(self.outside()),
            State::Variable | State::Block | State::Line => self.inside(),
            State::Comment => self.comment().map(|()| None),
            State::LineComment => {
                let end = self.text[self.at..].find('\n').map_or(self.text.len(), |end| self.at + end);
                self.advance(end);
                self.state = State::Outside;
                Ok(None)
            }
            State::Raw => self.raw(),
        }
    }

    fn advance(&mut self, to: usize) {
        let passed = &self.text[self.at..to];
        let lines = passed.bytes().filter(|byte| *byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.is_line_start = passed.ends_with('\n');
        self.at = to;
    }

    /// Makes the token that ends at a byte.
    fn take(&mut self, kind: TokenKind<'t>, end: usize) -> Token<'t> {
        let token = Token { kind, line: self.line, at: self.at };
        self.advance(end);
        token
    }

    fn failure(&self, message: impl Into<String>) -> SyntaxFailure {
        SyntaxFailure::new(message, self.line)
    }

    /// Reads text up to the next tag or comment, and that one's beginning.
    fn outside(&mut self) -> Option<Token<'t>> {
        let Some(places) = self.openings.next(self.text, self.at) else {
            let rest = &self.text[self.at..];
            return Some(self.take(TokenKind::Text(rest), self.text.len()));
        };
        let raw = places.iter().find(|place| place.opening == Opening::Block).and_then(|place| self.raw_tag(place));
        let opening = places[0].opening;
        let (end, sign) = raw.unwrap_or_else(|| {
            let sign = sign_at(self.text, places[0].end);
            (places[0].end + sign.map_or(0, char::len_utf8), sign)
        });
        let (start, before) = (self.at, &self.text[self.at..places[0].at]);
        let kept = self.before_tag(before, sign, opening == Opening::Variable && raw.is_none());
        let token = Token { kind: TokenKind::Text(kept), line: self.line, at: start };
        self.advance(places[0].at);
        self.begin(opening, raw.is_some());
        let begin = match self.state {
            State::Variable => Some(TokenKind::VariableBegin),
            State::Block | State::Line => Some(TokenKind::BlockBegin),
            _ => None,
        };
        self.next = begin.map(|kind| Token { kind, line: self.line, at: self.at });
        self.advance(end);
        if kept.is_empty() { self.next.take() } else { Some(token) }
    }

    fn begin(&mut self, opening: Opening, is_raw: bool) {
        self.state = match opening {
            _ if is_raw => State::Raw,
            Opening::Block => State::Block,
            Opening::Comment => State::Comment,
            Opening::LineComment => State::LineComment,
            Opening::LineStatement => State::Line,
            Opening::Variable => State::Variable,
        };
    }

    /// Returns the end of `{% raw %}` and the sign at its beginning, if a block is that. The line end behind it stays.
    fn raw_tag(&self, place: &Place) -> Option<(usize, Option<char>)> {
        let (text, block_end) = (self.text, &self.options.block_end);
        let sign = sign_at(text, place.end);
        let word = after_blanks(text, place.end + sign.map_or(0, char::len_utf8));
        let end = after_blanks(text, word + text[word..].starts_with("raw").then_some(3)?);
        let rest = &text[end..];
        if let Some(rest) = rest.strip_prefix('-').and_then(|rest| rest.strip_prefix(block_end.as_str())) {
            return Some((after_blanks(text, text.len() - rest.len()), sign));
        }
        rest.strip_prefix(block_end.as_str()).map(|rest| (text.len() - rest.len(), sign))
    }

    /// Returns what stays of the text before a tag.
    fn before_tag(&self, text: &'t str, sign: Option<char>, is_variable: bool) -> &'t str {
        match sign {
            Some('-') => text.trim_end_matches(is_blank),
            None if self.options.lstrip_blocks && !is_variable => {
                let start = text.rfind('\n').map_or(0, |end| end + 1);
                let is_indent = start < text.len() && text[start..].chars().all(is_blank);
                if is_indent && (start > 0 || self.is_line_start) { &text[..start] } else { text }
            }
            _ => text,
        }
    }

    /// Returns the byte after what a tag removes behind its end.
    fn after_tag(&self, end: usize, sign: Option<char>) -> usize {
        match sign {
            Some('-') => after_blanks(self.text, end),
            None if self.options.trim_blocks && self.text[end..].starts_with('\n') => end + 1,
            _ => end,
        }
    }

    fn comment(&mut self) -> Lexed<()> {
        let rest = &self.text[self.at..];
        let found = rest.find(&self.options.comment_end);
        let found = found.ok_or_else(|| self.failure("Missing end of comment tag"))?;
        let sign = rest[..found].chars().next_back().filter(|sign| matches!(sign, '-' | '+'));
        let end = self.after_tag(self.at + found + self.options.comment_end.len(), sign);
        self.advance(end);
        self.state = State::Outside;
        Ok(())
    }

    /// Reads up to the end of `{% endraw %}`.
    fn raw(&mut self) -> Lexed<Option<Token<'t>>> {
        let mut from = self.at;
        loop {
            let found = self.text[from..].find(&self.options.block_start);
            let tag = from + found.ok_or_else(|| self.failure("Missing end of raw directive"))?;
            from = tag + self.options.block_start.len();
            let Some((end, sign)) = self.end_of_raw(from) else { continue };
            let kept = self.before_tag(&self.text[self.at..tag], sign, false);
            let token = self.take(TokenKind::Text(kept), end);
            self.state = State::Outside;
            return Ok((!kept.is_empty()).then_some(token));
        }
    }

    /// Returns the end of `{% endraw %}` and the sign at its beginning, if a block that begins before a byte is that.
    fn end_of_raw(&self, from: usize) -> Option<(usize, Option<char>)> {
        let text = self.text;
        let sign = sign_at(text, from);
        let word = after_blanks(text, from + sign.map_or(0, char::len_utf8));
        let end = after_blanks(text, word + text[word..].starts_with("endraw").then_some(6)?);
        self.end_of_block(end).map(|end| (end, sign))
    }

    /// Returns the byte after the end of a block and what that removes, if the end is at a byte.
    fn end_of_block(&self, at: usize) -> Option<usize> {
        let sign = sign_at(self.text, at);
        let end = |at: usize| self.text[at..].starts_with(&self.options.block_end).then_some(at);
        let (start, sign) = match sign.and_then(|_| end(at + 1)) {
            Some(start) => (start, sign),
            None => (end(at)?, None),
        };
        Some(self.after_tag(start + self.options.block_end.len(), sign))
    }

    /// Returns the byte after the end of `{{ }}` and what that removes, if the end is at the next byte.
    fn end_of_variable(&self) -> Option<usize> {
        let (rest, written) = (&self.text[self.at..], self.options.variable_end.as_str());
        if rest.strip_prefix('-').is_some_and(|rest| rest.starts_with(written)) {
            return Some(after_blanks(self.text, self.at + 1 + written.len()));
        }
        rest.starts_with(written).then(|| self.at + written.len())
    }

    /// Returns the byte after the end of a line that is a statement, if only blanks are before it.
    fn end_of_line(&self) -> Option<usize> {
        let end = after_blanks(self.text, self.at);
        match self.text[self.at..end].rfind('\n') {
            _ if end == self.text.len() => Some(end),
            last => last.map(|last| self.at + last + 1),
        }
    }

    /// Reads a token in a tag. While a bracket is open, the tag does not end.
    fn inside(&mut self) -> Lexed<Option<Token<'t>>> {
        if self.brackets.is_empty() {
            let (end, kind) = match self.state {
                State::Variable => (self.end_of_variable(), TokenKind::VariableEnd),
                State::Block => (self.end_of_block(self.at), TokenKind::BlockEnd),
                _ => (self.end_of_line(), TokenKind::BlockEnd),
            };
            if let Some(end) = end {
                self.state = State::Outside;
                return Ok(Some(self.take(kind, end)));
            }
        }
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else {
            // A line that is a statement ends with an open bracket.
            self.state = State::Outside;
            return Ok(None);
        };
        if is_blank(first) {
            self.advance(after_blanks(self.text, self.at));
            return Ok(None);
        }
        self.word(rest, first).map(Some)
    }

    fn word(&mut self, rest: &'t str, first: char) -> Lexed<Token<'t>> {
        if first.is_ascii_digit() {
            let (length, is_float) = numbers::length(rest, self.text[..self.at].ends_with('.'));
            let written = &rest[..length];
            let kind = if is_float { TokenKind::Float(written) } else { TokenKind::Integer(written) };
            return Ok(self.take(kind, self.at + length));
        }
        if is_of_name(first) {
            let length = rest.len() - rest.trim_start_matches(is_of_name).len();
            let name = &rest[..length];
            if !is_identifier(name) {
                return Err(self.failure("Invalid character in identifier"));
            }
            return Ok(self.take(TokenKind::Name(name), self.at + length));
        }
        if matches!(first, '"' | '\'') {
            if let Some(end) = closing_quote(rest, 0) {
                return Ok(self.take(TokenKind::Literal(&rest[1..end]), self.at + end + 1));
            }
        } else if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            self.balance(first)?;
            return Ok(self.take(TokenKind::Symbol(symbol), self.at + symbol.len()));
        }
        let position = self.text[..self.at].chars().count();
        let shown = repr(&Value::from(String::from(first))).unwrap_or_default();
        Err(self.failure(format!("unexpected char {shown} at {position}")))
    }

    fn balance(&mut self, bracket: char) -> Lexed<()> {
        match bracket {
            '(' => self.brackets.push(')'),
            '[' => self.brackets.push(']'),
            '{' => self.brackets.push('}'),
            ')' | ']' | '}' => match self.brackets.pop() {
                Some(expected) if expected == bracket => {}
                Some(expected) => {
                    return Err(self.failure(format!("unexpected '{bracket}', expected '{expected}'")));
                }
                None => return Err(self.failure(format!("unexpected '{bracket}'"))),
            },
            _ => {}
        }
        Ok(())
    }
}

/// Returns the sign of white space at a byte.
fn sign_at(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next().filter(|sign| matches!(sign, '-' | '+'))
}

/// Joiners and dots that Unicode counts among the characters of names since 15.1, which is newer than Jinja's own table:
/// Jinja 3.1, `_identifier.py`.
const NEWER: [char; 4] = ['\u{200c}', '\u{200d}', '\u{30fb}', '\u{ff65}'];

/// Says whether a name may have a character, or looks as if it did.
fn is_of_name(c: char) -> bool {
    if c.is_ascii() {
        return c == '_' || c.is_ascii_alphanumeric();
    }
    c.is_alphanumeric() || (unicode_ident::is_xid_continue(c) && !NEWER.contains(&c))
}

/// Says whether Python takes a text for a name: `str.isidentifier`.
fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    let is_first = |c: char| c == '_' || unicode_ident::is_xid_start(c);
    characters.next().is_some_and(is_first) && characters.all(unicode_ident::is_xid_continue)
}

#[cfg(test)]
#[path = "lexer_tests.rs"]
mod tests;
