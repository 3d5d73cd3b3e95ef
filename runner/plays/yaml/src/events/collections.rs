//! The entries of sequences and mappings: the parser's states within collections.

use super::error::Scanned;
use super::event::{Event, Properties};
use super::mark::Mark;
use super::parser::{Allowed, Parser, State, Step};
use super::token::{Token, TokenKind};

impl Parser<'_> {
    pub(super) fn block_sequence_entry(&mut self) -> Step {
        let Token { kind, start, end } = self.scanner.peek()?;
        let (start, end) = (*start, *end);
        match kind {
            TokenKind::BlockEntry => {
                let behind = &[TokenKind::BlockEntry, TokenKind::BlockEnd];
                self.entry(State::BlockSequenceEntry, end, behind, Allowed::Block)
            }
            TokenKind::BlockEnd => Ok(self.end(start)),
            _ => self.unexpected("while parsing a block collection", "did not find expected '-' indicator", start),
        }
    }

    pub(super) fn indentless_sequence_entry(&mut self) -> Step {
        let Token { kind, start, end } = self.scanner.peek()?;
        let (start, end) = (*start, *end);
        if *kind == TokenKind::BlockEntry {
            let behind = &[TokenKind::BlockEntry, TokenKind::Key, TokenKind::Value, TokenKind::BlockEnd];
            return self.entry(State::IndentlessSequenceEntry, end, behind, Allowed::Block);
        }
        self.leave();
        Ok((Event::CollectionEnd, start))
    }

    pub(super) fn block_mapping_key(&mut self) -> Step {
        let Token { kind, start, end } = self.scanner.peek()?;
        let (start, end) = (*start, *end);
        match kind {
            TokenKind::Key => {
                let behind = &[TokenKind::Key, TokenKind::Value, TokenKind::BlockEnd];
                self.entry(State::BlockMappingValue, end, behind, Allowed::BlockOrIndentless)
            }
            TokenKind::BlockEnd => Ok(self.end(start)),
            _ => self.unexpected("while parsing a block mapping", "did not find expected key", start),
        }
    }

    pub(super) fn block_mapping_value(&mut self) -> Step {
        let Token { kind, start, end } = self.scanner.peek()?;
        let (start, end) = (*start, *end);
        if *kind != TokenKind::Value {
            return Ok(self.empty(State::BlockMappingKey, start));
        }
        let behind = &[TokenKind::Key, TokenKind::Value, TokenKind::BlockEnd];
        self.entry(State::BlockMappingKey, end, behind, Allowed::BlockOrIndentless)
    }

    pub(super) fn flow_sequence_entry(&mut self, is_first: bool) -> Step {
        if self.scanner.peek()?.kind != TokenKind::FlowSequenceEnd {
            if !is_first {
                self.comma("while parsing a flow sequence", "did not find expected ',' or ']'")?;
            }
            let Token { kind, start, .. } = self.scanner.peek()?;
            if *kind == TokenKind::Key {
                let start = *start;
                self.scanner.skip();
                self.state = State::FlowSequenceEntryMappingKey;
                return Ok((Event::MappingStart(Properties::default()), start));
            }
            if *kind != TokenKind::FlowSequenceEnd {
                self.states.push(State::FlowSequenceEntry);
                return self.node(Allowed::Flow);
            }
        }
        let start = self.scanner.peek()?.start;
        Ok(self.end(start))
    }

    pub(super) fn flow_sequence_entry_mapping_key(&mut self) -> Step {
        let Token { kind, end, .. } = self.scanner.peek()?;
        if matches!(kind, TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
            // libyaml drops the token here, which makes `[? , a]` an error; what it accepts is the same.
            let mark = *end;
            self.scanner.skip();
            return Ok(self.empty(State::FlowSequenceEntryMappingValue, mark));
        }
        self.states.push(State::FlowSequenceEntryMappingValue);
        self.node(Allowed::Flow)
    }

    pub(super) fn flow_mapping_key(&mut self, is_first: bool) -> Step {
        if self.scanner.peek()?.kind != TokenKind::FlowMappingEnd {
            if !is_first {
                self.comma("while parsing a flow mapping", "did not find expected ',' or '}'")?;
            }
            let kind = &self.scanner.peek()?.kind;
            if *kind == TokenKind::Key {
                self.scanner.skip();
                let Token { kind, start, .. } = self.scanner.peek()?;
                if matches!(kind, TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                    let mark = *start;
                    return Ok(self.empty(State::FlowMappingValue, mark));
                }
                self.states.push(State::FlowMappingValue);
                return self.node(Allowed::Flow);
            }
            if *kind != TokenKind::FlowMappingEnd {
                self.states.push(State::FlowMappingEmptyValue);
                return self.node(Allowed::Flow);
            }
        }
        let start = self.scanner.peek()?.start;
        Ok(self.end(start))
    }

    /// Reads the value behind a colon in a flow collection, if there is one; `state` is what comes behind it.
    pub(super) fn flow_value(&mut self, state: State, ends: &[TokenKind]) -> Step {
        if self.scanner.peek()?.kind == TokenKind::Value {
            self.scanner.skip();
            if !ends.contains(&self.scanner.peek()?.kind) {
                self.states.push(state);
                return self.node(Allowed::Flow);
            }
        }
        let mark = self.scanner.peek()?.start;
        Ok(self.empty(state, mark))
    }

    /// Takes a sign and reads the node behind it, which is empty if one of these tokens follows.
    fn entry(&mut self, state: State, sign_end: Mark, behind: &[TokenKind], allowed: Allowed) -> Step {
        self.scanner.skip();
        if behind.contains(&self.scanner.peek()?.kind) {
            return Ok(self.empty(state, sign_end));
        }
        self.states.push(state);
        self.node(allowed)
    }

    fn comma(&mut self, doing: &'static str, problem: &'static str) -> Scanned<()> {
        let Token { kind, start, .. } = self.scanner.peek()?;
        let start = *start;
        if *kind != TokenKind::FlowEntry {
            return self.unexpected(doing, problem, start);
        }
        self.scanner.skip();
        Ok(())
    }
}
