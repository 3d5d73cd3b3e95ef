//! What naming something in an argument grants: the access to a path, and the commands that manage what has the name.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::access::Access;

/// What arguments grant by naming something. The strictest value is the least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Designated {
    /// Nothing: every path has to be granted by an operator.
    #[default]
    None,
    /// Paths that the module only reads.
    Read,
    /// Paths that the module reads and paths that it changes.
    Write,
    /// As [`Designated::Write`], and the commands outside by which Ansible's own modules manage what an argument names: a service,
    /// a package, a user. Never what is reserved.
    Manage,
}

impl Designated {
    /// Every value, the strictest first.
    pub const ALL: [Self; 4] = [Self::None, Self::Read, Self::Write, Self::Manage];

    /// Returns whether naming a path for this access grants it.
    #[must_use]
    pub fn allows(self, access: Access) -> bool {
        match access {
            Access::Read => self >= Self::Read,
            Access::Write => self >= Self::Write,
        }
    }

    /// Returns whether naming what a module manages grants the commands for it.
    #[must_use]
    pub fn allows_managing(self) -> bool {
        self >= Self::Manage
    }

    /// Returns the word that files and switches use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
            Self::Manage => "manage",
        }
    }
}

impl fmt::Display for Designated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Designated {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|value| value.as_str() == text);
        found.ok_or_else(|| format!("unknown access `{text}`; expected one of `none`, `read`, `write`, `manage`"))
    }
}
