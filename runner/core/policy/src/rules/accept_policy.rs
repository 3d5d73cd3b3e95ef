//! What a host accepts from the policy that a controller sends with a task.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the policy of a task may do. The strictest value is the greatest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AcceptPolicy {
    /// Grant, and set limits, as a policy file of the host.
    Grants,
    /// Restrict what the host's policy grants.
    #[default]
    Narrow,
}

impl AcceptPolicy {
    /// Every value.
    pub const ALL: [Self; 2] = [Self::Grants, Self::Narrow];

    /// Returns the word that files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Grants => "grants",
            Self::Narrow => "narrow",
        }
    }
}

impl fmt::Display for AcceptPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for AcceptPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|value| value.as_str() == text);
        found.ok_or_else(|| format!("unknown rule `{text}`; expected one of `narrow`, `grants`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_written() {
        for rule in AcceptPolicy::ALL {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        assert!(AcceptPolicy::Grants < AcceptPolicy::Narrow);
        assert!("all".parse::<AcceptPolicy>().unwrap_err().contains("`all`"));
    }
}
