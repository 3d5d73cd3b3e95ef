//! The state of one validation: what it has collected, and the options around the current level.
//!
//! The steps are in `steps.rs`.

use std::collections::BinaryHeap;

use indexmap::IndexSet;

use crate::environment::Environment;
use crate::validated::{ErrorKind, Validated, ValidationError};

/// The position of each option of a level among the parameters, in the order of the spec.
pub(crate) type Positions = Vec<Option<usize>>;

/// One validation: what it has collected, and the options around the current level.
pub(crate) struct Run<'a> {
    pub(crate) environment: &'a dyn Environment,
    pub(crate) result: Validated,
    /// The options around this level, and the item's number in a list.
    pub(crate) path: Vec<(&'a str, Option<usize>)>,
    /// Unknown arguments, each with the options around it.
    pub(crate) unsupported: IndexSet<Vec<String>>,
    /// The options of the first level that has unknown arguments.
    pub(crate) supported: Option<String>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(environment: &'a dyn Environment) -> Self {
        let (path, unsupported) = (Vec::new(), IndexSet::new());
        Self { environment, result: Validated::default(), path, unsupported, supported: None }
    }

    pub(crate) fn error(&mut self, kind: ErrorKind, message: impl Into<String>) {
        self.result.errors.push(ValidationError { kind, message: message.into() });
    }

    pub(crate) fn errors(&mut self, errors: impl IntoIterator<Item = (ErrorKind, String)>) {
        for (kind, message) in errors {
            let message = format!("{message}{}", self.found_in());
            self.error(kind, message);
        }
    }

    fn context(&self) -> String {
        self.path.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" -> ")
    }

    /// Returns the part of a message that names the options around a level. Empty at the top level.
    pub(crate) fn found_in(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!(" found in {}", self.context()) }
    }

    /// Returns the same in quotes, as in messages about types.
    pub(crate) fn found_in_quoted(&self, stop: &str) -> String {
        if self.path.is_empty() { String::new() } else { format!(" found in '{}'{stop}", self.context()) }
    }

    /// Returns the name of this level in warnings: `users[0].keys.`.
    pub(crate) fn prefix(&self) -> String {
        let step = |(name, index): &(&str, Option<usize>)| match index {
            Some(index) => format!("{name}[{index}]."),
            None => format!("{name}."),
        };
        self.path.iter().map(step).collect()
    }

    /// Adds the error about all unknown arguments, if there are any.
    pub(crate) fn unsupported_error(&mut self) {
        let Some(supported) = self.supported.take() else { return };
        let names: Vec<String> = self.unsupported.iter().map(|path| path.join(".")).collect();
        let names: Vec<String> = sorted(names.iter().map(String::as_str)).into_iter().map(str::to_owned).collect();
        let message = format!("{}. Supported parameters include: {supported}.", names.join(", "));
        self.error(ErrorKind::Unsupported, message);
        self.result.unsupported = names;
    }
}

/// Sorts texts. The same function sorts all of them, since code size counts in a guest.
pub(crate) fn sorted<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    texts.collect::<BinaryHeap<_>>().into_sorted_vec()
}
