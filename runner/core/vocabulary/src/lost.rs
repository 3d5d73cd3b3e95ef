//! Changes of a module that did not reach the machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A change of a granted path that a module made and that did not reach the machine. A run with one is never a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostChange {
    /// The path on the machine.
    pub path: String,
    /// Why the change did not reach the machine, as a clause.
    pub reason: String,
    /// The option of `modbox run` with which the change reaches the machine, quoted for a shell. Empty when no option
    /// would help.
    pub allow: String,
}

impl LostChange {
    /// Returns one message for several lost changes.
    #[must_use]
    pub fn message(lost: &[Self]) -> String {
        lost.iter().map(Self::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for LostChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the module's change of `{}` is lost: {}", self.path, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_every_path_and_its_reason() {
        let allow = String::new();
        let lost = |path: &str, reason: &str| LostChange {
            path: path.to_owned(),
            reason: reason.to_owned(),
            allow: allow.clone(),
        };
        assert_eq!(
            LostChange::message(&[lost("/a", "the disk is full"), lost("/b", "it is a directory")]),
            "the module's change of `/a` is lost: the disk is full; the module's change of `/b` is lost: it is a directory"
        );
    }
}
