//! Reads the nodes of a policy file, and collects all errors.

use serde::de::Error;

use crate::written::file_error::{PolicyFileError, PolicyFileProblem};
use crate::written::node::{Content, Located, Node, Place};

/// Reads `true` or `false`.
pub(crate) fn parse_flag(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("`{text}` is neither `true` nor `false`"))
}

/// A reader of nodes that collects all errors.
#[derive(Default)]
pub(crate) struct FileReader {
    pub(crate) mistakes: Vec<PolicyFileProblem>,
}

impl FileReader {
    pub(crate) fn finish<T, E: Error>(mut self, read: impl FnOnce(&mut Self) -> T) -> Result<T, E> {
        let value = read(&mut self);
        self.mistakes.sort();
        if self.mistakes.is_empty() { Ok(value) } else { Err(E::custom(PolicyFileError(self.mistakes))) }
    }

    pub(crate) fn note(&mut self, place: Place, message: impl Into<String>) {
        let place = (place != Place::default()).then_some(place);
        self.mistakes.push(PolicyFileProblem { place, message: message.into() });
    }

    /// Reads the absolute path of a file. A relative path would be a different file in each working directory.
    pub(crate) fn absolute(&mut self, node: Node, what: &str) -> Option<Located<String>> {
        let place = node.place;
        let value = self.scalar(node, |path| match path.starts_with('/') {
            true => Ok(path.to_owned()),
            false => Err(format!("{what} `{path}` must be an absolute path")),
        })?;
        Some(Located { value, place })
    }

    pub(crate) fn unknown(&mut self, key: &Located<String>, known: &str) {
        self.note(key.place, format!("unknown key `{}`, expected one of {known}", key.value));
    }

    pub(crate) fn map(&mut self, node: Node, what: &str) -> Vec<(Located<String>, Node)> {
        match node.content {
            Content::Map(entries) => entries,
            Content::Null => Vec::new(),
            other => {
                self.note(node.place, format!("{what} is a mapping of keys to values, not {}", other.type_name()));
                Vec::new()
            }
        }
    }

    pub(crate) fn list(&mut self, node: Node) -> Vec<Node> {
        match node.content {
            Content::List(items) => items,
            Content::Null => Vec::new(),
            other => {
                self.note(node.place, format!("expected a list, such as `[…]`, not {}", other.type_name()));
                Vec::new()
            }
        }
    }

    pub(crate) fn texts(&mut self, node: Node) -> Vec<Located<String>> {
        let items = self.list(node);
        let item = |item: Node| match item.content {
            Content::Scalar(value) => Some(Located { value, place: item.place }),
            other => {
                self.note(item.place, format!("expected text, not {}", other.type_name()));
                None
            }
        };
        items.into_iter().filter_map(item).collect()
    }

    pub(crate) fn scalar<T>(&mut self, node: Node, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let parsed = match node.content {
            Content::Scalar(text) => parse(&text),
            other => Err(format!("expected a value, not {}", other.type_name())),
        };
        parsed.map_err(|message| self.note(node.place, message)).ok()
    }
}
