//! A task or a handler.

use std::sync::Arc;

use indexmap::IndexMap;
use modbox_template::Layer;
use modbox_yaml::{Node, Position, Source};

use crate::keywords::{Inheritance, Keyword};
use crate::model::frame::Frame;
use crate::model::keywords::KeywordValues;

/// A task or a handler.
#[derive(Debug)]
pub struct Task {
    /// The name of the action, which can be a template if it was given by `action`.
    pub action: Source,
    /// The arguments of the action.
    pub args: Args,
    /// The lookup of a `with_` keyword and its terms.
    pub lookup: Option<(String, Source)>,
    /// `loop_control`.
    pub loop_control: KeywordValues,
    /// The other keywords.
    pub keywords: KeywordValues,
    /// The variables of the keyword `vars`.
    pub vars: Arc<Layer>,
    /// What the task inherits from.
    pub frame: Arc<Frame>,
    /// Where the task is written.
    pub position: Position,
    /// What kind of task it is.
    pub kind: TaskKind,
}

/// What kind of task a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskKind {
    /// A task that is written in a file.
    Task,
    /// A handler, with the topics that it listens to.
    Handler(Vec<String>),
    /// A task that the engine adds.
    Implicit(ImplicitTask),
}

/// A task that is in no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImplicitTask {
    /// Gathers facts at the beginning of a play.
    GatherFacts,
    /// Runs the handlers that are notified.
    FlushHandlers,
    /// Marks the end of a role.
    RoleComplete,
    /// Checks the arguments of a role.
    ValidateArguments,
    /// Checks the variables of a play.
    ValidatePlay,
}

/// Arguments of an action.
#[derive(Debug, Clone, Default)]
pub struct Args {
    /// Text of the free form, such as a command line.
    pub raw: Option<Source>,
    /// Arguments by name, each with its key as it is written.
    pub named: IndexMap<Arc<str>, Argument>,
    /// A template for the whole mapping, as `args: "{{ arguments }}"` gives.
    pub whole: Option<Source>,
}

/// An argument.
#[derive(Debug, Clone)]
pub struct Argument {
    /// The name, which actions such as `set_fact` evaluate.
    pub key: Source,
    /// The value.
    pub value: Source,
}

impl Task {
    /// Returns the value of a keyword, of the task itself or inherited.
    #[must_use]
    pub fn keyword(&self, keyword: Keyword) -> Option<&Source> {
        self.keywords.get(keyword).or_else(|| match keyword.row().inheritance {
            Inheritance::Own => None,
            Inheritance::Override | Inheritance::Extend => self.frame.inherited(keyword),
        })
    }

    /// Returns all values of a keyword that extends, innermost first.
    #[must_use]
    pub fn collected(&self, keyword: Keyword) -> Vec<&Source> {
        let mut values: Vec<&Source> = self.keywords.get(keyword).into_iter().collect();
        values.extend(self.frame.collected(keyword));
        values
    }

    /// Returns the text of the action, which is its name unless it is a template.
    #[must_use]
    pub fn action_text(&self) -> &str {
        name_text(&self.action).unwrap_or_default()
    }

    /// Says whether the task repeats for items.
    #[must_use]
    pub fn has_loop(&self) -> bool {
        self.lookup.is_some() || self.keywords.get(Keyword::Loop).is_some()
    }

    /// Says whether the engine added the task and shows nothing of it.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        matches!(self.kind, TaskKind::Implicit(ImplicitTask::FlushHandlers | ImplicitTask::RoleComplete))
    }

    /// Says whether the task is a handler.
    #[must_use]
    pub fn is_handler(&self) -> bool {
        matches!(self.kind, TaskKind::Handler(_))
    }

    /// Returns what a `meta` task does.
    #[must_use]
    pub fn meta(&self) -> Option<&str> {
        is_builtin(self.action_text(), "meta").then(|| self.args.raw.as_ref()?.as_text().map(|text| &**text)).flatten()
    }

    /// Says whether the task includes tasks or a role while the play runs.
    #[must_use]
    pub fn is_include(&self) -> bool {
        is_one_of(self.action_text(), &["include_tasks", "include_role"])
    }
}

/// Says whether an action is the builtin one with a name, written with or without its collection.
#[must_use]
pub fn is_builtin(action: &str, name: &str) -> bool {
    short_name(action) == name
}

/// Says whether an action is a builtin one of a list.
#[must_use]
pub fn is_one_of(action: &str, names: &[&str]) -> bool {
    names.contains(&short_name(action))
}

/// Returns the text of the node that names an action. A key of JSON is not a template, and is a name all the same.
#[must_use]
pub fn name_text(action: &Source) -> Option<&str> {
    match action.node() {
        Node::Text(text) | Node::Unsafe(text) => Some(text),
        _ => None,
    }
}

/// Returns the name of a builtin action without its collection. Other names stay as they are.
#[must_use]
pub fn short_name(action: &str) -> &str {
    let stripped = action.strip_prefix("ansible.builtin.").or_else(|| action.strip_prefix("ansible.legacy."));
    stripped.unwrap_or(action)
}
