//! One folder of modules: which file has a name.
//!
//! A file is found by its name with or without its extension, leaving out files that are never modules. In a folder of
//! the library Ansible takes the file that the folder happens to list first; this takes the first by name, as Ansible
//! does in a collection, so that the answer is always the same.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Extensions of files that are not modules (ansible-core 2.19, `MODULE_IGNORE_EXTS`).
const IGNORED: [&str; 11] = ["pyc", "pyo", "swp", "bak", "rpm", "md", "txt", "rst", "yaml", "yml", "ini"];

/// Extensions of other files that lie beside components: cargo's lists of inputs, signatures, lock files and data.
const BESIDE_COMPONENTS: [&str; 5] = ["d", "json", "lock", "sig", "toml"];

/// Maximum number of names that are listed of a folder.
const MAX_NAMES: usize = 100_000;

/// The files of folders.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Those of each folder that was listed, by the begin of their names; `None` to list a folder again for each search.
    known: Option<RefCell<HashMap<PathBuf, Rc<Names>>>>,
}

/// Paths by the names of their files up to the first dot.
type Names = HashMap<Vec<u8>, Vec<PathBuf>>;

impl Listing {
    /// Returns a listing for many searches: each folder is listed once.
    pub(super) fn kept() -> Self {
        Self { known: Some(RefCell::default()) }
    }

    /// Finds a module in a folder of the library: by the name of its file without the last extension, or by all of it.
    pub(super) fn find(&self, folder: &Path, name: &Path) -> Option<PathBuf> {
        let named =
            |path: &Path| path.file_stem() == Some(name.as_os_str()) || path.file_name() == Some(name.as_os_str());
        self.first(folder, name.as_os_str().as_bytes(), named)
    }

    /// Finds a module in a folder of a collection: by the name of its file up to the first dot, or by all of it. A file
    /// without an extension comes first.
    pub(super) fn find_in_collection(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        let plain = folder.join(name);
        if plain.is_file() {
            return Some(plain);
        }
        let named = |path: &Path| {
            let rest = path.file_name().and_then(|file| file.as_bytes().strip_prefix(name.as_bytes()));
            rest.is_some_and(|rest| rest.starts_with(b"."))
        };
        self.first(folder, name.as_bytes(), named)
    }

    /// Returns the first module of a name that is sought, by the order of paths.
    fn first(&self, folder: &Path, name: &[u8], named: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let is_sought = |path: &PathBuf| named(path) && !is_ignored(path) && path.is_file();
        let Some(known) = &self.known else {
            return fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(is_sought).min();
        };
        let names = Rc::clone(known.borrow_mut().entry(folder.to_owned()).or_insert_with(|| Rc::new(names(folder))));
        names.get(begin(name))?.iter().filter(|path| is_sought(path)).min().cloned()
    }
}

fn names(folder: &Path) -> Names {
    let mut names = Names::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let key = path.file_name().map(|name| begin(name.as_bytes()).to_vec()).unwrap_or_default();
        names.entry(key).or_default().push(path);
    }
    names
}

/// Returns a name up to its first dot.
fn begin(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == b'.').next().unwrap_or_default()
}

/// Returns the names of the files in a folder of the library that may be modules.
#[must_use]
pub fn names_in(folder: &Path) -> Vec<String> {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).take(MAX_NAMES);
    let name = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    paths.filter(|path| !is_ignored(path) && path.is_file()).filter_map(name).collect()
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
