//! What may be done with a path.

use modbox_vocabulary::Capability;
use serde::{Deserialize, Serialize};

/// A way to use a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Access {
    /// Read what is there.
    Read,
    /// Read, change, create and remove.
    Write,
}

impl Access {
    /// Returns the capability that a grant of it is.
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
