//! Merge keys: `<<: *defaults` and `<<: [*one, *other]` insert the entries of other mappings.

use super::graph::{Content, Graph, NodeId};
use crate::error::{Problem, YamlError};
use crate::limits::{MAX_DEPTH, MAX_NODES};
use crate::tag::Tag;

/// The entries of a mapping: keys and values.
pub(super) type Pairs = Vec<(NodeId, NodeId)>;

/// Inserts merged entries, and remembers which mappings are done.
#[derive(Debug)]
pub(super) struct Merges {
    states: Vec<State>,
    /// How many entries may still be inserted: lists of aliases to lists of aliases would otherwise grow without bound.
    left: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unmerged,
    Merging,
    Merged,
}

impl Merges {
    /// Prepares for a graph.
    pub(super) fn of(graph: &Graph<'_>) -> Self {
        Self { states: vec![State::Unmerged; graph.nodes.len()], left: MAX_NODES }
    }

    /// Puts the entries of merged mappings before a mapping's own ones, as PyYAML does. Its own ones then win, and of
    /// several merged mappings the first. The scalar `=` becomes text where it is a key.
    ///
    /// # Errors
    ///
    /// A merged value is not a mapping, a mapping is merged into itself, or there are too many entries.
    pub(super) fn flatten(&mut self, graph: &mut Graph<'_>, id: NodeId, depth: u32) -> Result<(), YamlError> {
        match self.states[id] {
            State::Merged => return Ok(()),
            State::Merging => return Err(graph.error_at(id, Problem::Recursion)),
            State::Unmerged if depth > MAX_DEPTH => return Err(graph.error_at(id, Problem::TooDeep)),
            State::Unmerged => self.states[id] = State::Merging,
        }
        let Content::Mapping(pairs) = &mut graph.nodes[id].content else { return Ok(()) };
        let (mut merged, mut own) = (Pairs::new(), Pairs::new());
        for (key, value) in std::mem::take(pairs) {
            match graph.nodes[key].tag {
                Tag::Merge => self.merge(graph, value, depth, &mut merged)?,
                Tag::Value => {
                    graph.nodes[key].tag = Tag::Str;
                    own.push((key, value));
                }
                _ => own.push((key, value)),
            }
        }
        merged.append(&mut own);
        graph.nodes[id].content = Content::Mapping(merged);
        self.states[id] = State::Merged;
        Ok(())
    }

    fn merge(&mut self, graph: &mut Graph<'_>, value: NodeId, depth: u32, merged: &mut Pairs) -> Result<(), YamlError> {
        match &graph.nodes[value].content {
            Content::Mapping(_) => self.insert(graph, value, depth, merged),
            Content::Sequence(items) => {
                let items = items.clone();
                for item in &items {
                    let found = graph.nodes[*item].content.kind();
                    if found != "a mapping" {
                        let problem = Problem::Unexpected { expected: "a mapping to merge", found };
                        return Err(graph.error_at(*item, problem));
                    }
                }
                items.iter().rev().try_for_each(|item| self.insert(graph, *item, depth, merged))
            }
            Content::Scalar(_) => {
                let problem =
                    Problem::Unexpected { expected: "a mapping to merge, or a list of them", found: "a scalar" };
                Err(graph.error_at(value, problem))
            }
        }
    }

    fn insert(&mut self, graph: &mut Graph<'_>, id: NodeId, depth: u32, merged: &mut Pairs) -> Result<(), YamlError> {
        self.flatten(graph, id, depth + 1)?;
        let Content::Mapping(pairs) = &graph.nodes[id].content else { return Ok(()) };
        match self.left.checked_sub(pairs.len()) {
            Some(left) => self.left = left,
            None => return Err(graph.error_at(id, Problem::TooManyNodes)),
        }
        merged.extend_from_slice(pairs);
        Ok(())
    }
}
