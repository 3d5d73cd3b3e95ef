//! From characters to tokens: indentation, keys, and the signs of collections.

use std::collections::VecDeque;

use super::block_scalar::scan_block_scalar;
use super::directive::scan_directive;
use super::error::{Scanned, SyntaxError};
use super::mark::Mark;
use super::plain::scan_plain;
use super::property::{scan_anchor, scan_tag};
use super::quoted::scan_quoted;
use super::reader::Reader;
use super::simple_key::{SimpleKey, SimpleKeys};
use super::token::{Token, TokenKind};

/// Characters that cannot begin a plain scalar, or only sometimes.
const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`";

#[derive(Debug)]
pub(super) struct Scanner<'a> {
    reader: Reader<'a>,
    is_ended: bool,
    /// Tokens that were read and not taken.
    tokens: VecDeque<Token>,
    /// How many tokens were taken.
    taken: usize,
    /// How many flow collections are open.
    flow_level: usize,
    /// The indentation of the block collections around the innermost one.
    indents: Vec<i64>,
    /// The indentation of the innermost block collection; -1 outside of all.
    indent: i64,
    is_key_allowed: bool,
    keys: SimpleKeys,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            reader: Reader::new(text),
            is_ended: false,
            tokens: VecDeque::new(),
            taken: 0,
            flow_level: 0,
            indents: Vec::new(),
            indent: -1,
            is_key_allowed: true,
            keys: SimpleKeys::new(),
        }
    }

    /// Returns the next token, which is the end of the stream for ever behind the last one.
    pub(super) fn peek(&mut self) -> Scanned<&mut Token> {
        while !self.is_ended {
            if !self.tokens.is_empty() {
                self.keys.remove_stale(self.reader.mark())?;
                if !self.keys.has(self.taken) {
                    break;
                }
            }
            self.fetch()?;
        }
        if self.tokens.is_empty() {
            self.tokens.push_back(Token::implied(TokenKind::StreamEnd, self.reader.mark()));
        }
        Ok(&mut self.tokens[0])
    }

    /// Drops the token that was looked at.
    pub(super) fn skip(&mut self) {
        self.tokens.pop_front();
        self.taken += 1;
    }

    /// Reads one token, and those that it implies.
    fn fetch(&mut self) -> Scanned<()> {
        self.skip_to_token();
        self.keys.remove_stale(self.reader.mark())?;
        self.unroll_indent(self.reader.mark().indent());
        let Some(next) = self.reader.peek() else { return self.fetch_end() };
        if self.reader.mark().column == 0 && next == '%' {
            self.leave_blocks()?;
            let token = scan_directive(&mut self.reader)?;
            self.tokens.push_back(token);
            return Ok(());
        }
        if self.reader.is_document_indicator() {
            self.leave_blocks()?;
            self.push_sign(if next == '-' { TokenKind::DocumentStart } else { TokenKind::DocumentEnd }, 3);
            return Ok(());
        }
        self.fetch_by(next)
    }

    fn fetch_by(&mut self, next: char) -> Scanned<()> {
        let (is_flow, is_word) = (self.flow_level > 0, !self.reader.is_space_or_end_behind(1));
        match next {
            '[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            '{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            ']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            '}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            ',' => {
                self.keys.remove(self.reader.mark())?;
                self.is_key_allowed = true;
                self.push_sign(TokenKind::FlowEntry, 1);
                Ok(())
            }
            '-' if !is_word => self.fetch_block_entry(),
            '?' if is_flow || !is_word => self.fetch_key(),
            ':' if is_flow || !is_word => self.fetch_value(),
            '*' | '&' => self.fetch_node(|scanner| scan_anchor(&mut scanner.reader)),
            '!' => self.fetch_node(|scanner| scan_tag(&mut scanner.reader, scanner.flow_level > 0)),
            '|' | '>' if !is_flow => {
                self.keys.remove(self.reader.mark())?;
                self.is_key_allowed = true;
                let token = scan_block_scalar(&mut self.reader, self.indent, next == '|')?;
                self.tokens.push_back(token);
                Ok(())
            }
            '\'' | '"' => self.fetch_node(|scanner| scan_quoted(&mut scanner.reader, next)),
            _ if self.is_plain(next) => self.fetch_plain(),
            _ => SyntaxError::bare("found character that cannot start any token", self.reader.mark()),
        }
    }

    /// Says whether the next character begins a plain scalar.
    fn is_plain(&self, next: char) -> bool {
        match next {
            '-' => !matches!(self.reader.peek_behind(1), Some(' ' | '\t')),
            '?' | ':' => self.flow_level == 0 && !self.reader.is_space_or_end_behind(1),
            next => !self.reader.is_space_or_end() && !INDICATORS.contains(next),
        }
    }

    /// Skips white space and comments. A tab may stand where a key may not.
    fn skip_to_token(&mut self) {
        loop {
            if self.reader.mark().column == 0 && self.reader.is('\u{feff}') {
                self.reader.take();
            }
            while self.reader.is(' ') || (self.flow_level > 0 || !self.is_key_allowed) && self.reader.is('\t') {
                self.reader.take();
            }
            self.reader.skip_comment();
            if self.reader.take_break().is_none() {
                return;
            }
            if self.flow_level == 0 {
                self.is_key_allowed = true;
            }
        }
    }

    fn fetch_end(&mut self) -> Scanned<()> {
        self.leave_blocks()?;
        self.tokens.push_back(Token::implied(TokenKind::StreamEnd, self.end()));
        self.is_ended = true;
        Ok(())
    }

    /// Returns the place of the end of the text: the start of a line, even if the last one has no line break.
    fn end(&self) -> Mark {
        match self.reader.mark() {
            mark if self.reader.is_at_end() && mark.column > 0 => Mark { line: mark.line + 1, column: 0, ..mark },
            mark => mark,
        }
    }

    /// Ends all blocks, before what can only stand between documents.
    fn leave_blocks(&mut self) -> Scanned<()> {
        self.unroll_indent(-1);
        self.keys.remove(self.end())?;
        self.is_key_allowed = false;
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind) -> Scanned<()> {
        self.save_key()?;
        self.keys.open();
        self.flow_level += 1;
        self.is_key_allowed = true;
        self.push_sign(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind) -> Scanned<()> {
        self.keys.remove(self.reader.mark())?;
        self.keys.close();
        self.flow_level = self.flow_level.saturating_sub(1);
        self.is_key_allowed = false;
        self.push_sign(kind, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Scanned<()> {
        let problem = "block sequence entries are not allowed in this context";
        self.begin_block(TokenKind::BlockSequenceStart, problem)?;
        self.keys.remove(self.reader.mark())?;
        self.is_key_allowed = true;
        self.push_sign(TokenKind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Scanned<()> {
        self.begin_block(TokenKind::BlockMappingStart, "mapping keys are not allowed in this context")?;
        self.keys.remove(self.reader.mark())?;
        self.is_key_allowed = self.flow_level == 0;
        self.push_sign(TokenKind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Scanned<()> {
        if let Some(SimpleKey { token, mark, .. }) = self.keys.take() {
            self.insert(token, Token::implied(TokenKind::Key, mark));
            self.roll_indent(mark, Some(token), TokenKind::BlockMappingStart);
            self.is_key_allowed = false;
        } else {
            self.begin_block(TokenKind::BlockMappingStart, "mapping values are not allowed in this context")?;
            self.is_key_allowed = self.flow_level == 0;
        }
        self.push_sign(TokenKind::Value, 1);
        Ok(())
    }

    /// Reads a token that may be a key.
    fn fetch_node(&mut self, scan: impl FnOnce(&mut Self) -> Scanned<Token>) -> Scanned<()> {
        self.save_key()?;
        self.is_key_allowed = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_plain(&mut self) -> Scanned<()> {
        self.save_key()?;
        self.is_key_allowed = false;
        let (token, is_broken) = scan_plain(&mut self.reader, self.indent, self.flow_level > 0)?;
        self.is_key_allowed = is_broken;
        self.tokens.push_back(token);
        Ok(())
    }

    /// Remembers that the next token may be a key.
    fn save_key(&mut self) -> Scanned<()> {
        if self.is_key_allowed {
            let mark = self.reader.mark();
            let is_required = self.flow_level == 0 && self.indent == mark.indent();
            self.keys.remove(mark)?;
            self.keys.set(SimpleKey { is_required, token: self.taken + self.tokens.len(), mark });
        }
        Ok(())
    }

    /// Begins a block collection for a sign, if it is indented more than the innermost one.
    fn begin_block(&mut self, kind: TokenKind, problem: &'static str) -> Scanned<()> {
        let here = self.reader.mark();
        if self.flow_level == 0 && !self.is_key_allowed {
            return SyntaxError::bare(problem, here);
        }
        self.roll_indent(here, None, kind);
        Ok(())
    }

    /// Begins a block collection at a place, and before a token, unless it is not indented more.
    fn roll_indent(&mut self, mark: Mark, before: Option<usize>, kind: TokenKind) {
        if self.flow_level == 0 && self.indent < mark.indent() {
            self.indents.push(self.indent);
            self.indent = mark.indent();
            let number = before.unwrap_or(self.taken + self.tokens.len());
            self.insert(number, Token::implied(kind, mark));
        }
    }

    /// Ends the block collections that are indented more than a column.
    fn unroll_indent(&mut self, column: i64) {
        while self.flow_level == 0 && self.indent > column {
            self.tokens.push_back(Token::implied(TokenKind::BlockEnd, self.end()));
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    /// Puts a token before the one with a number over the whole text.
    fn insert(&mut self, number: usize, token: Token) {
        let at = number.saturating_sub(self.taken).min(self.tokens.len());
        self.tokens.insert(at, token);
    }

    /// Takes a sign of so many characters as a token.
    fn push_sign(&mut self, kind: TokenKind, width: usize) {
        let start = self.reader.mark();
        self.reader.skip(width);
        self.tokens.push_back(Token { kind, start, end: self.reader.mark() });
    }
}
