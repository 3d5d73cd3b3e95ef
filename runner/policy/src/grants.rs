//! Grants of paths and of environment variables.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::access::Access;

/// What a granted path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// A directory, with everything below it.
    Directory,
    /// One name in a directory: a file, or nothing yet.
    Name,
}

/// A file or a directory that a guest may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathGrant {
    /// Where it is, absolute; the directory that it lies in without symbolic links.
    pub host: PathBuf,
    /// Whether it is a directory.
    pub shape: Shape,
    /// Where the guest sees it, absolute.
    pub guest: String,
    /// What the guest may do there.
    pub access: Access,
    /// Who granted it: `--allow-read`, or a policy file.
    pub source: String,
}

/// An environment variable that a module sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvGrant {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Who granted it.
    pub source: String,
}
