//! The table of lookups.

use minijinja::Value;

use crate::marker::Run;
use crate::run::{Given, Interpreter};

/// What computes the results of a lookup.
pub(crate) type Compute = fn(&mut Interpreter<'_>, &Given) -> Run<Vec<Value>>;

/// A lookup.
pub(crate) struct Lookup {
    pub(crate) name: &'static str,
    /// What it gives, in a few words.
    pub(crate) doc: &'static str,
    /// Whether a term may be undefined.
    pub(crate) accepts_markers: bool,
    /// The function, or nothing if it acts, so that the caller must do it.
    pub(crate) compute: Option<Compute>,
}

const fn pure(name: &'static str, doc: &'static str, compute: Compute) -> Lookup {
    Lookup { name, doc, accepts_markers: false, compute: Some(compute) }
}

const fn acts(name: &'static str, doc: &'static str) -> Lookup {
    Lookup { name, doc, accepts_markers: false, compute: None }
}

const ALL: &[Lookup] =
    &[pure("vars", "variables by their names", super::vars::vars), acts("env", "variables of the environment")];

/// A lookup that modbox knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownLookup {
    /// The name.
    pub name: &'static str,
    /// What it gives, in a few words.
    pub doc: &'static str,
    /// Whether it acts, so that the caller of the engine does it.
    pub acts: bool,
}

/// Iterates over the lookups that modbox knows.
pub fn known_lookups() -> impl Iterator<Item = KnownLookup> {
    ALL.iter().map(|lookup| KnownLookup { name: lookup.name, doc: lookup.doc, acts: lookup.compute.is_none() })
}

/// Returns the lookup of a name, which may be a full one.
pub(crate) fn find(name: &str) -> Option<&'static Lookup> {
    let name = name.strip_prefix("ansible.builtin.").or_else(|| name.strip_prefix("ansible.legacy.")).unwrap_or(name);
    ALL.iter().find(|lookup| lookup.name == name)
}
