//! From events to a graph: anchors and aliases, and the types of plain scalars.

use std::collections::HashMap;
use std::sync::Arc;

use super::graph::{Content, Graph, GraphNode, NodeId};
use crate::error::{Problem, YamlError};
use crate::events::{Event, Mark, Parser, Properties, SyntaxError};
use crate::limits::{MAX_DEPTH, MAX_DOCUMENTS, MAX_NODES, MAX_TEXT};
use crate::position::Position;
use crate::scalar::resolve;
use crate::tag::Tag;

/// Reads the only document of a text.
///
/// # Errors
///
/// The text is not YAML, has more than one document, or is larger than a limit.
pub(crate) fn compose<'a>(text: &'a str, file: &Arc<str>) -> Result<Graph<'a>, YamlError> {
    let mut graphs = compose_up_to(text, file, 1)?;
    Ok(graphs.pop().unwrap_or_else(|| Graph { text, file: Arc::clone(file), nodes: Vec::new(), root: None }))
}

/// Reads all documents of a text.
///
/// # Errors
///
/// The text is not YAML, or is larger than a limit.
pub(crate) fn compose_all<'a>(text: &'a str, file: &Arc<str>) -> Result<Vec<Graph<'a>>, YamlError> {
    compose_up_to(text, file, MAX_DOCUMENTS)
}

fn compose_up_to<'a>(text: &'a str, file: &Arc<str>, most: usize) -> Result<Vec<Graph<'a>>, YamlError> {
    let empty = || Graph { text, file: Arc::clone(file), nodes: Vec::new(), root: None };
    let start = Position { file: Arc::clone(file), line: 1, column: 1 };
    if text.len() > MAX_TEXT {
        return Err(YamlError::new(&start, Problem::TooLong));
    }
    check_characters(&empty())?;
    let mut parser = Parser::new(text);
    let fresh = || Composer { graph: empty(), anchors: HashMap::new(), open: Vec::new() };
    let (mut composer, mut finished, mut has_document) = (fresh(), Vec::new(), false);
    while let Some((event, mark)) = parser.next().map_err(|error| composer.syntax_error(&error))? {
        match event {
            Event::DocumentStart if has_document && finished.len() + 1 >= most => {
                let problem = if most == 1 { Problem::SecondDocument } else { Problem::TooManyDocuments };
                return Err(composer.graph.error(mark, problem));
            }
            Event::DocumentStart => {
                if has_document {
                    finished.push(std::mem::replace(&mut composer, fresh()).graph);
                }
                has_document = true;
            }
            event => composer.event(event, mark)?,
        }
    }
    if has_document {
        finished.push(composer.graph);
    }
    Ok(finished)
}

/// Refuses characters that YAML forbids.
fn check_characters(graph: &Graph<'_>) -> Result<(), YamlError> {
    let mut mark = Mark::default();
    for character in graph.text.chars() {
        if !is_allowed(character) {
            return Err(graph.error(mark, Problem::ControlCharacter(character.into())));
        }
        if character == '\n' {
            mark.line += 1;
            mark.column = 0;
        } else {
            mark.column += 1;
        }
    }
    Ok(())
}

fn is_allowed(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}'
        | '\u{10000}'..)
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
    fn event(&mut self, event: Event, mark: Mark) -> Result<(), YamlError> {
        match event {
            Event::Alias(anchor) => {
                let Some(id) = self.anchors.get(&anchor).copied() else {
                    return Err(self.graph.error(mark, Problem::UndefinedAlias(anchor)));
                };
                self.attach(id);
                Ok(())
            }
            Event::Scalar { properties, text, is_plain } => {
                let implicit = if is_plain { resolve(&text) } else { Tag::Str };
                self.node(properties, implicit, Content::Scalar(text.into()), mark).map(|_| ())
            }
            Event::SequenceStart(properties) => {
                self.collection(properties, Tag::Seq, Content::Sequence(Vec::new()), mark)
            }
            Event::MappingStart(properties) => {
                self.collection(properties, Tag::Map, Content::Mapping(Vec::new()), mark)
            }
            Event::CollectionEnd => {
                self.open.pop();
                Ok(())
            }
            Event::DocumentStart | Event::DocumentEnd => Ok(()),
        }
    }

    fn collection(
        &mut self,
        properties: Properties,
        implicit: Tag,
        content: Content,
        mark: Mark,
    ) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH as usize {
            return Err(self.graph.error(mark, Problem::TooDeep));
        }
        let id = self.node(properties, implicit, content, mark)?;
        self.open.push(Open { id, key: None });
        Ok(())
    }

    /// Adds a node. Its type is `implicit` unless it has a tag.
    fn node(
        &mut self,
        Properties { anchor, tag }: Properties,
        implicit: Tag,
        content: Content,
        mark: Mark,
    ) -> Result<NodeId, YamlError> {
        let id = self.graph.nodes.len();
        if id >= MAX_NODES {
            return Err(self.graph.error(mark, Problem::TooManyNodes));
        }
        let tag = tag.filter(|tag| tag != "!").map_or(implicit, Tag::of_name);
        let is_within = self.open.last().is_some_and(|open| self.graph.nodes[open.id].is_unsafe);
        let is_unsafe = is_within || tag == Tag::Unsafe;
        self.graph.nodes.push(GraphNode { tag, content, mark, is_unsafe });
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

    fn syntax_error(&self, error: &SyntaxError) -> YamlError {
        // The parser notices a quote that is not closed at the end of the text, and a key without a colon behind it. The
        // mistake is where they begin.
        let is_late = matches!(error.problem, "found unexpected end of stream" | "could not find expected ':'");
        let place = error.context.filter(|_| is_late).map_or(error.place, |(_, began)| began);
        let context = error.context.map(|(doing, began)| (doing, began.line + 1));
        self.graph.error(place, Problem::Syntax { problem: error.problem, context })
    }
}
