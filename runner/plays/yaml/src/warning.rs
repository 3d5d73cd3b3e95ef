//! Warnings: what Ansible reads, and says that it should be written otherwise.

use std::fmt;

use crate::key::Key;
use crate::position::Position;

/// A warning about a text that could be read. Its display is in Ansible's words, without the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A key is written twice in one mapping.
    DuplicateKey {
        /// Where the later key is.
        position: Position,
        /// The later key.
        key: Key,
    },
    /// A tag that Ansible will drop.
    DeprecatedTag {
        /// Where the node with the tag is.
        position: Position,
        /// The tag, as it is written.
        tag: &'static str,
        /// What to write instead.
        instead: &'static str,
    },
}

impl Warning {
    /// Returns where the cause is.
    #[must_use]
    pub fn position(&self) -> &Position {
        match self {
            Self::DuplicateKey { position, .. } | Self::DeprecatedTag { position, .. } => position,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateKey { key, .. } => {
                write!(f, "Found duplicate mapping key {key}. Using last defined value only.")
            }
            Self::DeprecatedTag { tag, instead, .. } => {
                write!(f, "Use of the YAML `{tag}` tag is deprecated. {instead}")
            }
        }
    }
}
