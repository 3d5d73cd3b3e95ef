//! Grants of paths and of environment variables.

use std::path::PathBuf;

use modbox_vocabulary::{GrantSource, native_path};
use serde::{Deserialize, Serialize};

use crate::access::Access;

/// The type of a granted path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// A directory, with everything below it.
    Directory,
    /// One name in a directory: a file, or a name that does not exist yet.
    Name,
}

/// A file or a directory that a guest may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathGrant {
    /// The absolute path on the host. Its parent directory has no symbolic links.
    #[serde(with = "native_path")]
    pub host: PathBuf,
    /// Whether it is a directory.
    pub shape: Shape,
    /// The absolute path in the guest.
    pub guest: String,
    /// The permitted access.
    pub access: Access,
    /// The source of the grant: `--allow-read`, or a policy file.
    pub source: GrantSource,
}

impl PathGrant {
    /// Returns whether the grant permits all that another one does, of the same paths of the host.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        let is_around = match self.shape {
            Shape::Directory => other.host.starts_with(&self.host),
            Shape::Name => other.host == self.host && other.shape == Shape::Name,
        };
        is_around && self.access >= other.access
    }
}

/// An environment variable that a module sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvGrant {
    /// The variable's name, without `=`.
    pub name: String,
    /// What the module sees: the caller's value, or that of the rule.
    pub value: String,
    /// The switch or policy file that granted it.
    pub source: GrantSource,
}
