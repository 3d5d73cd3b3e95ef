//! The reason why the value of an expression is unknown.

/// The reason why a value is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct NotLiteral {
    /// Line in the source.
    pub line: usize,
    /// What the value depends on, as a clause for people.
    pub reason: String,
}
