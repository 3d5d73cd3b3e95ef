//! What the name of a lookup means: one of this crate or its caller, or a Python plugin.

use modbox_jinja::{PREFIXES, PluginKind};

use super::table::{Lookup, find};
use crate::machine::Machine;

/// A lookup that was found.
#[derive(Clone, Copy)]
pub(crate) enum Meaning<'n> {
    Own(&'static Lookup),
    /// A Python plugin, by the name that it is called by.
    Python(&'n str),
}

/// Finds a lookup: a Python plugin beside the play before one of modbox, and that before those of collections, as in Ansible.
pub(crate) fn meaning<'n>(machine: &Machine, name: &'n str) -> Option<Meaning<'n>> {
    let short = name.strip_prefix("ansible.legacy.").unwrap_or(name);
    if machine.python.hides(PluginKind::Lookup, short) {
        return Some(Meaning::Python(short));
    }
    if let Some(own) = find(name) {
        return Some(Meaning::Own(own));
    }
    let is_builtin = PREFIXES.iter().any(|prefix| !prefix.is_empty() && name.starts_with(prefix));
    (!is_builtin && machine.python.has(PluginKind::Lookup, name)).then_some(Meaning::Python(name))
}
