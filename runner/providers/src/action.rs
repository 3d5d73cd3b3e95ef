//! The actions of both calling conventions.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// How a provider is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// Words as input, lines of `key: value` as output.
    Simple,
    /// JSON as input and output.
    Json,
}

/// Action of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Print the metadata, in YAML.
    Describe,
    /// Print all resources; of the simple convention.
    List,
    /// Print one resource; of the simple convention.
    Find,
    /// Change one resource; of the simple convention.
    Update,
    /// Print resources; of the JSON convention.
    Get,
    /// Change resources; of the JSON convention.
    Set,
}

/// Word that is not the name of an action.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown action `{0}`; expected one of {list}", list = Action::ALL.map(Action::as_str).join(", "))]
pub struct UnknownAction(pub String);

impl Convention {
    /// Returns the word in metadata.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Json => "json",
        }
    }
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 6] = [Self::Describe, Self::List, Self::Find, Self::Update, Self::Get, Self::Set];

    /// Returns the word that a provider gets.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::List => "list",
            Self::Find => "find",
            Self::Update => "update",
            Self::Get => "get",
            Self::Set => "set",
        }
    }

    /// Returns the convention that has the action; `None` for `describe`, which both have.
    #[must_use]
    pub fn convention(self) -> Option<Convention> {
        match self {
            Self::Describe => None,
            Self::List | Self::Find | Self::Update => Some(Convention::Simple),
            Self::Get | Self::Set => Some(Convention::Json),
        }
    }

    /// Returns whether the action may change the machine.
    #[must_use]
    pub fn changes(self) -> bool {
        matches!(self, Self::Update | Self::Set)
    }
}

impl FromStr for Action {
    type Err = UnknownAction;

    fn from_str(word: &str) -> Result<Self, UnknownAction> {
        Self::ALL.into_iter().find(|action| action.as_str() == word).ok_or_else(|| UnknownAction(word.to_owned()))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_words() {
        for action in Action::ALL {
            assert_eq!(action.as_str().parse(), Ok(action));
        }
        let unknown = "List".parse::<Action>().unwrap_err().to_string();
        assert_eq!(unknown, "unknown action `List`; expected one of describe, list, find, update, get, set");
    }
}
