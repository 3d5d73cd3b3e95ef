//! What the operator gives as an inventory, and what was read of it.

use modbox_inventory::{Inventory, InventoryError};

use crate::files::FileError;

/// Hosts and groups that the operator's sources name.
#[derive(Debug, Clone, Default)]
pub struct GivenInventory {
    /// Hosts and groups.
    pub inventory: Inventory,
    /// The sources, as variables show them.
    pub sources: Vec<String>,
    /// The files that were read.
    pub files: Vec<String>,
    /// Folders beside which `group_vars` and `host_vars` lie.
    pub folders: Vec<String>,
    /// What was left out.
    pub warnings: Vec<String>,
}

/// Why an inventory was not read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages document the fields")]
pub enum SourceError {
    #[error("failed to read the inventory: {0}")]
    File(#[from] FileError),
    #[error(transparent)]
    Inventory(#[from] InventoryError),
    #[error("failed to read the inventory `{path}`: it is neither YAML nor INI\n  as YAML: {yaml}\n  as INI: {ini}")]
    NoFormat { path: String, yaml: Box<InventoryError>, ini: Box<InventoryError> },
    #[error(
        "failed to read the inventory `{path}`: it is a program, which Ansible would run unconfined; write its hosts into \
         a file: `{path} --list > hosts.json`, and convert them with `ansible-inventory -i {path} --list --yaml`"
    )]
    Program { path: String },
    #[error("failed to read the inventory `{path}`: TOML is not supported; write the hosts into a YAML or INI file")]
    Toml { path: String },
    #[error("failed to read the inventory `{path}`: folders nest deeper than {limit} levels")]
    TooDeep { path: String, limit: usize },
}
