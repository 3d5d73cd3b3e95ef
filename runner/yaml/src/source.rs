//! Text that can be a template, and the tree of YAML nodes around it.

use std::sync::Arc;

use indexmap::IndexMap;
use modbox_python_json::Value;

use crate::Position;

/// A YAML node that the author of a play or the operator wrote. Cloning is cheap.
///
/// Holding one proves that the text comes from a play's tree, from the command line, or from a template file that is
/// being rendered. There is no conversion from a value: data from modules cannot be parsed as a template.
#[derive(Debug, Clone)]
pub struct Source(Arc<Located>);

#[derive(Debug)]
struct Located {
    node: Node,
    position: Position,
}

/// What a [`Source`] holds.
#[derive(Debug)]
pub enum Node {
    /// A scalar that is not text: null, a boolean or a number. Never a template.
    Scalar(Value),
    /// A date or a time with a date, as Python's `isoformat` writes it. Never a template.
    Date(Arc<str>),
    /// `!!binary`. Never a template.
    Binary(Arc<[u8]>),
    /// Text. A template if it has template syntax in it.
    Text(Arc<str>),
    /// Text with the tag `!unsafe`: data, never a template.
    Unsafe(Arc<str>),
    /// Text with the tag `!vault`: encrypted, and not decrypted here.
    Vault(Arc<str>),
    /// A sequence.
    List(Vec<Source>),
    /// A mapping, in the order of the file.
    Map(Map),
}

/// A mapping. A key that is written twice has its last value.
#[derive(Debug, Default)]
pub struct Map {
    entries: IndexMap<Key, Entry>,
}

/// A key and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key as a node, for its position and for actions that template keys.
    pub key: Source,
    /// The value.
    pub value: Source,
}

/// A key of a mapping, comparable as Python compares keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// Text.
    Text(Arc<str>),
    /// A boolean.
    Bool(bool),
    /// An integer, in decimal.
    Int(Arc<str>),
    /// A number with a fraction, as Python's `repr` writes it.
    Float(Arc<str>),
    /// A date, as Python's `isoformat` writes it.
    Date(Arc<str>),
    /// Null.
    Null,
}

impl Source {
    pub(crate) fn new(node: Node, position: Position) -> Self {
        Self(Arc::new(Located { node, position }))
    }

    /// Returns what the node holds.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.0.node
    }

    /// Returns where the node begins.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.0.position
    }

    /// Returns the text of [`Node::Text`].
    #[must_use]
    pub fn as_text(&self) -> Option<&Arc<str>> {
        match self.node() {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of [`Node::List`].
    #[must_use]
    pub fn as_list(&self) -> Option<&[Source]> {
        match self.node() {
            Node::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries of [`Node::Map`].
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        match self.node() {
            Node::Map(map) => Some(map),
            _ => None,
        }
    }
}

impl Map {
    /// Returns the value of a key that is text.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Source> {
        self.entries.get(&Key::Text(key.into())).map(|entry| &entry.value)
    }

    /// Iterates over the entries, in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Key, &Entry)> {
        self.entries.iter()
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Says whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry; a second one with the same key replaces the first and keeps its place.
    pub(crate) fn insert(&mut self, key: Key, entry: Entry) -> Option<Entry> {
        self.entries.insert(key, entry)
    }
}
