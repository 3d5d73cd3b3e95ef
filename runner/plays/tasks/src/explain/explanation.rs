//! What is known of a task before it runs.

use std::fmt;

/// Why an argument is not known before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownReason {
    /// It is made of results of tasks, which are named.
    Results(String),
    /// It is made of facts.
    Facts,
    /// A run would not know it either, for a reason.
    Fault(String),
}

impl UnknownReason {
    /// Returns whether the run will know it.
    #[must_use]
    pub fn ends_at_run_time(&self) -> bool {
        !matches!(self, Self::Fault(_))
    }
}

impl fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Results(names) => write!(f, "from {names}"),
            Self::Facts => f.write_str("from facts"),
            Self::Fault(reason) => f.write_str(reason),
        }
    }
}

/// What a task would do.
#[derive(Debug, Clone, Default)]
pub struct TaskExplanation {
    /// The name of the play.
    pub play: String,
    /// The name, with that of its role.
    pub name: String,
    /// The name without that of its role.
    pub short_name: String,
    /// The full name of its role.
    pub role: Option<String>,
    /// The action.
    pub action: String,
    /// Where it is written.
    pub position: String,
    /// Whether it is a handler.
    pub is_handler: bool,
    /// The tags.
    pub tags: Vec<String>,
    /// The conditions, as they are written.
    pub conditions: Vec<String>,
    /// What it repeats for.
    pub repeats: Option<String>,
    /// Arguments that are not known yet, with the reason of each.
    pub unknown: Vec<(String, UnknownReason)>,
    /// The templates in such arguments, as they are written: `{{ name }}`.
    pub templates: Vec<(String, String)>,
    /// Whether `no_log` hides what it does.
    pub is_hidden: bool,
    /// Why it would not run.
    pub refused: Vec<String>,
    /// What else could not be explained, and why.
    pub notes: Vec<String>,
}
