//! Access to a path.

use modbox_vocabulary::Capability;
use serde::{Deserialize, Serialize};

/// An access mode of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Access {
    /// Read.
    Read,
    /// Read, change, create and remove.
    Write,
}

impl Access {
    /// Returns the capability of a grant with this access.
    #[must_use]
    pub fn capability(self) -> Capability {
        match self {
            Self::Read => Capability::Read,
            Self::Write => Capability::Write,
        }
    }

    /// Returns the word that reports and options use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.capability().as_str()
    }
}
