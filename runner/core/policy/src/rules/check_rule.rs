//! What check mode does: it asks the module, or observes a real run on layers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a run in check mode does. The strictest value is the greatest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CheckRule {
    /// The module runs in its own check mode, and its word counts.
    #[default]
    Module,
    /// The module runs for real on layers. What it changes there is shown and discarded.
    Observe,
    /// Both, and they are compared.
    Both,
}

impl CheckRule {
    /// Every value.
    pub const ALL: [Self; 3] = [Self::Module, Self::Observe, Self::Both];

    /// Returns the word that files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Observe => "observe",
            Self::Both => "both",
        }
    }
}

impl fmt::Display for CheckRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for CheckRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|value| value.as_str() == text);
        found.ok_or_else(|| format!("unknown rule `{text}`; expected one of `module`, `observe`, `both`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_written() {
        for rule in CheckRule::ALL {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        assert!("yes".parse::<CheckRule>().unwrap_err().contains("`yes`"));
    }
}
