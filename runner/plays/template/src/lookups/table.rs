//! The table of lookups.

use minijinja::Value;

use super::dict::dict;
use super::flattened::flattened;
use super::indexed_items::indexed_items;
use super::items::items;
use super::list::list;
use super::nested::nested;
use super::random_choice::random_choice;
use super::sequence::sequence;
use super::subelements::subelements;
use super::together::together;
use super::varnames::varnames;
use super::vars::vars;
use crate::marker::Run;
use crate::run::{Given, Interpreter};

/// What computes the results of a lookup.
pub(crate) type Compute = fn(&mut Interpreter<'_>, &Given) -> Run<Vec<Value>>;

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

/// A lookup that acts, with terms or defaults that may be undefined.
const fn acts_on_undefined(name: &'static str, doc: &'static str) -> Lookup {
    Lookup { name, doc, accepts_markers: true, compute: None }
}

const ALL: &[Lookup] = &[
    acts("config", "settings of Ansible"),
    acts("csvfile", "columns of a file with separated values"),
    pure("dict", "keys and values", dict),
    acts_on_undefined("env", "variables of the environment"),
    acts("file", "contents of files"),
    acts("fileglob", "files that match a pattern"),
    acts_on_undefined("first_found", "the first file that exists"),
    pure("flattened", "the items of lists in lists", flattened),
    pure("indexed_items", "items with their places", indexed_items),
    acts("ini", "values of a file with sections"),
    acts("inventory_hostnames", "hosts that match a pattern"),
    pure("items", "the terms, and the items of those that are lists", items),
    acts("lines", "lines that a command prints"),
    pure("list", "the terms as they are", list),
    pure("nested", "each item of a list with each item of others", nested),
    acts("password", "a password that a file keeps"),
    acts("pipe", "what a command prints"),
    pure("random_choice", "one of the terms", random_choice),
    pure("sequence", "numbers as text", sequence),
    pure("subelements", "dicts with the items of a list in each", subelements),
    acts("template", "template files, rendered"),
    pure("together", "items of lists at the same place", together),
    acts("unvault", "contents of encrypted files"),
    acts("url", "contents of web addresses"),
    pure("varnames", "names of variables that match", varnames),
    pure("vars", "variables by their names", vars),
];

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

/// Returns the lookup that modbox knows by a name, which may be a full one.
#[must_use]
pub fn known_lookup(name: &str) -> Option<KnownLookup> {
    find(name).map(|lookup| KnownLookup { name: lookup.name, doc: lookup.doc, acts: lookup.compute.is_none() })
}

/// Returns the lookup of a name, which may be a full one.
pub(crate) fn find(name: &str) -> Option<&'static Lookup> {
    let builtin = name.strip_prefix("ansible.builtin.").or_else(|| name.strip_prefix("ansible.legacy."));
    let moved = (name == "community.general.flattened").then_some("flattened");
    let name = builtin.or(moved).unwrap_or(name);
    ALL.iter().find(|lookup| lookup.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        let names: Vec<&str> = ALL.iter().map(|lookup| lookup.name).collect();
        assert!(names.is_sorted() && names.len() == 26, "{names:?}");
        assert!(find("ansible.builtin.dict").is_some() && find("community.general.dict").is_none());
    }
}
