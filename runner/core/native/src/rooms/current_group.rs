//! A control group that the host is in. Those of a run are made below it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Version of the kernel's control group interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Version {
    One,
    Two,
}

/// Group of this process in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CurrentGroup {
    pub(crate) directory: PathBuf,
    pub(crate) version: Version,
    /// Controllers of a hierarchy of version 1.
    pub(crate) controllers: Vec<String>,
}
