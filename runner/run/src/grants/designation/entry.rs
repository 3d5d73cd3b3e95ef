//! Paths of native modules that are more than single files to write: entries that a module makes, replaces or removes in
//! a directory, and files beside a path.
//!
//! A native module works on copies of single files, and only files and new directories are taken back from it. For every other
//! entry it needs the directory. Naming a path does not grant the directory around it, so the operator has to.

use std::path::Path;

use modbox_argument_spec::{Access as SpecAccess, NamedPath};
use modbox_policy::{Access, Policy, Shape};
use modbox_vocabulary::{Capability, Denial, Operation};

use crate::grants::designation::caller::Caller;
use crate::grants::designation::place;
use crate::modules::path_uses::{PathUse, PathUses};
use crate::reports::missing_grant::{MissingGrant, Need};

/// Returns a path as the module means it, with the access that it needs to what is there.
pub(super) fn with_known_use(mut named: NamedPath, uses: &PathUses, caller: &Caller<'_>) -> NamedPath {
    if let Some(path) = uses.meant(&named.option, &named.path) {
        named.path = path;
    }
    let is_replaced = uses.of(&named.option) == Some(PathUse::Replace);
    let is_folder = || caller.absolute(&named.path).is_some_and(|path| path.is_dir());
    // A new file takes the place of a link to a file, but goes into a linked folder.
    let access = if is_replaced && is_folder() { SpecAccess::Write } else { named.access };
    NamedPath { access, ..named }
}

/// Returns the grant of the directory around a path, if the module needs it and lacks it.
pub(super) fn missing_directory(
    named: &NamedPath,
    uses: &PathUses,
    policy: &Policy,
    caller: &Caller<'_>,
) -> Option<MissingGrant> {
    let path_use = uses.of(&named.option)?;
    // The link itself is the entry, even if the path ends with a slash.
    let path = place::clean(&caller.absolute(&named.path)?)?;
    let is_needed = changes_directory(path_use, Path::new(&path));
    let around = Path::new(&path).parent().filter(|_| is_needed)?;
    (!is_directory_granted(policy, around)).then(|| missing(&path, around, Need::Entry))
}

/// Returns why an existing file is granted for reading although the module may write it: the user cannot write it. The
/// module can still find that it has nothing to change. Only what the table says is weakened so.
pub(super) fn write_obstacle(
    named: &NamedPath,
    uses: &PathUses,
    access: Access,
    host: &Path,
    shape: Shape,
) -> Option<String> {
    let is_known = uses.of(&named.option).is_some();
    let is_file = access == Access::Write && shape == Shape::Name && host.is_file();
    if is_known && is_file { modbox_native::write_obstacle(host) } else { None }
}

/// Returns whether a module changes more of the directory than a single file.
fn changes_directory(path_use: PathUse, path: &Path) -> bool {
    let found = path.symlink_metadata().ok();
    let is_file = found.as_ref().is_some_and(std::fs::Metadata::is_file);
    match path_use {
        PathUse::None | PathUse::Read | PathUse::Target | PathUse::Write => false,
        PathUse::Replace => found.is_some_and(|found| found.is_symlink()) && !path.is_dir(),
        // A new directory is taken back from its name, and not with those on the way to it.
        PathUse::Folder => !path.exists() && !path.parent().is_some_and(Path::is_dir),
        PathUse::Entry => true,
        PathUse::Remove => found.is_some() && !is_file,
    }
}

/// Returns the directory grants that a module needs to keep the files that it makes beside existing ones. `besides` are
/// the options that ask for such files, and the paths.
pub(crate) fn missing_besides(policy: &Policy, besides: Vec<(&str, &str)>) -> Vec<MissingGrant> {
    let one = |(option, path): (&str, &str)| {
        let path = place::clean(Path::new(path)).filter(|path| path.starts_with('/'))?;
        let around = Path::new(&path).parent().filter(|_| Path::new(&path).is_file())?;
        let need = Need::Beside { option: option.to_owned() };
        (!is_directory_granted(policy, around)).then(|| missing(&path, around, need))
    };
    besides.into_iter().filter_map(one).collect()
}

fn is_directory_granted(policy: &Policy, directory: &Path) -> bool {
    let Some(directory) = directory.to_str() else { return false };
    place::is_covered(policy, directory, Access::Write, true)
}

fn missing(path: &str, around: &Path, need: Need) -> MissingGrant {
    let existing = around.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(around);
    let allow = place::directory_switch(existing);
    let denial =
        Denial { capability: Capability::Write, subject: path.to_owned(), operation: Operation::Argument, allow };
    MissingGrant { denial, need }
}
