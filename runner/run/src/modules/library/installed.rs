//! The installed collections, and the modules of ansible-core.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use modbox_kinds::collections::{ModuleRouting, QualifiedName};

use crate::modules::library::error::LookupError;
use crate::modules::library::folder::Listing;
use crate::modules::library::place::{Place, describe_all};
use crate::python::{MAX_ROUTING, PythonConfig, ansible_package, collection_folders, read_bounded};

/// The folder inside each root that has the collections.
pub(super) const COLLECTIONS: &str = "ansible_collections";

/// Lookup in the installed collections and in ansible-core.
#[derive(Debug)]
pub(super) struct Installed<'a> {
    config: &'a PythonConfig,
    /// Folders with `ansible_collections` in them, in order.
    roots: Vec<PathBuf>,
    /// The package `ansible`.
    core: Option<PathBuf>,
    listing: Listing,
    /// What collections say about their modules, by their folders, if it is kept for many searches.
    routings: Option<RefCell<HashMap<PathBuf, Rc<ModuleRouting>>>>,
}

impl<'a> Installed<'a> {
    pub(super) fn new(config: &'a PythonConfig, interpreter: Option<&str>, directory: &Path) -> Self {
        // The name decides where the module lies, so no module stands for its surroundings.
        let nowhere = Path::new("");
        let core = ansible_package(config, nowhere, interpreter, directory);
        let roots = collection_folders(config, nowhere, core.as_deref());
        Self { config, roots, core, listing: Listing::default(), routings: None }
    }

    /// Makes each folder be listed once, and each description of a collection be read once, for many searches.
    pub(super) fn kept(self) -> Self {
        Self { listing: Listing::kept(), routings: Some(RefCell::default()), ..self }
    }

    /// Returns the files of folders.
    pub(super) fn listing(&self) -> &Listing {
        &self.listing
    }

    /// Returns the folders with `ansible_collections` in them, in order.
    pub(super) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Returns the package `ansible`.
    pub(super) fn core(&self) -> Option<&Path> {
        self.core.as_deref()
    }

    /// Returns whether ansible-core was found.
    pub(super) fn has_core(&self) -> bool {
        self.core.is_some()
    }

    /// Finds the file of one of ansible-core's own modules by its plain name.
    pub(super) fn core_file(&self, name: &Path) -> Option<PathBuf> {
        self.listing.find(&self.core.as_ref()?.join("modules"), name)
    }

    /// Returns the folder of a collection: the first one, other folders with the same collection do not count. That of
    /// `ansible.builtin` is the package `ansible`.
    pub(super) fn folder(&self, name: &QualifiedName) -> Option<PathBuf> {
        if name.is_builtin() {
            return self.core.clone();
        }
        let [namespace, collection] = name.collection();
        let mut folders = self.roots.iter().map(|root| root.join(COLLECTIONS).join(namespace).join(collection));
        folders.find(|folder| folder.is_dir())
    }

    /// Returns the file in which a collection describes its plugins.
    pub(super) fn runtime_file(folder: &Path, name: &QualifiedName) -> PathBuf {
        folder.join(if name.is_builtin() { "config/ansible_builtin_runtime.yml" } else { "meta/runtime.yml" })
    }

    /// Reads what a collection says about its modules.
    pub(super) fn routing(&self, folder: &Path, name: &QualifiedName) -> Result<Rc<ModuleRouting>, LookupError> {
        let Some(routings) = &self.routings else {
            return Self::read_routing(folder, name, false).map(Rc::new);
        };
        if let Some(known) = routings.borrow().get(folder) {
            return Ok(Rc::clone(known));
        }
        let read = Rc::new(Self::read_routing(folder, name, true)?);
        routings.borrow_mut().insert(folder.to_owned(), Rc::clone(&read));
        Ok(read)
    }

    /// Reads the file of routes: the entries of all modules, or at least that of the one that is looked for.
    fn read_routing(folder: &Path, name: &QualifiedName, is_whole: bool) -> Result<ModuleRouting, LookupError> {
        let path = Self::runtime_file(folder, name);
        if !path.exists() {
            return Ok(ModuleRouting::default());
        }
        let failed = |source| LookupError::Read { path: path.clone(), source };
        let bytes = read_bounded(&path, MAX_ROUTING + 1).map_err(failed)?;
        if bytes.len() as u64 > MAX_ROUTING {
            let reason = format!("longer than the limit of {MAX_ROUTING} bytes for redirects");
            return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, reason)));
        }
        let text = String::from_utf8_lossy(&bytes);
        let parsed =
            if is_whole { ModuleRouting::parse(&text) } else { ModuleRouting::parse_for(&text, &name.resource()) };
        parsed.map_err(|source| LookupError::Routing { path, source })
    }

    /// Returns the folder of a collection's modules that a name leads to, and the name of the file in it.
    pub(super) fn modules<'n>(folder: &Path, name: &'n QualifiedName) -> (PathBuf, &'n str) {
        let modules = folder.join(if name.is_builtin() { "modules" } else { "plugins/modules" });
        let (last, folders) = name.parts().split_last().expect("a full name has a last part");
        (folders.iter().fold(modules, |folder, part| folder.join(part)), last)
    }

    /// Finds the file of a module in the folder of its collection.
    pub(super) fn file(&self, folder: &Path, name: &QualifiedName) -> Result<PathBuf, PathBuf> {
        let (modules, file) = Self::modules(folder, name);
        self.listing.find_in_collection(&modules, file).ok_or(modules)
    }

    /// Returns the places in which collections are searched, as a text.
    pub(super) fn searched(&self) -> String {
        describe_all(&self.places(), COLLECTIONS)
    }

    /// Returns the place of ansible-core's modules.
    pub(super) fn core_place(&self) -> Place {
        let modules = self.core.as_ref().map(|core| core.join("modules"));
        const ABSENT: &str = "not found; install it, or name its Python with `--interpreter PATH`";
        Place::single("ansible-core", ABSENT, modules.as_deref())
    }

    fn places(&self) -> Vec<Place> {
        let paths = &self.config.collections;
        let mut places = Vec::new();
        if !self.config.module_utils.is_empty() {
            places.push(Place { origin: "--module-utils", absent: "none", folders: self.config.module_utils.clone() });
        }
        places.push(Place { origin: "--collections-path", absent: "none", folders: paths.named.clone() });
        places.push(Place {
            origin: "$ANSIBLE_COLLECTIONS_PATH",
            absent: if paths.variable.is_some() { "empty" } else { "unset" },
            folders: paths.variable.clone().unwrap_or_default(),
        });
        if paths.variable.is_none() {
            places.push(Place { origin: "Ansible's folders", absent: "none", folders: paths.defaults() });
        }
        let beside = self.core.as_deref().and_then(Path::parent);
        places.push(Place::single("beside ansible-core", "not found", beside));
        places
    }
}
