//! Reading the values of keywords that are not evaluated: types, lists of names, and mappings of variables.

use std::sync::Arc;

use modbox_template::Layer;
use modbox_yaml::{Key, Map, Node, Source};

use crate::error::{LoadError, Problem};
use crate::load::context::Loader;
use crate::vars::layer;

/// Returns the text of a scalar: text as it is, and numbers as Python writes them.
#[must_use]
pub fn scalar_text(source: &Source) -> Option<String> {
    match source.node() {
        Node::Text(text) | Node::Unsafe(text) | Node::Date(text) => Some(text.to_string()),
        Node::Scalar(modbox_python_json::Value::Null) => None,
        Node::Scalar(value) => Some(modbox_python_json::str(value)),
        _ => None,
    }
}

/// Returns the truth of a scalar that is a boolean, or a word for one.
#[must_use]
pub fn boolean(source: &Source) -> Option<bool> {
    boolean_of(&scalar_text(source)?)
}

/// Returns the truth of a word.
#[must_use]
pub fn boolean_of(text: &str) -> Option<bool> {
    match text.to_lowercase().trim() {
        "y" | "yes" | "on" | "1" | "true" | "t" | "1.0" => Some(true),
        "n" | "no" | "off" | "0" | "false" | "f" | "0.0" => Some(false),
        _ => None,
    }
}

/// Returns the text of a key.
#[must_use]
pub fn key_text(key: &Key) -> String {
    match key {
        Key::Text(text) | Key::Int(text) | Key::Float(text) | Key::Date(text) => text.to_string(),
        Key::Bool(true) => "True".to_owned(),
        Key::Bool(false) => "False".to_owned(),
        Key::Null => "None".to_owned(),
    }
}

/// Returns the mapping that a node is.
///
/// # Errors
///
/// The node is not a mapping.
pub fn map<'a>(source: &'a Source, what: &str) -> Result<&'a Map, LoadError> {
    source.as_map().ok_or_else(|| wrong_type(source, what, "a mapping"))
}

/// Returns the items of a list, the one item that a value is, or nothing for null.
#[must_use]
pub fn items(source: &Source) -> Vec<Source> {
    match source.node() {
        Node::List(items) => items.clone(),
        _ if source.is_null() => Vec::new(),
        _ => vec![source.clone()],
    }
}

/// Returns the error that a node has another type than is needed.
#[must_use]
pub fn wrong_type(source: &Source, what: &str, expected: &str) -> LoadError {
    let problem = Problem::WrongType { what: what.to_owned(), expected: expected.to_owned(), found: source.kind() };
    LoadError::new(source.position(), problem)
}

/// Says whether a text is a name that variables can have.
#[must_use]
pub fn is_variable_name(name: &str) -> bool {
    // Constants of templates, which would hide the variable.
    const RESERVED: [&str; 7] = ["False", "None", "True", "false", "none", "not", "true"];
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first == '_' || first.is_ascii_alphabetic())
        && characters.all(|c| c == '_' || c.is_ascii_alphanumeric())
        && !RESERVED.contains(&name)
}

/// Reads the mapping of the keyword `vars`. Names that variables cannot have are reported.
#[must_use]
pub fn vars(loader: &Loader<'_>, source: Option<&Source>) -> Arc<Layer> {
    let Some(source) = source.filter(|source| !source.is_null()) else { return layer::empty() };
    let Some(map) = source.as_map() else {
        loader.report(wrong_type(source, "vars", "a mapping"));
        return layer::empty();
    };
    for (key, entry) in map.iter() {
        let name = key_text(key);
        if !matches!(key, Key::Text(_)) || !is_variable_name(&name) {
            loader.report(LoadError::new(entry.key.position(), Problem::VariableName { name }));
        }
    }
    layer::of_map(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_names_are_those_of_ansible() {
        let check = |name: &str, expect| assert_eq!(is_variable_name(name), expect, "{name}");
        check("a", true);
        check("_a1", true);
        check("1a", false);
        check("a-b", false);
        check("", false);
        check("class", true);
        check("not", false);
        check("é", false);
    }
}
