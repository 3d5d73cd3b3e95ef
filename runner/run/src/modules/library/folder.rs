//! One folder of modules: which file has a name.
//!
//! A file is found by its name with or without its extension, leaving out files that are never modules. In a folder of
//! the library Ansible takes the file that the folder happens to list first; this takes the first by name, as Ansible
//! does in a collection, so that the answer is always the same.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Extensions of files that are not modules (ansible-core 2.19, `MODULE_IGNORE_EXTS`).
const IGNORED: [&str; 11] = ["pyc", "pyo", "swp", "bak", "rpm", "md", "txt", "rst", "yaml", "yml", "ini"];

/// Extensions of other files that lie beside components: cargo's lists of inputs, signatures, lock files and data.
const BESIDE_COMPONENTS: [&str; 5] = ["d", "json", "lock", "sig", "toml"];

/// Maximum number of names that are listed of a folder.
const MAX_NAMES: usize = 100_000;

/// Finds a module in a folder of the library: by the name of its file without the last extension, or by all of it.
pub(super) fn find(folder: &Path, name: &Path) -> Option<PathBuf> {
    let named = |path: &Path| path.file_stem() == Some(name.as_os_str()) || path.file_name() == Some(name.as_os_str());
    first(folder, named)
}

/// Finds a module in a folder of a collection: by the name of its file up to the first dot, or by all of it. A file
/// without an extension comes first.
pub(super) fn find_in_collection(folder: &Path, name: &str) -> Option<PathBuf> {
    let plain = folder.join(name);
    if plain.is_file() {
        return Some(plain);
    }
    let named = |path: &Path| {
        let rest = path.file_name().and_then(|file| file.as_bytes().strip_prefix(name.as_bytes()));
        rest.is_some_and(|rest| rest.starts_with(b"."))
    };
    first(folder, named)
}

/// Returns the names of the files in a folder of the library that may be modules.
#[must_use]
pub fn names_in(folder: &Path) -> Vec<String> {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).take(MAX_NAMES);
    let name = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    paths.filter(|path| !is_ignored(path) && path.is_file()).filter_map(name).collect()
}

fn first(folder: &Path, named: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let candidates = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    candidates.filter(|path| named(path) && !is_ignored(path) && path.is_file()).min()
}

/// Returns whether a file is never a module, by its name.
pub(super) fn is_ignored(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.as_bytes()).unwrap_or_default();
    name.ends_with(b"~") || name == b"__init__.py" || path.extension().is_some_and(is_of_other_file)
}

/// Returns whether no module has this extension.
fn is_of_other_file(extension: &OsStr) -> bool {
    IGNORED.iter().chain(&BESIDE_COMPONENTS).any(|ignored| extension == *ignored)
}
