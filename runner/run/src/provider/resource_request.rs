//! The settings that all actions of a provider share: grants, limits, interpreters, and whether anything may change.

use std::collections::BTreeMap;

use modbox_policy::Policy;
use modbox_vocabulary::Limits;

/// Settings of all actions of a provider.
#[derive(Debug, Clone, Copy)]
pub struct ResourceRequest<'a> {
    /// Grants, and what attributes may designate.
    pub policy: &'a Policy,
    /// Limits of each action.
    pub limits: &'a Limits,
    /// Programs to start instead of an interpreter, by the interpreter's base name.
    pub interpreters: &'a BTreeMap<String, String>,
    /// Whether nothing may change.
    pub check: bool,
}
