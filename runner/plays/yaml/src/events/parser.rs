//! From tokens to events: a state machine, so that depth costs no stack.

use std::collections::HashMap;

use super::error::{Scanned, SyntaxError};
use super::event::{Event, Properties};
use super::mark::Mark;
use super::scanner::Scanner;
use super::token::{Token, TokenKind};

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirstEntry,
    FlowSequenceEntry,
    FlowSequenceEntryMappingKey,
    FlowSequenceEntryMappingValue,
    FlowSequenceEntryMappingEnd,
    FlowMappingFirstKey,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

/// Which nodes may stand at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// Only those of flow collections.
    Flow,
    /// All but sequences without more indentation.
    Block,
    /// All.
    BlockOrIndentless,
}

#[derive(Debug)]
pub(crate) struct Parser<'a> {
    pub(super) scanner: Scanner<'a>,
    pub(super) state: State,
    /// What comes behind the collections that are open.
    pub(super) states: Vec<State>,
    /// Where the collections that are open begin.
    marks: Vec<Mark>,
    /// Prefixes by their handles.
    handles: HashMap<String, String>,
}

pub(super) type Step = Scanned<(Event, Mark)>;

impl<'a> Parser<'a> {
    /// Prepares for a text without forbidden characters.
    pub(crate) fn new(text: &'a str) -> Self {
        let scanner = Scanner::new(text);
        let (states, marks) = (Vec::new(), Vec::new());
        Self { scanner, state: State::ImplicitDocumentStart, states, marks, handles: HashMap::new() }
    }

    /// Returns the next event and where its node begins; `None` at the end of the text.
    pub(crate) fn next(&mut self) -> Scanned<Option<(Event, Mark)>> {
        let step = match self.state {
            State::ImplicitDocumentStart => return self.document_start(true),
            State::DocumentStart => return self.document_start(false),
            State::End => return Ok(None),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(Allowed::Block),
            State::BlockSequenceEntry => self.block_sequence_entry(),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingKey => self.block_mapping_key(),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirstEntry => self.flow_sequence_entry(true),
            State::FlowSequenceEntry => self.flow_sequence_entry(false),
            State::FlowSequenceEntryMappingKey => self.flow_sequence_entry_mapping_key(),
            State::FlowSequenceEntryMappingValue => {
                let end = State::FlowSequenceEntryMappingEnd;
                self.flow_value(end, &[TokenKind::FlowEntry, TokenKind::FlowSequenceEnd])
            }
            State::FlowSequenceEntryMappingEnd => {
                self.state = State::FlowSequenceEntry;
                Ok((Event::CollectionEnd, self.scanner.peek()?.start))
            }
            State::FlowMappingFirstKey => self.flow_mapping_key(true),
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => {
                self.flow_value(State::FlowMappingKey, &[TokenKind::FlowEntry, TokenKind::FlowMappingEnd])
            }
            State::FlowMappingEmptyValue => {
                let mark = self.scanner.peek()?.start;
                Ok(self.empty(State::FlowMappingKey, mark))
            }
        };
        step.map(Some)
    }

    fn document_start(&mut self, is_first: bool) -> Scanned<Option<(Event, Mark)>> {
        while !is_first && self.scanner.peek()?.kind == TokenKind::DocumentEnd {
            self.scanner.skip();
        }
        let Token { kind, start, .. } = self.scanner.peek()?;
        let start = *start;
        let is_explicit = matches!(
            kind,
            TokenKind::VersionDirective { .. } | TokenKind::TagDirective { .. } | TokenKind::DocumentStart
        );
        if *kind == TokenKind::StreamEnd {
            self.state = State::End;
            return Ok(None);
        }
        self.states.push(State::DocumentEnd);
        if is_first && !is_explicit {
            self.default_handles();
            self.state = State::BlockNode;
            return Ok(Some((Event::DocumentStart, start)));
        }
        self.directives()?;
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::DocumentStart {
            return SyntaxError::bare("did not find expected <document start>", token.start);
        }
        self.scanner.skip();
        self.state = State::DocumentContent;
        Ok(Some((Event::DocumentStart, start)))
    }

    fn directives(&mut self) -> Scanned<()> {
        let mut has_version = false;
        loop {
            let Token { kind, start, .. } = self.scanner.peek()?;
            match kind {
                TokenKind::VersionDirective { .. } if has_version => {
                    return SyntaxError::bare("found duplicate %YAML directive", *start);
                }
                TokenKind::VersionDirective { major: 1, minor: 1 | 2 } => has_version = true,
                TokenKind::VersionDirective { .. } => {
                    return SyntaxError::bare("found incompatible YAML document", *start);
                }
                TokenKind::TagDirective { handle, prefix } => {
                    if self.handles.insert(std::mem::take(handle), std::mem::take(prefix)).is_some() {
                        return SyntaxError::bare("found duplicate %TAG directive", *start);
                    }
                }
                _ => break,
            }
            self.scanner.skip();
        }
        self.default_handles();
        Ok(())
    }

    fn default_handles(&mut self) {
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            self.handles.entry(handle.to_owned()).or_insert_with(|| prefix.to_owned());
        }
    }

    fn document_content(&mut self) -> Step {
        let Token { kind, start, .. } = self.scanner.peek()?;
        match kind {
            TokenKind::VersionDirective { .. }
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                let mark = *start;
                let state = self.states.pop().unwrap_or(State::End);
                Ok(self.empty(state, mark))
            }
            _ => self.node(Allowed::Block),
        }
    }

    fn document_end(&mut self) -> Step {
        let Token { kind, start, .. } = self.scanner.peek()?;
        let mark = *start;
        if *kind == TokenKind::DocumentEnd {
            self.scanner.skip();
        }
        self.handles.clear();
        self.state = State::DocumentStart;
        Ok((Event::DocumentEnd, mark))
    }

    /// Reads a node with its properties.
    pub(super) fn node(&mut self, allowed: Allowed) -> Step {
        let Token { kind, start, .. } = self.scanner.peek()?;
        let start = *start;
        if let TokenKind::Alias(name) = kind {
            let event = Event::Alias(std::mem::take(name));
            self.leave();
            self.scanner.skip();
            return Ok((event, start));
        }
        let properties = self.properties(start)?;
        let Token { kind, start: here, .. } = self.scanner.peek()?;
        let here = *here;
        let event = match kind {
            TokenKind::BlockEntry if allowed == Allowed::BlockOrIndentless => {
                self.state = State::IndentlessSequenceEntry;
                Event::SequenceStart(properties)
            }
            TokenKind::Scalar { text, is_plain } => {
                let is_plain = match &properties.tag {
                    None => *is_plain,
                    Some(tag) => tag == "!",
                };
                let event = Event::Scalar { properties, text: std::mem::take(text), is_plain };
                self.leave();
                self.scanner.skip();
                event
            }
            TokenKind::FlowSequenceStart => {
                self.begin(State::FlowSequenceFirstEntry, here, Event::SequenceStart(properties))
            }
            TokenKind::FlowMappingStart => {
                self.begin(State::FlowMappingFirstKey, here, Event::MappingStart(properties))
            }
            TokenKind::BlockSequenceStart if allowed != Allowed::Flow => {
                self.begin(State::BlockSequenceEntry, here, Event::SequenceStart(properties))
            }
            TokenKind::BlockMappingStart if allowed != Allowed::Flow => {
                self.begin(State::BlockMappingKey, here, Event::MappingStart(properties))
            }
            _ if properties != Properties::default() => {
                self.leave();
                let is_plain = properties.tag.is_none();
                Event::Scalar { properties, text: String::new(), is_plain }
            }
            _ => {
                let is_flow = allowed == Allowed::Flow;
                let doing = if is_flow { "while parsing a flow node" } else { "while parsing a block node" };
                return SyntaxError::within(doing, start, "did not find expected node content", here);
            }
        };
        Ok((event, start))
    }

    /// Reads an anchor and a tag, in any order.
    fn properties(&mut self, start: Mark) -> Scanned<Properties> {
        let mut properties = Properties::default();
        loop {
            let Token { kind, start: here, .. } = self.scanner.peek()?;
            let here = *here;
            match kind {
                TokenKind::Anchor(name) if properties.anchor.is_none() => {
                    properties.anchor = Some(std::mem::take(name));
                }
                TokenKind::Tag { handle, suffix } if properties.tag.is_none() => {
                    let (handle, suffix) = (std::mem::take(handle), std::mem::take(suffix));
                    properties.tag = Some(self.tag(&handle, suffix, start, here)?);
                }
                _ => return Ok(properties),
            }
            self.scanner.skip();
        }
    }

    fn tag(&self, handle: &str, suffix: String, start: Mark, here: Mark) -> Scanned<String> {
        if handle.is_empty() {
            return Ok(suffix);
        }
        match self.handles.get(handle) {
            Some(prefix) => Ok(format!("{prefix}{suffix}")),
            None => SyntaxError::within("while parsing a node", start, "found undefined tag handle", here),
        }
    }

    /// Makes the error of a collection at a token.
    pub(super) fn unexpected<T>(&mut self, doing: &'static str, problem: &'static str, place: Mark) -> Scanned<T> {
        SyntaxError::within(doing, self.marks.pop().unwrap_or_default(), problem, place)
    }

    /// Takes the token that begins a collection.
    fn begin(&mut self, state: State, mark: Mark, event: Event) -> Event {
        self.scanner.skip();
        self.marks.push(mark);
        self.state = state;
        event
    }

    /// Takes the token that ends a collection.
    pub(super) fn end(&mut self, mark: Mark) -> (Event, Mark) {
        self.scanner.skip();
        self.marks.pop();
        self.leave();
        (Event::CollectionEnd, mark)
    }

    /// Goes on with what comes behind a node.
    pub(super) fn leave(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// Makes an empty scalar, and goes on with a state.
    pub(super) fn empty(&mut self, state: State, mark: Mark) -> (Event, Mark) {
        self.state = state;
        (Event::Scalar { properties: Properties::default(), text: String::new(), is_plain: true }, mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the events of a text in short: scalars by their texts, and `+`, `-` for collections.
    fn events(text: &str) -> Result<String, SyntaxError> {
        let (mut parser, mut shown) = (Parser::new(text), Vec::new());
        while let Some((event, Mark { line, column, .. })) = parser.next()? {
            let place = |sign: &str| format!("{sign}@{line}:{column}");
            match event {
                Event::Scalar { text, .. } => shown.push(place(&format!("{text:?}"))),
                Event::Alias(name) => shown.push(place(&format!("*{name}"))),
                Event::SequenceStart(_) => shown.push(place("[")),
                Event::MappingStart(_) => shown.push(place("{")),
                Event::CollectionEnd => shown.push("-".to_owned()),
                Event::DocumentStart | Event::DocumentEnd => {}
            }
        }
        Ok(shown.join(" "))
    }

    #[track_caller]
    fn check(text: &str, wanted: &str) {
        assert_eq!(events(text).as_deref(), Ok(wanted), "{text:?}");
    }

    #[track_caller]
    fn check_error(text: &str, problem: &str, (line, column): (u32, u32)) {
        let error = events(text).unwrap_err();
        assert_eq!((error.problem, error.place.line, error.place.column), (problem, line, column), "{text:?}");
    }

    #[test]
    fn nodes_are_where_libyaml_puts_them() {
        check("a: b", r#"{@0:0 "a"@0:0 "b"@0:3 -"#);
        check("a:\n- b\n- c: d", r#"{@0:0 "a"@0:0 [@1:0 "b"@1:2 {@2:2 "c"@2:2 "d"@2:5 - - -"#);
        check("- &x !!str a\n- *x\n-", r#"[@0:0 "a"@0:2 *x@1:2 ""@2:1 -"#);
        check("{a: [b, c: d], 'e':f}", r#"{@0:0 "a"@0:1 [@0:4 "b"@0:5 {@0:8 "c"@0:8 "d"@0:11 - - "e"@0:15 "f"@0:19 -"#);
        check("? a\n: b\n? c", r#"{@0:0 "a"@0:2 "b"@1:2 "c"@2:2 ""@3:0 -"#);
        check("\u{feff}---\né: |\n  x\n   y\n", r#"{@1:0 "é"@1:0 "x\n y\n"@1:3 -"#);
        check("", "");
        check("--- # x\n...\n", r#"""@1:0"#);
    }

    #[test]
    fn scalars_are_folded_as_in_yaml_1_1() {
        check("a\n b\n\n c", r#""a b\nc"@0:0"#);
        check("\"a \\\n  b\\x41 \n c\"", r#""a bA c"@0:0"#);
        check("'it''s'", r#""it's"@0:0"#);
        check(">\n a\n b\n\n  c\n d\n", r#""a b\n\n c\nd\n"@0:0"#);
        check("|+1\n  a\n\n", r#"" a\n\n"@0:0"#);
        check("|\n a", r#""a"@0:0"#);
        check("a\r\n b\u{2028} c", "\"a b\\u{2028}c\"@0:0");
    }

    #[test]
    fn mistakes_are_errors_at_their_places() {
        check_error("\ta: b", "found character that cannot start any token", (0, 0));
        check_error("a: b: c", "mapping values are not allowed in this context", (0, 4));
        check_error("a: 'b", "found unexpected end of stream", (0, 5));
        check_error("\"\\", "found unknown escape character", (0, 1));
        check_error("[a", "did not find expected ',' or ']'", (1, 0));
        check_error("a: b\n c: d", "mapping values are not allowed in this context", (1, 2));
        check_error("a: *", "did not find expected alphabetic or numeric character", (0, 4));
        check_error("%YAML 2.0\n---\n", "found incompatible YAML document", (0, 0));
        check_error("!x!y a", "found undefined tag handle", (0, 0));
        check_error("!%ff a", "found an incorrect UTF-8 octet", (0, 4));
        check_error("a: b\nc", "could not find expected ':'", (2, 0));
    }
}
