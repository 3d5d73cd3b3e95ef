//! From a source to a value, without rendering templates.

use modbox_python_json::{Dict, Value};

use crate::error::{Problem, YamlError};
use crate::key::Key;
use crate::limits::{MAX_DEPTH, MAX_EXPANDED_SIZE};
use crate::source::{Node, Source};

impl Source {
    /// Returns the value of the tree as it is written: templates stay text, dates become text, bytes become text as
    /// Python's `os.fsdecode` makes it, and keys become text as in JSON.
    ///
    /// # Errors
    ///
    /// The tree has encrypted text in it, or is larger than [`MAX_EXPANDED_SIZE`] or deeper than [`MAX_DEPTH`].
    pub fn to_data(&self) -> Result<Value, YamlError> {
        if self.expanded_size() > MAX_EXPANDED_SIZE {
            return Err(YamlError::new(self.position(), Problem::TooLarge));
        }
        if self.height() > MAX_DEPTH {
            return Err(YamlError::new(self.position(), Problem::TooDeep));
        }
        value(self)
    }
}

fn value(source: &Source) -> Result<Value, YamlError> {
    match source.node() {
        Node::Scalar(value) => Ok(value.clone()),
        Node::Date(text) | Node::Text(text) | Node::Unsafe(text) => Ok(Value::Str(text.as_ref().to_owned())),
        Node::Binary(bytes) => Ok(Value::from_os_bytes(bytes)),
        Node::Vault(_) => Err(YamlError::new(source.position(), Problem::Encrypted)),
        Node::List(items) => items.iter().map(value).collect::<Result<_, _>>().map(Value::List),
        Node::Map(map) => {
            let entries = map.iter().map(|(key, entry)| Ok((key_text(key), value(&entry.value)?)));
            entries.collect::<Result<Dict, _>>().map(Value::Dict)
        }
    }
}

/// Returns the text that Python's `json` module makes of a key.
fn key_text(key: &Key) -> String {
    match key {
        Key::Text(text) | Key::Int(text) | Key::Float(text) | Key::Date(text) => text.as_ref().to_owned(),
        Key::Bool(true) => "true".to_owned(),
        Key::Bool(false) => "false".to_owned(),
        Key::Null => "null".to_owned(),
    }
}
