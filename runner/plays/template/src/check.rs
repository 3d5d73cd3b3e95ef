//! Checks before anything runs: syntax, and names of filters, tests and lookups. Nothing is evaluated.

use modbox_jinja::PluginKind;
use modbox_yaml::{Node, Position, Source};

use crate::compile::{Form, Mention, compile};
use crate::error::Kind;
use crate::lookups::meaning;
use crate::machine::Machine;
use crate::options::TemplateOptions;
use crate::text;

/// A problem of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where the text begins.
    pub position: Position,
    /// The line within the text, from 1.
    pub line: u32,
    /// What is wrong.
    pub problem: Problem,
    /// Whether evaluating the text fails whatever its variables are.
    pub is_certain: bool,
}

impl Finding {
    /// Returns the kind and the name of the plugin that is missing.
    #[must_use]
    pub fn plugin(&self) -> Option<(PluginKind, &str)> {
        match &self.problem {
            Problem::Filter { name, .. } => Some((PluginKind::Filter, name)),
            Problem::Test { name, .. } => Some((PluginKind::Test, name)),
            Problem::Lookup { name } => Some((PluginKind::Lookup, name)),
            Problem::Syntax { .. } => None,
        }
    }
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text cannot be parsed.
    #[error("failed to parse the {kind}: {message}")]
    Syntax {
        /// What the text is.
        kind: Kind,
        /// What was found.
        message: String,
    },
    /// A filter that modbox does not have.
    #[error("{message}")]
    Filter {
        /// The filter.
        name: String,
        /// Why it cannot be used.
        message: String,
    },
    /// A test that modbox does not have.
    #[error("{message}")]
    Test {
        /// The test.
        name: String,
        /// Why it cannot be used.
        message: String,
    },
    /// A lookup that modbox does not have.
    #[error("unknown lookup `{name}`")]
    Lookup {
        /// The lookup.
        name: String,
    },
}

/// Adds the problems of all texts in a node.
pub(crate) fn check(machine: &Machine, source: &Source, kind: Kind, found: &mut Vec<Finding>) {
    let options = TemplateOptions::default();
    match source.node() {
        Node::List(items) => items.iter().for_each(|item| check(machine, item, kind, found)),
        Node::Map(map) => map.iter().for_each(|(_, entry)| check(machine, &entry.value, kind, found)),
        Node::Text(written) => match kind {
            Kind::Template if !text::is_template(written) => {}
            Kind::Template => check_text(machine, source, (written, Form::Template), &options, found),
            Kind::Expression => check_text(machine, source, (written, Form::Expression), &options, found),
            // A template as a condition stands for the expression in a variable.
            Kind::Condition if text::is_all_template(written.trim()) => {
                check_text(machine, source, (written, Form::Template), &options, found);
            }
            Kind::Condition => check_text(machine, source, (written.trim(), Form::Condition), &options, found),
        },
        _ => {}
    }
}

/// Adds the problems of a template file, each at its line.
pub(crate) fn check_file(machine: &Machine, file: &Source, found: &mut Vec<Finding>) {
    let options = TemplateOptions { process_escapes: true, ..TemplateOptions::default() };
    let Node::Text(written) = file.node() else { return };
    check_text(machine, file, (written, Form::Template), &options, found);
    for finding in found {
        finding.position.line = std::mem::replace(&mut finding.line, 1);
    }
}

fn check_text(
    machine: &Machine,
    source: &Source,
    (written, form): (&str, Form),
    options: &TemplateOptions,
    found: &mut Vec<Finding>,
) {
    let mut add = |line, problem, is_certain| {
        found.push(Finding { position: source.position().clone(), line, problem, is_certain });
    };
    let program = match compile(written, form, options) {
        Ok(program) => program,
        Err(failure) => {
            let kind = match form {
                Form::Template => Kind::Template,
                Form::Expression => Kind::Expression,
                Form::Condition => Kind::Condition,
            };
            return add(failure.line, Problem::Syntax { kind, message: failure.message }, true);
        }
    };
    for mention in &program.mentions {
        match mention {
            Mention::Filter { name, line, is_certain } if machine.filter(name).is_none() => {
                let (name, message) = (name.to_string(), machine.unknown_filter(name));
                add(*line, Problem::Filter { name, message }, *is_certain);
            }
            Mention::Test { name, line, is_certain } if machine.test(name).is_none() => {
                let (name, message) = (name.to_string(), machine.unknown_test(name));
                add(*line, Problem::Test { name, message }, *is_certain);
            }
            Mention::Lookup { name, line } if meaning(machine, name).is_none() && !text::is_template(name) => {
                add(*line, Problem::Lookup { name: name.to_string() }, !program.has_choices);
            }
            _ => {}
        }
    }
}
