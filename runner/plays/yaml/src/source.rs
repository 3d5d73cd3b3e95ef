//! Text that can be a template, and the tree of YAML nodes around it.

use std::sync::Arc;

use indexmap::IndexMap;
use modbox_python_json::{Value, repr};

use crate::key::{Key, Lookup};
use crate::limits::Extent;
use crate::position::Position;

/// A YAML node that the author of a play or the operator wrote. Cloning is cheap.
///
/// Holding one proves that the text comes from a play's tree, from the command line, or from a template file that is
/// being rendered, except for the parts that are [`Node::Unsafe`]. There is no other conversion from a value: data from
/// modules cannot be parsed as a template.
///
/// Only the functions of this crate make one:
///
/// ```
/// let source = modbox_yaml::template_file("{{ x }}", "greeting.j2");
/// assert_eq!(source.as_text().map(|text| &**text), Some("{{ x }}"));
/// ```
///
/// A value does not become one,
///
/// ```compile_fail,E0277
/// let source: modbox_yaml::Source = modbox_python_json::Value::Null.into();
/// ```
///
/// nor does text,
///
/// ```compile_fail,E0277
/// let source: modbox_yaml::Source = "{{ x }}".into();
/// ```
///
/// it cannot be deserialised (the line with `Vec` compiles),
///
/// ```
/// fn deserialised<T: serde::de::DeserializeOwned>() {}
/// deserialised::<Vec<String>>();
/// ```
///
/// ```compile_fail,E0277
/// fn deserialised<T: serde::de::DeserializeOwned>() {}
/// deserialised::<modbox_yaml::Source>();
/// ```
///
/// and its own constructor is private:
///
/// ```compile_fail,E0624
/// use modbox_yaml::{Node, Position, Source};
/// let source = Source::new(Node::Text("{{ x }}".into()), Position::start_of("x"));
/// ```
#[derive(Debug, Clone)]
pub struct Source(Arc<Located>);

#[derive(Debug)]
struct Located {
    node: Node,
    position: Position,
    extent: Extent,
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
    /// Text with the tag `!unsafe`, or text of data: never a template.
    Unsafe(Arc<str>),
    /// Text with the tag `!vault`: encrypted, and not decrypted here.
    Vault(Arc<str>),
    /// A sequence. `!!set`, `!!omap` and `!!pairs` are sequences, too; the items of the latter two have two items each.
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

impl Source {
    /// Puts a node at a position, and measures it.
    pub(crate) fn new(node: Node, position: Position) -> Self {
        let extent = match &node {
            Node::Scalar(Value::BigInt(number)) => Extent::of_text(number.as_str().len()),
            Node::Scalar(_) => Extent::of_text(0),
            Node::Binary(bytes) => Extent::of_text(bytes.len()),
            Node::Date(text) | Node::Text(text) | Node::Unsafe(text) | Node::Vault(text) => Extent::of_text(text.len()),
            Node::List(items) => Extent::of_children(items.iter().map(Self::extent)),
            Node::Map(map) => {
                Extent::of_children(map.iter().flat_map(|(_, entry)| [&entry.key, &entry.value]).map(Self::extent))
            }
        };
        Self(Arc::new(Located { node, position, extent }))
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

    /// Returns how large the tree is when each alias is followed: text in bytes, and a constant for each node. It stays
    /// at the largest number instead of overflowing. What [`crate::load_play_file`] returns has at most
    /// [`crate::MAX_EXPANDED_SIZE`].
    #[must_use]
    pub fn expanded_size(&self) -> u64 {
        self.0.extent.size
    }

    /// Returns the number of levels of the tree.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.0.extent.height
    }

    /// Says whether two sources are the same node, and not only equal.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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

    /// Returns the key of a mapping that the node is; `None` for what Python cannot hash, for bytes and encrypted text.
    #[must_use]
    pub fn as_key(&self) -> Option<Key> {
        match self.node() {
            Node::Text(text) | Node::Unsafe(text) => Some(Key::Text(Arc::clone(text))),
            Node::Date(text) => Some(Key::Date(Arc::clone(text))),
            Node::Scalar(Value::Null) => Some(Key::Null),
            Node::Scalar(Value::Bool(truth)) => Some(Key::Bool(*truth)),
            Node::Scalar(Value::Int(number)) => Some(Key::Int(number.to_string().into())),
            Node::Scalar(Value::BigInt(number)) => Some(Key::Int(number.as_str().into())),
            Node::Scalar(Value::Float(number)) => Some(Key::Float(repr(&Value::Float(*number)).into())),
            Node::Scalar(_) | Node::Binary(_) | Node::Vault(_) | Node::List(_) | Node::Map(_) => None,
        }
    }

    /// Says whether this is null, as an empty value is.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.node(), Node::Scalar(Value::Null))
    }

    /// Returns what the node is, for messages: `text`, `a list` and so on.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.node() {
            Node::Scalar(Value::Null) => "null",
            Node::Scalar(Value::Bool(_)) => "a boolean",
            Node::Scalar(_) => "a number",
            Node::Date(_) => "a date",
            Node::Binary(_) => "binary data",
            Node::Text(_) | Node::Unsafe(_) => "text",
            Node::Vault(_) => "encrypted text",
            Node::List(_) => "a list",
            Node::Map(_) => "a mapping",
        }
    }

    pub(crate) fn extent(&self) -> Extent {
        self.0.extent
    }
}

impl Map {
    /// Returns the value of a key that is text.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Source> {
        self.get_entry(key).map(|entry| &entry.value)
    }

    /// Returns the entry of a key that is text.
    #[must_use]
    pub fn get_entry(&self, key: &str) -> Option<&Entry> {
        self.entries.get(&Lookup(key))
    }

    pub(crate) fn value_of(&self, key: &Key) -> Option<&Source> {
        self.entries.get(key).map(|entry| &entry.value)
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

    /// Adds an entry, and returns whether the key was there already. Then it stays as it was, and has the new value.
    pub(crate) fn insert(&mut self, key: Key, entry: Entry) -> bool {
        match self.entries.get_mut(&key) {
            Some(old) => {
                old.value = entry.value;
                true
            }
            None => self.entries.insert(key, entry).is_some(),
        }
    }
}
