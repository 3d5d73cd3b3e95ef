//! The three ways from text to a source: files of a play, extra variables of the command line, and template files.
//!
//! There is no fourth. What a module prints, a fact, the content of another file and an environment variable stay values.

use std::sync::Arc;

use crate::error::{Problem, YamlError};
use crate::position::Position;
use crate::read::{Constructed, compose, construct, read_json};
use crate::source::{Node, Source};
use crate::warning::Warning;

/// A text that was read.
#[derive(Debug)]
pub struct Document {
    /// The topmost node; null for a text without one.
    pub root: Source,
    /// What Ansible would warn of.
    pub warnings: Vec<Warning>,
}

/// Reads a file that belongs to a play: the play itself, tasks, variables, defaults, `meta` and so on.
///
/// As in Ansible, the text is read as JSON if it is that, and otherwise as YAML 1.1 with exactly one document.
///
/// # Errors
///
/// The text is not YAML, has an unknown tag or an invalid scalar, or is larger than a limit.
pub fn load_play_file(text: &str, file: &str) -> Result<Document, YamlError> {
    let start = Position::start_of(file);
    if let Some(read) = read_json(text, &start) {
        return Ok(Document { root: read?, warnings: Vec::new() });
    }
    let Constructed { root, warnings } = construct(compose(text, &start.file)?)?;
    Ok(Document { root, warnings })
}

/// Reads extra variables as JSON or YAML: what `-e` gets as `{"x": 1}`, and the file that `-e @FILE` names.
///
/// # Errors
///
/// The same as for [`load_play_file`], or the text is not a mapping.
pub fn load_extra_vars(text: &str, name: &str) -> Result<Document, YamlError> {
    let document = load_play_file(text, name)?;
    if document.root.as_map().is_none() {
        let problem = Problem::Unexpected { expected: "a mapping of variables", found: document.root.kind() };
        return Err(YamlError::new(document.root.position(), problem));
    }
    Ok(document)
}

/// Reads extra variables as `-e` gets them in its other notation: `name=value other="{{ value }}"`. All values are text.
///
/// # Errors
///
/// A quote or a block of a template does not end, or an escape sequence has no character.
pub fn extra_vars_key_values(text: &str, name: &str) -> Result<Document, YamlError> {
    let root = template_file(text, name).key_values(false)?;
    Ok(Document { root, warnings: Vec::new() })
}

/// Takes the text of a template file, at the moment when it is rendered.
#[must_use]
pub fn template_file(text: &str, file: &str) -> Source {
    Source::new(Node::Text(Arc::from(text)), Position::start_of(file))
}
