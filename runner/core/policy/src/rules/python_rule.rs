//! What `modbox-python` does with the Python modules that ansible-core sends.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What `modbox-python` does with a module. The strictest value is the greatest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PythonRule {
    /// The module runs without confinement, and what its policy does not grant is recorded.
    Observe,
    /// The module runs under its policy.
    #[default]
    Confine,
    /// The module does not run.
    Refuse,
}

impl PythonRule {
    /// Every value.
    pub const ALL: [Self; 3] = [Self::Observe, Self::Confine, Self::Refuse];

    /// Returns the word that files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Confine => "confine",
            Self::Refuse => "refuse",
        }
    }
}

impl fmt::Display for PythonRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for PythonRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|value| value.as_str() == text);
        found.ok_or_else(|| format!("unknown rule `{text}`; expected one of `observe`, `confine`, `refuse`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_written() {
        for rule in PythonRule::ALL {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        assert!(PythonRule::Observe < PythonRule::Refuse);
        assert!("yes".parse::<PythonRule>().unwrap_err().contains("`yes`"));
    }
}
