//! What Ansible's modules do with the paths that their options name.
//!
//! Ansible's documentation says which options are paths, and not whether the module reads, writes, replaces or removes
//! them. `table.yaml` says it, for modules of ansible-core and of the most used collections. It was made from the code of
//! these modules, and tried: each module did its work with what the table grants, and failed with less. The few that
//! could not be tried are marked.
//!
//! A module is found in the table by the folder that it lies in, which proves nothing: any file can lie in a folder of
//! that name. The table is no more trusted than documentation is. It grants nothing by itself, and what a caller's path
//! is granted for is bounded by `designated`.
//!
//! The table says nothing of programs that a module runs, of paths that it chooses itself, nor of WebAssembly modules,
//! which carry their own spec.

mod module_name;
mod row;
mod table;

use std::collections::BTreeMap;

use modbox_argument_spec::{Metadata, bool_of};
use modbox_contract::Dict;

pub(crate) use self::module_name::qualified_name;
pub(crate) use self::row::{PathUse, Row};
pub(crate) use self::table::ModuleTable;

/// Uses of the paths in the arguments of one run, by option and alias.
#[derive(Debug, Default)]
pub(crate) struct PathUses(BTreeMap<String, KnownUse>);

#[derive(Debug, Clone)]
struct KnownUse {
    path_use: PathUse,
    /// Folder to which a bare name is relative.
    folder: Option<String>,
}

impl PathUses {
    /// Returns the use of an option's path, if the table has one. The option may be an item: `files[1]`.
    pub(crate) fn of(&self, option: &str) -> Option<PathUse> {
        self.known(option).map(|known| known.path_use)
    }

    /// Returns the path that a bare name in an option means, if it is relative to a folder that the module knows.
    pub(crate) fn meant(&self, option: &str, name: &str) -> Option<String> {
        let folder = self.known(option)?.folder.as_ref()?;
        let is_bare = !name.is_empty() && !name.contains('/') && !name.starts_with(['~', '$', '.']);
        is_bare.then(|| format!("{folder}/{name}"))
    }

    fn known(&self, option: &str) -> Option<&KnownUse> {
        self.0.get(option.split('[').next().unwrap_or(option))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all uses.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, PathUse)> {
        self.0.iter().map(|(option, known)| (option.as_str(), known.path_use))
    }
}

impl ModuleTable {
    /// Returns the uses of the paths in a run's arguments, except for options of which the operator has `said` what the
    /// module does, by any of their names. `known` has the aliases of options.
    pub(crate) fn uses(&self, known: Option<&Metadata>, args: &Dict, said: &[&str]) -> PathUses {
        let mut uses = PathUses::default();
        for (option, row) in self.rows() {
            let names = names(known, option);
            let Some(path_use) = row.path_use(args).filter(|_| !names.iter().any(|name| said.contains(name))) else {
                continue;
            };
            let is_relative = || names.iter().find_map(|name| args.get(*name)?.as_str()).is_some_and(is_relative);
            let path_use = if path_use == PathUse::Target && is_relative() { PathUse::None } else { path_use };
            let known = KnownUse { path_use, folder: row.folder.clone() };
            uses.0.extend(names.into_iter().map(|name| (name.to_owned(), known.clone())));
        }
        uses
    }

    /// Returns the paths beside which the module leaves other files with these arguments, each with the option that asks
    /// for it.
    pub(crate) fn besides<'a>(&'a self, known: Option<&Metadata>, args: &'a Dict) -> Vec<(&'a str, &'a str)> {
        let asked = |option: &str| args.get(option).is_some_and(|value| bool_of(value) == Ok(true));
        let rows = self.rows().filter(|(option, row)| row.beside.is_some() && asked(option));
        let path = |(option, row): (&'a str, &'a Row)| {
            let named = names(known, row.beside.as_deref()?);
            let path = named.iter().find_map(|name| args.get(*name)?.as_str())?;
            Some((option, path))
        };
        rows.filter_map(path).collect()
    }
}

/// Returns whether a path is relative; one in the home of a user is not.
fn is_relative(path: &str) -> bool {
    !path.starts_with(['/', '~'])
}

/// Returns the names of an option: its own, and its aliases.
fn names<'a>(known: Option<&'a Metadata>, option: &'a str) -> Vec<&'a str> {
    let spec = known.and_then(|metadata| metadata.argument_spec.options.get(option));
    let aliases = spec.map(|spec| spec.aliases.as_slice()).unwrap_or_default();
    std::iter::once(option).chain(aliases.iter().map(String::as_str)).collect()
}

#[cfg(test)]
mod tests;
