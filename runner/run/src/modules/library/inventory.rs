//! All modules that have a name: of the library's folders, of installed collections and of ansible-core. Only names are
//! read from the disk here; [`ModuleSummary`](crate::modules::summary::ModuleSummary) reads one module's file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::modules::library::folder::is_ignored;
use crate::modules::library::installed::COLLECTIONS;
use crate::modules::library::search::Library;

/// Entries of directories that are looked at; several times what the package `ansible` has.
const MAX_ENTRIES: usize = 200_000;

/// Folders below a folder of modules that are entered.
const MAX_DEPTH: usize = 4;

/// Names of modules.
#[derive(Debug, Default)]
pub struct Inventory {
    /// The file of each name, in the order of the names.
    pub modules: BTreeMap<String, ListedModule>,
    /// Folders that exist and cannot be read, each with its cause.
    pub problems: Vec<String>,
    /// Whether there are more entries than are looked at.
    pub is_cut: bool,
    entries: usize,
}

/// A module with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModule {
    /// Path of the file.
    pub path: PathBuf,
    /// Folder of its collection, or the package `ansible`, which have the version.
    pub package: Option<PathBuf>,
}

impl Library<'_> {
    /// Lists all names, except those of modbox's own modules. A name that several places have belongs to the first one, as
    /// in a search.
    #[must_use]
    pub fn inventory(&self) -> Inventory {
        let mut inventory = Inventory::default();
        for folder in self.folders.iter().flat_map(|place| &place.folders) {
            inventory.add(folder, "", None, 0);
        }
        let installed = self.installed();
        let mut collections = BTreeMap::new();
        for root in installed.roots() {
            for namespace in inventory.entries(&root.join(COLLECTIONS)) {
                for collection in inventory.entries(&namespace) {
                    let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
                    if let (Some(namespace), Some(name)) = (name(&namespace), name(&collection))
                        && collection.is_dir()
                    {
                        collections.entry(format!("{namespace}.{name}.")).or_insert(collection);
                    }
                }
            }
        }
        for (prefix, folder) in &collections {
            inventory.add(&folder.join("plugins/modules"), prefix, Some(folder), MAX_DEPTH);
        }
        if let Some(core) = installed.core() {
            inventory.add(&core.join("modules"), "ansible.builtin.", Some(core), 0);
        }
        inventory
    }
}

impl Inventory {
    /// Adds the modules of a folder, and of the folders in it down to a depth.
    fn add(&mut self, folder: &Path, prefix: &str, package: Option<&Path>, depth: usize) {
        for path in self.entries(folder) {
            let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
            if path.is_dir() {
                let is_link = path.is_symlink();
                if depth > 0 && !is_link && !stem.starts_with('.') {
                    self.add(&path, &format!("{prefix}{stem}."), package, depth - 1);
                }
            } else if !is_ignored(&path) && !stem.starts_with('.') {
                let name = format!("{prefix}{stem}");
                let module = ListedModule { path, package: package.map(Path::to_owned) };
                self.modules.entry(name).or_insert(module);
            }
        }
    }

    /// Returns the paths in a folder, sorted; none if there is no such folder.
    fn entries(&mut self, folder: &Path) -> Vec<PathBuf> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                use std::io::ErrorKind::{NotADirectory, NotFound};
                if !matches!(error.kind(), NotFound | NotADirectory) {
                    self.problems.push(format!("failed to read the folder `{}`: {error}", folder.display()));
                }
                return Vec::new();
            }
        };
        let left = MAX_ENTRIES.saturating_sub(self.entries);
        let mut paths: Vec<PathBuf> = entries.flatten().take(left + 1).map(|entry| entry.path()).collect();
        if paths.len() > left {
            self.is_cut = true;
            paths.truncate(left);
        }
        self.entries += paths.len();
        paths.sort();
        paths
    }
}
