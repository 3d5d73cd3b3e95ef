//! JSON, which Ansible tries before YAML.
//!
//! The two differ where a text is both: in JSON `1e3` is a number and `"\/"` an escape sequence. As in Ansible, nodes
//! of JSON have no positions of their own: all are at the start of the text.

use std::sync::Arc;

use modbox_python_json::{Dict, Value, decode};

use crate::error::{Problem, YamlError};
use crate::key::Key;
use crate::limits::{MAX_DEPTH, MAX_NODES, MAX_TEXT};
use crate::position::Position;
use crate::source::{Entry, Map, Node, Source};

/// Keys with which Ansible marks text in JSON.
const UNSAFE: &str = "__ansible_unsafe";
const VAULT: &str = "__ansible_vault";

/// Reads a text if it is JSON; `None` if it is not, and YAML has to be tried.
pub(crate) fn read_json(text: &str, start: &Position) -> Option<Result<Source, YamlError>> {
    // A text with so many signs could need too much memory before its nodes are counted. YAML counts them on the way.
    let signs = || text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{' | b':')).count();
    if text.len() > MAX_TEXT || signs() >= MAX_NODES {
        return None;
    }
    let source = node(decode(text).ok()?, start)?;
    let is_deep = source.height() > MAX_DEPTH;
    Some(if is_deep { Err(YamlError::new(start, Problem::TooDeep)) } else { Ok(source) })
}

/// Makes a node of a value; `None` if Ansible refuses it, and goes on with YAML.
fn node(value: Value, start: &Position) -> Option<Source> {
    let made = match value {
        Value::Str(text) => Node::Text(text.into()),
        Value::Surrogates(_) => return None,
        Value::List(items) => Node::List(items.into_iter().map(|item| node(item, start)).collect::<Option<_>>()?),
        Value::Dict(entries) => dict(entries, start)?,
        scalar => Node::Scalar(scalar),
    };
    Some(Source::new(made, start.clone()))
}

fn dict(mut entries: Dict, start: &Position) -> Option<Node> {
    if let Some(marked) = entries.swap_remove(UNSAFE) {
        return marked.as_str().map(|text| Node::Unsafe(text.into()));
    }
    if let Some(marked) = entries.swap_remove(VAULT) {
        return marked.as_str().map(|text| Node::Vault(text.into()));
    }
    let mut map = Map::default();
    for (key, value) in entries {
        let text: Arc<str> = key.into();
        // As in Ansible, keys of JSON are never templates.
        let key = Source::new(Node::Unsafe(Arc::clone(&text)), start.clone());
        map.insert(Key::Text(text), Entry { key, value: node(value, start)? });
    }
    Some(Node::Map(map))
}
