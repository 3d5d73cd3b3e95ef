//! What is known of a task before it runs.

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
    pub unknown: Vec<(String, String)>,
    /// Why it would not run.
    pub refused: Vec<String>,
    /// What else could not be explained, and why.
    pub notes: Vec<String>,
}
