//! Whether a text is a template.

use modbox_yaml::{Node, Source};

const STARTS: [&str; 3] = ["{{", "{%", "{#"];
const ENDS: [&str; 3] = ["}}", "%}", "#}"];

/// Says whether a text has template syntax in it, valid or not.
pub(crate) fn is_template(text: &str) -> bool {
    text.starts_with("#jinja2:") || (text.contains('{') && STARTS.iter().any(|start| text.contains(start)))
}

/// Says whether a text begins and ends as a template.
pub(crate) fn is_all_template(text: &str) -> bool {
    text.starts_with("#jinja2:")
        || (STARTS.iter().any(|start| text.starts_with(start)) && ENDS.iter().any(|end| text.ends_with(end)))
}

/// Says whether there is a template anywhere in a node.
pub(crate) fn has_template(source: &Source) -> bool {
    match source.node() {
        Node::Text(text) => is_template(text),
        Node::List(items) => items.iter().any(has_template),
        Node::Map(map) => map.iter().any(|(_, entry)| has_template(&entry.value)),
        _ => false,
    }
}
