//! The results of actions, before they are merged with what is known of a resource.

use crate::resource::{Change, Resource};

/// Warnings about one output; a person reads no more.
const MAX_WARNINGS: usize = 16;

/// Result of looking for one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindResult {
    /// The resource; `None` if the provider does not know it.
    pub resource: Option<Resource>,
    /// Doubtful parts of the output.
    pub warnings: Vec<String>,
}

/// Result of listing resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListResult {
    /// The resources, in the provider's order.
    pub resources: Vec<Resource>,
    /// Doubtful parts of the output.
    pub warnings: Vec<String>,
}

/// Result of an update, as the provider reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateReport {
    /// The changes that the provider names, in its order.
    pub changes: Vec<Change>,
    /// Whether other differences count as changes.
    pub derive: bool,
    /// Doubtful parts of the output.
    pub warnings: Vec<String>,
}

/// List of warnings, each once, and at most as many as a person reads.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<String>);

impl Warnings {
    pub(crate) fn add(&mut self, warning: String) {
        if self.0.len() < MAX_WARNINGS && !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<String> {
        self.0
    }
}
