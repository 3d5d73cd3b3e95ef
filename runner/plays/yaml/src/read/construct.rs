//! From a graph to a tree: the value of each node by its tag, as PyYAML's `SafeConstructor` and Ansible's own make it.
//!
//! A node that several aliases lead to is one node of the tree, too. Within `!unsafe` all text is data: what is written
//! there stays data where an alias takes it, and what an alias takes in from elsewhere is made a second time, as data.

use std::collections::HashSet;
use std::sync::Arc;

use modbox_python_json::Value;

use super::graph::{Content, Graph, NodeId};
use super::merge::{Merges, Pairs};
use crate::error::{Problem, YamlError};
use crate::limits::{MAX_DEPTH, MAX_EXPANDED_SIZE, MAX_WARNINGS};
use crate::position::Position;
use crate::scalar::{bool_value, decode_base64, float_value, int_value, iso_text, resolve};
use crate::source::{Entry, Map, Node, Source};
use crate::tag::Tag;
use crate::warning::Warning;

/// A tree, and what was noticed on the way.
#[derive(Debug)]
pub(crate) struct Constructed {
    /// The topmost node.
    pub(crate) root: Source,
    /// In the order of the text.
    pub(crate) warnings: Vec<Warning>,
}

/// Makes the tree of a graph.
///
/// # Errors
///
/// A node has an unknown tag or does not fit its tag, a key cannot be one, a node contains itself, or the tree is too
/// large or too deep.
pub(crate) fn construct(graph: Graph<'_>) -> Result<Constructed, YamlError> {
    let made = graph.nodes.iter().map(|_| [Made::Not, Made::Not]).collect();
    let Some(root) = graph.root else {
        let start = Position { file: graph.file, line: 1, column: 1 };
        return Ok(Constructed { root: Source::new(Node::Scalar(Value::Null), start), warnings: Vec::new() });
    };
    let merges = Merges::of(&graph);
    let mut constructor = Constructor { graph, merges, made, warnings: Vec::new(), warned: HashSet::new() };
    let root = constructor.node(root, Trust::Author, 0)?;
    Ok(Constructed { root, warnings: constructor.warnings })
}

struct Constructor<'a> {
    graph: Graph<'a>,
    merges: Merges,
    /// For each node, what was made of it for each [`Trust`].
    made: Vec<[Made; 2]>,
    warnings: Vec<Warning>,
    /// The nodes that a warning is about.
    warned: HashSet<NodeId>,
}

/// How far a node is made.
#[derive(Debug, Clone)]
enum Made {
    Not,
    Begun,
    Done(Source),
}

/// Whether text may be a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Author = 0,
    Unsafe = 1,
}

impl Constructor<'_> {
    fn node(&mut self, id: NodeId, trust: Trust, depth: u32) -> Result<Source, YamlError> {
        let trust = if self.graph.nodes[id].is_unsafe { Trust::Unsafe } else { trust };
        match &self.made[id][trust as usize] {
            Made::Done(source) => return Ok(source.clone()),
            Made::Begun => return Err(self.graph.error_at(id, Problem::Recursion)),
            Made::Not if depth > MAX_DEPTH => return Err(self.graph.error_at(id, Problem::TooDeep)),
            Made::Not => self.made[id][trust as usize] = Made::Begun,
        }
        let node = self.value(id, trust, depth)?;
        let source = Source::new(node, self.graph.position(self.graph.nodes[id].mark));
        if source.height() > MAX_DEPTH {
            return Err(self.graph.error_at(id, Problem::TooDeep));
        }
        if source.expanded_size() > MAX_EXPANDED_SIZE {
            return Err(self.graph.error_at(id, Problem::TooLarge));
        }
        self.made[id][trust as usize] = Made::Done(source.clone());
        Ok(source)
    }

    fn value(&mut self, id: NodeId, trust: Trust, depth: u32) -> Result<Node, YamlError> {
        let tag = match &self.graph.nodes[id].tag {
            Tag::Unsafe => self.untagged(id),
            tag @ (Tag::Vault | Tag::VaultEncrypted) => {
                if *tag == Tag::VaultEncrypted {
                    self.deprecated(id, "!vault-encrypted", "Use the `!vault` tag instead.");
                }
                return self.vault(id);
            }
            tag => tag.clone(),
        };
        self.typed(id, tag, trust, depth)
    }

    /// Makes the value of a node that counts as having this tag.
    fn typed(&mut self, id: NodeId, tag: Tag, trust: Trust, depth: u32) -> Result<Node, YamlError> {
        match tag {
            Tag::Null => self.scalar(id, depth).map(|_| Node::Scalar(Value::Null)),
            Tag::Bool => self.parsed(id, depth, "boolean", |text| bool_value(text).map(Value::Bool)).map(Node::Scalar),
            Tag::Int => self.parsed(id, depth, "integer", int_value).map(Node::Scalar),
            Tag::Float => {
                self.parsed(id, depth, "number", |text| float_value(text).map(Value::Float)).map(Node::Scalar)
            }
            Tag::Timestamp => self.parsed(id, depth, "date", |text| iso_text(text).map(|text| Node::Date(text.into()))),
            Tag::Binary => {
                self.parsed(id, depth, "base64", |text| decode_base64(text).map(|bytes| Node::Binary(bytes.into())))
            }
            Tag::Str => {
                let text = self.scalar(id, depth)?;
                Ok(if trust == Trust::Unsafe { Node::Unsafe(text) } else { Node::Text(text) })
            }
            Tag::Seq => self.sequence(id, trust, depth),
            Tag::Map => self.mapping(id, trust, depth).map(Node::Map),
            Tag::Set => {
                let map = self.mapping(id, trust, depth)?;
                Ok(Node::List(map.iter().map(|(_, entry)| entry.key.clone()).collect()))
            }
            Tag::Omap => {
                self.deprecated(id, "!!omap", "Use a standard mapping instead, as key order is always preserved.");
                self.pairs(id, trust, depth)
            }
            Tag::Pairs => {
                self.deprecated(id, "!!pairs", "Use a standard mapping instead.");
                self.pairs(id, trust, depth)
            }
            Tag::Merge | Tag::Value => {
                let text = tag.written();
                Err(self.graph.error_at(id, Problem::InvalidScalar { kind: "scalar", text }))
            }
            Tag::Unsafe | Tag::Vault | Tag::VaultEncrypted | Tag::Other(_) => {
                Err(self.graph.error_at(id, Problem::UnknownTag(tag.written())))
            }
        }
    }

    /// Returns the tag that a node would have without its own; text in quotes counts as plain.
    fn untagged(&self, id: NodeId) -> Tag {
        match &self.graph.nodes[id].content {
            Content::Scalar(text) => resolve(text),
            Content::Sequence(_) => Tag::Seq,
            Content::Mapping(_) => Tag::Map,
        }
    }

    fn vault(&self, id: NodeId) -> Result<Node, YamlError> {
        match &self.graph.nodes[id].content {
            Content::Scalar(text) if self.untagged(id) == Tag::Str => Ok(Node::Vault(Arc::clone(text))),
            Content::Scalar(_) => Err(self.unexpected(id, "encrypted text", "another scalar")),
            content => Err(self.unexpected(id, "encrypted text", content.kind())),
        }
    }

    /// Returns the text of a scalar. A mapping with the key `=` stands for the value of that key.
    fn scalar(&self, id: NodeId, depth: u32) -> Result<Arc<str>, YamlError> {
        match &self.graph.nodes[id].content {
            Content::Scalar(text) => Ok(Arc::clone(text)),
            Content::Mapping(pairs) if depth <= MAX_DEPTH => {
                match pairs.iter().find(|(key, _)| self.graph.nodes[*key].tag == Tag::Value) {
                    Some((_, value)) => self.scalar(*value, depth + 1),
                    None => Err(self.unexpected(id, "a scalar", "a mapping")),
                }
            }
            content => Err(self.unexpected(id, "a scalar", content.kind())),
        }
    }

    fn parsed<T>(
        &self,
        id: NodeId,
        depth: u32,
        kind: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, YamlError> {
        let text = self.scalar(id, depth)?;
        parse(&text).ok_or_else(|| {
            let text = text.chars().take(60).collect();
            self.graph.error_at(id, Problem::InvalidScalar { kind, text })
        })
    }

    fn sequence(&mut self, id: NodeId, trust: Trust, depth: u32) -> Result<Node, YamlError> {
        let items = match &self.graph.nodes[id].content {
            Content::Sequence(items) => items.clone(),
            content => return Err(self.unexpected(id, "a sequence", content.kind())),
        };
        items.into_iter().map(|item| self.node(item, trust, depth + 1)).collect::<Result<_, _>>().map(Node::List)
    }

    fn mapping(&mut self, id: NodeId, trust: Trust, depth: u32) -> Result<Map, YamlError> {
        self.merges.flatten(&mut self.graph, id, depth)?;
        let pairs: Pairs = match &self.graph.nodes[id].content {
            Content::Mapping(pairs) => pairs.clone(),
            content => return Err(self.unexpected(id, "a mapping", content.kind())),
        };
        let mut map = Map::default();
        for (key_id, value_id) in pairs {
            let source = self.node(key_id, trust, depth + 1)?;
            let key = source.as_key().ok_or_else(|| self.graph.error_at(key_id, Problem::InvalidKey(source.kind())))?;
            let value = self.node(value_id, trust, depth + 1)?;
            if map.insert(key.clone(), Entry { key: source, value }) {
                let position = self.graph.position(self.graph.nodes[key_id].mark);
                self.warn(key_id, Warning::DuplicateKey { position, key });
            }
        }
        Ok(map)
    }

    /// Makes a sequence of pairs out of a sequence of mappings with one entry each.
    fn pairs(&mut self, id: NodeId, trust: Trust, depth: u32) -> Result<Node, YamlError> {
        let items = match &self.graph.nodes[id].content {
            Content::Sequence(items) => items.clone(),
            content => return Err(self.unexpected(id, "a sequence", content.kind())),
        };
        let mut made = Vec::with_capacity(items.len());
        for item in items {
            let (key, value) = match &self.graph.nodes[item].content {
                Content::Mapping(pairs) if pairs.len() == 1 => pairs[0],
                Content::Mapping(_) => return Err(self.unexpected(item, "a mapping with one entry", "a mapping")),
                content => return Err(self.unexpected(item, "a mapping with one entry", content.kind())),
            };
            let pair = vec![self.node(key, trust, depth + 2)?, self.node(value, trust, depth + 2)?];
            made.push(Source::new(Node::List(pair), self.graph.position(self.graph.nodes[id].mark)));
        }
        Ok(Node::List(made))
    }

    fn unexpected(&self, id: NodeId, expected: &'static str, found: &'static str) -> YamlError {
        self.graph.error_at(id, Problem::Unexpected { expected, found })
    }

    fn deprecated(&mut self, id: NodeId, tag: &'static str, instead: &'static str) {
        let position = self.graph.position(self.graph.nodes[id].mark);
        self.warn(id, Warning::DeprecatedTag { position, tag, instead });
    }

    fn warn(&mut self, id: NodeId, warning: Warning) {
        if self.warnings.len() < MAX_WARNINGS && self.warned.insert(id) {
            self.warnings.push(warning);
        }
    }
}
