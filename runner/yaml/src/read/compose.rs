//! From the events of the parser to a graph.
//!
//! The parser is `libyaml-safer`, a port of libyaml: the parser that ansible-core itself uses, by way of PyYAML. So what is
//! YAML, what is an error, and where each node begins, is the same.

use std::collections::HashMap;
use std::sync::Arc;

use libyaml_safer::{Event, EventData, Parser};

use super::graph::{Content, Graph, GraphNode, Mark, NodeId};
use crate::error::{Problem, YamlError};
use crate::limits::{MAX_DEPTH, MAX_NODES, MAX_TEXT};
use crate::position::Position;
use crate::scalar::resolve;
use crate::tag::Tag;

/// Reads the only document of a text.
///
/// # Errors
///
/// The text is not YAML, has more than one document, or is larger than a limit.
pub(crate) fn compose<'a>(text: &'a str, file: &Arc<str>) -> Result<Graph<'a>, YamlError> {
    let graph = Graph { text, file: Arc::clone(file), nodes: Vec::new(), root: None };
    let start = Position { file: Arc::clone(file), line: 1, column: 1 };
    if text.len() > MAX_TEXT {
        return Err(YamlError::new(&start, Problem::TooLong));
    }
    check_characters(&graph)?;
    let mut parser = Parser::new();
    parser.set_input(text.as_bytes());
    let mut composer = Composer { graph, anchors: HashMap::new(), open: Vec::new() };
    let mut is_second = false;
    for event in parser {
        let Event { data, start_mark, .. } = event.map_err(|error| composer.syntax_error(&error))?;
        let mark = mark(start_mark);
        match data {
            EventData::DocumentStart { .. } if is_second => {
                return Err(composer.graph.error(mark, Problem::SecondDocument));
            }
            EventData::DocumentStart { .. } => is_second = true,
            EventData::StreamStart { .. } | EventData::StreamEnd | EventData::DocumentEnd { .. } => {}
            data => composer.event(data, mark)?,
        }
    }
    Ok(composer.graph)
}

/// Refuses characters that YAML does not allow. The parser does the same, but does not say where they are.
fn check_characters(graph: &Graph<'_>) -> Result<(), YamlError> {
    let Some((offset, character)) = graph.text.char_indices().find(|(_, character)| !is_allowed(*character)) else {
        return Ok(());
    };
    let before = &graph.text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let count = |number: usize| u32::try_from(number + 1).unwrap_or(u32::MAX);
    let mark = Mark { line: count(before.matches('\n').count()), column: count(before[line_start..].chars().count()) };
    Err(graph.error(mark, Problem::ControlCharacter(character.into())))
}

fn is_allowed(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}'
        | '\u{10000}'..)
}

fn mark(mark: libyaml_safer::Mark) -> Mark {
    let count = |number: u64| u32::try_from(number.saturating_add(1)).unwrap_or(u32::MAX);
    Mark { line: count(mark.line), column: count(mark.column) }
}

/// The state while events are read.
struct Composer<'a> {
    graph: Graph<'a>,
    anchors: HashMap<String, NodeId>,
    /// The collections that have begun and not ended, the outermost first.
    open: Vec<Open>,
}

/// A collection that has not ended.
struct Open {
    id: NodeId,
    /// The key of a mapping whose value comes next.
    key: Option<NodeId>,
}

impl Composer<'_> {
    fn event(&mut self, data: EventData, mark: Mark) -> Result<(), YamlError> {
        match data {
            EventData::Alias { anchor } => {
                let Some(id) = self.anchors.get(&anchor).copied() else {
                    return Err(self.graph.error(mark, Problem::UndefinedAlias(anchor)));
                };
                self.attach(id);
                Ok(())
            }
            EventData::Scalar { anchor, tag, value, plain_implicit, .. } => {
                let tag = match tag {
                    Some(name) => Tag::of_name(name),
                    None if plain_implicit => resolve(&value),
                    None => Tag::Str,
                };
                self.node(anchor, tag, Content::Scalar(value.into()), mark).map(|_| ())
            }
            EventData::SequenceStart { anchor, tag, .. } => {
                self.collection(anchor, tag.map_or(Tag::Seq, Tag::of_name), Content::Sequence(Vec::new()), mark)
            }
            EventData::MappingStart { anchor, tag, .. } => {
                self.collection(anchor, tag.map_or(Tag::Map, Tag::of_name), Content::Mapping(Vec::new()), mark)
            }
            _ => {
                self.open.pop();
                Ok(())
            }
        }
    }

    fn collection(&mut self, anchor: Option<String>, tag: Tag, content: Content, mark: Mark) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH as usize {
            return Err(self.graph.error(mark, Problem::TooDeep));
        }
        let id = self.node(anchor, tag, content, mark)?;
        self.open.push(Open { id, key: None });
        Ok(())
    }

    fn node(&mut self, anchor: Option<String>, tag: Tag, content: Content, mark: Mark) -> Result<NodeId, YamlError> {
        let id = self.graph.nodes.len();
        if id >= MAX_NODES {
            return Err(self.graph.error(mark, Problem::TooManyNodes));
        }
        self.graph.nodes.push(GraphNode { tag, content, mark });
        if let Some(anchor) = anchor {
            if self.anchors.contains_key(&anchor) {
                return Err(self.graph.error(mark, Problem::DuplicateAnchor(anchor)));
            }
            self.anchors.insert(anchor, id);
        }
        self.attach(id);
        Ok(id)
    }

    /// Adds a node to the innermost open collection.
    fn attach(&mut self, id: NodeId) {
        let Some(open) = self.open.last_mut() else {
            self.graph.root = Some(id);
            return;
        };
        match &mut self.graph.nodes[open.id].content {
            Content::Sequence(items) => items.push(id),
            Content::Mapping(pairs) => match open.key.take() {
                Some(key) => pairs.push((key, id)),
                None => open.key = Some(id),
            },
            Content::Scalar(_) => {}
        }
    }

    fn syntax_error(&self, error: &libyaml_safer::Error) -> YamlError {
        let mut place = error.problem_mark().map_or(Mark { line: 1, column: 1 }, mark);
        let context = error.context().zip(error.context_mark()).map(|(doing, began)| (doing, mark(began)));
        // A quote that is not closed is found at the end of the text; the mistake is where it opens.
        if let Some((_, began)) = context.filter(|_| error.problem() == "found unexpected end of stream") {
            place = began;
        }
        let context = context.map(|(doing, began)| (doing, began.line));
        self.graph.error(place, Problem::Syntax { problem: error.problem(), context })
    }
}
