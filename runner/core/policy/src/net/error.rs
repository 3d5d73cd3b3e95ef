//! The error for invalid network rules.

/// The reason why a text is not a network rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid network rule `{rule}`: {cause}")]
pub struct NetRuleError {
    rule: String,
    cause: String,
}

impl NetRuleError {
    pub(super) fn new(rule: &str, cause: &str) -> Self {
        Self { rule: rule.to_owned(), cause: cause.to_owned() }
    }
}
