//! Why a text is no rule of the network.

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}` is no network rule: {cause}")]
pub struct NetRuleError {
    rule: String,
    cause: String,
}

impl NetRuleError {
    pub(super) fn new(rule: &str, cause: &str) -> Self {
        Self { rule: rule.to_owned(), cause: cause.to_owned() }
    }
}
