//! Why an inventory could not be read.

use modbox_yaml::{Position, YamlError};

use crate::limits::{MAX_DEPTH, MAX_HOSTS};

/// Why an inventory could not be read, and where.
#[derive(Debug, thiserror::Error)]
#[error("failed to read the inventory `{position}`: {problem}")]
pub struct InventoryError {
    /// The place.
    pub position: Position,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with an inventory.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages document the fields")]
pub enum Problem {
    #[error(transparent)]
    Yaml(#[from] YamlError),
    #[error("unknown section type in `{0}`; use `[group]`, `[group:children]` or `[group:vars]`")]
    SectionType(String),
    #[error("invalid section `{0}`; the name of a group has no blanks, colons or brackets")]
    Section(String),
    #[error("undefined group `{0}`; add a section `[{0}]`")]
    UndefinedGroup(String),
    #[error("expected the name of a group, found `{0}`")]
    GroupName(String),
    #[error("expected `name=value`, found `{0}`; quote a value that has blanks in it")]
    KeyValue(String),
    #[error("invalid host `{0}`; a port is a number behind a colon")]
    HostName(String),
    #[error("invalid range of hosts in `{host}`: {reason}")]
    Range { host: String, reason: &'static str },
    #[error("expected {expected} for `{name}`, found {found}")]
    Kind { name: String, expected: &'static str, found: &'static str },
    #[error("the file is empty or has no mapping of groups")]
    NoGroups,
    #[error(
        "the file configures the inventory plugin `{0}`, a Python program; write the hosts into a YAML or INI file"
    )]
    Plugin(String),
    #[error("the group `{child}` cannot be a child of `{parent}`, which is below it")]
    Circle { parent: String, child: String },
    #[error("groups nest deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("the inventory has more than {MAX_HOSTS} hosts")]
    TooManyHosts,
}

impl Problem {
    /// Returns the error that is this problem at a place.
    pub(crate) fn at(self, position: &Position) -> InventoryError {
        InventoryError { position: position.clone(), problem: self }
    }
}
