//! Sources made of other sources: parts of texts, lists and mappings of nodes.
//!
//! None of these functions takes text that changes at run time, so what they return is as trusted as what they are
//! given.

use std::ops::Range;
use std::sync::Arc;

use modbox_python_json::Value;

use crate::error::{Problem, YamlError};
use crate::escapes::decode_escapes;
use crate::key::Key;
use crate::position::Position;
use crate::source::{Entry, Map, Node, Source};

impl Source {
    /// Makes a list of nodes.
    #[must_use]
    pub fn list_of(items: Vec<Self>, position: Position) -> Self {
        Self::new(Node::List(items), position)
    }

    /// Makes a mapping of keys and values. Of equal keys, the last value wins.
    ///
    /// # Errors
    ///
    /// A node cannot be a key; see [`Source::as_key`].
    pub fn map_of(entries: impl IntoIterator<Item = (Self, Self)>, position: Position) -> Result<Self, YamlError> {
        let mut map = Map::default();
        for (key, value) in entries {
            let Some(found) = key.as_key() else {
                return Err(YamlError::new(key.position(), Problem::InvalidKey(key.kind())));
            };
            map.insert(found, Entry { key, value });
        }
        Ok(Self::new(Node::Map(map), position))
    }

    /// Makes a null, as for a keyword without a value.
    #[must_use]
    pub fn null(position: Position) -> Self {
        Self::new(Node::Scalar(Value::Null), position)
    }

    /// Makes text of a constant of the program, such as the default of a keyword.
    #[must_use]
    pub fn literal(text: &'static str) -> Self {
        Self::new(Node::Text(text.into()), Position::start_of("<modbox>"))
    }

    /// Makes the template of an expression. Text from elsewhere may be in it only as a literal.
    #[must_use]
    pub fn template_of(expression: &str, position: Position) -> Self {
        Self::new(Node::Text(format!("{{{{ {expression} }}}}").into()), position)
    }

    /// Returns a part of a text by bytes, at the position of the whole; `None` if this is not text or has no such part.
    #[must_use]
    pub fn text_of(&self, range: Range<usize>) -> Option<Self> {
        match self.node() {
            Node::Text(text) | Node::Unsafe(text) => Some(self.with_text(text.get(range)?.into())),
            _ => None,
        }
    }

    /// Returns a part of a text by bytes, with the escapes in it replaced by their characters; `None` if this is not text,
    /// has no such part, or an escape has no character.
    #[must_use]
    pub fn unescaped_text_of(&self, range: Range<usize>) -> Option<Self> {
        match self.node() {
            Node::Text(text) | Node::Unsafe(text) => {
                Some(self.with_text(decode_escapes(text.get(range)?).ok()?.into()))
            }
            _ => None,
        }
    }

    /// Returns the node without its templates: each text in it is data from now on.
    #[must_use]
    pub fn as_data(&self) -> Self {
        let node = match self.node() {
            Node::Text(text) => Node::Unsafe(Arc::clone(text)),
            Node::List(items) => {
                return Self::list_of(items.iter().map(Self::as_data).collect(), self.position().clone());
            }
            Node::Map(map) => {
                let mut made = Map::default();
                for (key, entry) in map.iter() {
                    made.insert(key.clone(), Entry { key: entry.key.as_data(), value: entry.value.as_data() });
                }
                return Self::new(Node::Map(made), self.position().clone());
            }
            _ => return self.clone(),
        };
        Self::new(node, self.position().clone())
    }

    /// Splits a text such as `one, two` at a separator, and removes white space around each part. A list is returned as
    /// its items, and every other node as the only item.
    #[must_use]
    pub fn split_list(&self, separator: char) -> Vec<Self> {
        match self.node() {
            Node::Text(text) | Node::Unsafe(text) => {
                text.split(separator).map(|part| self.with_text(part.trim().into())).collect()
            }
            Node::List(items) => items.clone(),
            _ => vec![self.clone()],
        }
    }

    /// Makes data, in which no text is a template.
    #[must_use]
    pub fn data_of(value: Value, position: &Position) -> Self {
        let node = match value {
            Value::Str(text) => Node::Unsafe(text.into()),
            Value::List(items) => Node::List(items.into_iter().map(|item| Self::data_of(item, position)).collect()),
            Value::Dict(entries) => {
                let mut map = Map::default();
                for (key, value) in entries {
                    let key: Arc<str> = key.into();
                    let entry = Entry {
                        key: Self::new(Node::Unsafe(Arc::clone(&key)), position.clone()),
                        value: Self::data_of(value, position),
                    };
                    map.insert(Key::Text(key), entry);
                }
                Node::Map(map)
            }
            scalar => Node::Scalar(scalar),
        };
        Self::new(node, position.clone())
    }

    /// Returns a mapping in which a key has another value. Every other node, and one with a key that cannot be one, is
    /// returned as it is.
    #[must_use]
    pub fn with_entry(&self, key: Self, value: Self) -> Self {
        let (Some(map), Some(found)) = (self.as_map(), key.as_key()) else { return self.clone() };
        let mut changed = Map::default();
        for (known, entry) in map.iter() {
            changed.insert(known.clone(), entry.clone());
        }
        changed.insert(found, Entry { key, value });
        Self::new(Node::Map(changed), self.position().clone())
    }

    /// Returns two mappings as one: keys that both have get the value of `above`, and mappings among those values become one in the
    /// same way (ansible-core, `merge_hash`). Of other nodes, `above` is returned.
    #[must_use]
    pub fn merged_with(&self, above: &Self) -> Self {
        let (Some(below), Some(more)) = (self.as_map(), above.as_map()) else { return above.clone() };
        if below.is_empty() || self.is_same(above) {
            return above.clone();
        }
        if more.is_empty() {
            return self.clone();
        }
        let mut merged = Map::default();
        for (key, entry) in below.iter() {
            merged.insert(key.clone(), entry.clone());
        }
        for (key, entry) in more.iter() {
            let value = match merged.value_of(key) {
                Some(known) => known.merged_with(&entry.value),
                None => entry.value.clone(),
            };
            merged.insert(key.clone(), Entry { key: entry.key.clone(), value });
        }
        Self::new(Node::Map(merged), above.position().clone())
    }

    /// Returns a text as data, as if it had the tag `!unsafe`. Every other node is returned as it is.
    #[must_use]
    pub fn as_unsafe(&self) -> Self {
        match self.node() {
            Node::Text(text) => Self::new(Node::Unsafe(Arc::clone(text)), self.position().clone()),
            _ => self.clone(),
        }
    }

    /// Makes text with the trust and the position of this node. The text must be made of this node's.
    pub(crate) fn with_text(&self, text: Arc<str>) -> Self {
        let is_template = matches!(self.node(), Node::Text(_));
        let node = if is_template { Node::Text(text) } else { Node::Unsafe(text) };
        Self::new(node, self.position().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{load_play_file, template_file};

    #[test]
    fn a_node_as_data_has_no_template() {
        let text = "a: '{{ x }}'\nb: ['{{ y }}', 1]\n";
        let (source, untrusted) =
            (load_play_file(text, "x").unwrap().root, "a: !unsafe '{{ x }}'\nb: !unsafe ['{{ y }}', 1]\n");
        let data = source.as_data();
        let expect = load_play_file(untrusted, "x").unwrap().root;
        let node = |source: &Source, key: &str| format!("{:?}", source.as_map().unwrap().get(key).unwrap().node());
        assert_eq!(node(&data, "a"), node(&expect, "a"));
        assert!(matches!(data.as_map().unwrap().get("b").unwrap().as_list().unwrap()[0].node(), Node::Unsafe(_)));
    }

    #[test]
    fn escapes_of_a_part_are_replaced() {
        let text = template_file(r"a '\'{{ x }}\r\n'", "x");
        let part = text.unescaped_text_of(3..16).unwrap();
        assert_eq!(part.as_text().map(|text| &**text), Some("'{{ x }}\r\n"));
    }

    #[test]
    fn parts_of_a_text_stay_what_it_is() {
        let text = template_file("a, {{ b }} ,", "x");
        let parts: Vec<_> = text.split_list(',').iter().map(|part| part.as_text().unwrap().to_string()).collect();
        assert_eq!(parts, ["a", "{{ b }}", ""]);
        assert_eq!(text.text_of(3..10).unwrap().as_text().map(|text| &**text), Some("{{ b }}"));
        assert!(text.text_of(3..99).is_none());
        let data = load_play_file("!unsafe a,b", "x").unwrap().root;
        assert!(data.split_list(',').iter().all(|part| part.as_text().is_none()));
        assert!(matches!(data.text_of(0..1).unwrap().node(), Node::Unsafe(text) if &**text == "a"));
        assert!(text.as_unsafe().as_text().is_none());
    }

    #[test]
    fn data_has_no_templates() {
        let value = Value::from([("a", Value::from("{{ b }}")), ("{{ c }}", Value::Null)]);
        let position = Position::start_of("x");
        let data = Source::data_of(value.clone(), &position);
        assert_eq!(data.to_data().unwrap(), value);
        assert!(data.as_map().unwrap().iter().all(|(_, entry)| entry.key.as_text().is_none()));
        assert!(data.as_map().unwrap().get("a").unwrap().as_text().is_none());
        let changed = data.with_entry(Source::literal("a"), template_file("{{ b }}", "x"));
        assert!(changed.as_map().unwrap().get("a").unwrap().as_text().is_some());
        assert_eq!(changed.to_data().unwrap(), value);
    }

    #[test]
    fn mappings_become_one_key_by_key() {
        let read = |text: &str| load_play_file(text, "x").unwrap().root;
        let check = |below: &str, above: &str, expect: &str| {
            let merged = read(below).merged_with(&read(above));
            assert_eq!(modbox_python_json::encode(&merged.to_data().unwrap()), expect, "{below} {above}");
        };
        check("{a: 1, b: {c: [1], d: 2}}", "{b: {c: [3]}, e: 4}", r#"{"a": 1, "b": {"c": [3], "d": 2}, "e": 4}"#);
        check("{a: {b: 1}}", "{a: 2}", r#"{"a": 2}"#);
        check("{a: 1}", "{a: {b: 2}}", r#"{"a": {"b": 2}}"#);
        check("[1]", "{a: 1}", r#"{"a": 1}"#);
        check("{a: 1}", "{}", r#"{"a": 1}"#);
        check("{a: 1}", "null", "null");
        let merged = read("a: {b: '{{ x }}'}").merged_with(&read("a: {c: !unsafe '{{ y }}'}"));
        let a = merged.as_map().unwrap().get("a").unwrap().as_map().unwrap();
        assert!(a.get("b").unwrap().as_text().is_some() && a.get("c").unwrap().as_text().is_none());
    }

    #[test]
    fn mappings_are_made_of_nodes_that_can_be_keys() {
        let position = Position::start_of("x");
        let pairs = [(Source::literal("a"), Source::literal("b")), (Source::literal("a"), Source::literal("c"))];
        let map = Source::map_of(pairs, position.clone()).unwrap();
        assert_eq!(map.to_data().unwrap(), Value::from([("a", "c")]));
        let list = Source::list_of(vec![map], position.clone());
        assert!(Source::map_of([(list, Source::null(position.clone()))], position).is_err());
    }
}
