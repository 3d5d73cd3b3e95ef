//! The graph of a document: nodes with tags, in which an alias is a second way to a node.

use std::sync::Arc;

use crate::error::{Problem, YamlError};
use crate::events::Mark;
use crate::position::Position;
use crate::tag::Tag;

/// A document before its values are made.
#[derive(Debug)]
pub(crate) struct Graph<'a> {
    /// The text, for messages.
    pub(super) text: &'a str,
    /// The file, for positions.
    pub(super) file: Arc<str>,
    /// All nodes.
    pub(super) nodes: Vec<GraphNode>,
    /// The topmost node; `None` for an empty document.
    pub(super) root: Option<NodeId>,
}

/// A node by its place in the graph.
pub(super) type NodeId = usize;

/// A node with its tag.
#[derive(Debug)]
pub(super) struct GraphNode {
    pub(super) tag: Tag,
    pub(super) content: Content,
    pub(super) mark: Mark,
    /// The node is written with or within `!unsafe`.
    pub(super) is_unsafe: bool,
}

/// What a node consists of.
#[derive(Debug)]
pub(super) enum Content {
    Scalar(Arc<str>),
    Sequence(Vec<NodeId>),
    Mapping(Vec<(NodeId, NodeId)>),
}

impl Content {
    /// Returns what the content is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Scalar(_) => "a scalar",
            Self::Sequence(_) => "a sequence",
            Self::Mapping(_) => "a mapping",
        }
    }
}

impl Graph<'_> {
    /// Returns the position of a place in the text.
    pub(super) fn position(&self, mark: Mark) -> Position {
        Position { file: Arc::clone(&self.file), line: mark.line + 1, column: mark.column + 1 }
    }

    /// Returns an error at a place in the text.
    pub(super) fn error(&self, mark: Mark, problem: Problem) -> YamlError {
        YamlError::in_text(self.position(mark), problem, self.text)
    }

    pub(super) fn error_at(&self, id: NodeId, problem: Problem) -> YamlError {
        self.error(self.nodes[id].mark, problem)
    }
}
