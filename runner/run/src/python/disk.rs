//! Looks up sources in folders, and records every path that the answers depend on.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use modbox_kinds::ansiballz::{DottedName, EmbeddedFile, Found, Lookup, MAX_SOURCE, Routing};

use crate::python::answers::routings::Routings;
use crate::python::answers::stamp::{Stamp, Stamps, outermost_missing};
use crate::python::error::PythonError;

/// Largest file of redirects that is read; that of ansible-core has three hundred kilobytes.
pub(crate) const MAX_ROUTING: u64 = 16 << 20;

/// Folders in which sources are looked up, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Roots {
    /// Folders like `ansible/module_utils`.
    pub(super) utilities: Vec<PathBuf>,
    /// Folders with `ansible_collections` in them.
    pub(super) collections: Vec<PathBuf>,
    /// The package `ansible` itself.
    pub(super) core: PathBuf,
}

/// Which folders are packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PackageRule {
    /// Those with an `__init__.py`.
    WithInit,
    /// All, also in the place of a module of the same name. One without an `__init__.py` is an empty package
    /// (ansible-core 2.19, `_collection_finder.py`, `get_data`).
    EveryFolder,
}

/// Lookup of sources in folders.
#[derive(Debug)]
pub(super) struct Disk {
    roots: Roots,
    looked_at: BTreeMap<PathBuf, Stamp>,
    routing: HashMap<[String; 2], Option<Arc<Routing>>>,
    /// The lists of redirects that other lookups have parsed.
    known: Routings,
    /// Folders of utilities that exist.
    present: HashSet<PathBuf>,
    /// The folders of collections.
    of_collections: HashMap<[String; 2], Option<PathBuf>>,
}

impl Disk {
    pub(super) fn new(roots: Roots, known: Routings) -> Self {
        Self {
            roots,
            looked_at: BTreeMap::new(),
            routing: HashMap::new(),
            known,
            present: HashSet::new(),
            of_collections: HashMap::new(),
        }
    }

    /// Returns the stamps of all paths that the answers depended on. A missing folder stands for all that is missing in it:
    /// most names are looked for in folders that few machines have, and every run looks at each stamp.
    pub(super) fn into_stamps(self) -> Stamps {
        let mut stamps = Stamps::default();
        let mut folder: Option<PathBuf> = None;
        // The paths in a folder follow each other.
        for (path, stamp) in self.looked_at {
            if stamp == Stamp::Missing && folder.as_ref().is_some_and(|folder| path.starts_with(folder)) {
                continue;
            }
            let path = if stamp == Stamp::Missing { outermost_missing(path) } else { path };
            folder = (stamp == Stamp::Missing).then(|| path.clone()).or(folder);
            stamps.push(path, stamp);
        }
        stamps
    }

    /// Reads a file; `None` if there is none.
    pub(super) fn read(&mut self, path: &Path, limit: u64) -> Result<Option<Vec<u8>>, PythonError> {
        // Taken before the file is read, so that a change during the read is noticed the next time.
        let stamp = Stamp::of(path);
        self.looked_at.insert(path.to_owned(), stamp);
        if stamp == Stamp::Missing {
            return Ok(None);
        }
        match read_bounded(path, limit) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(|source| PythonError::Read { path: path.to_owned(), source }),
        }
    }

    /// Says whether a folder of utilities is missing, with all that is looked for in it. Most machines have one of five.
    fn is_missing(&mut self, folder: &Path) -> bool {
        if self.present.contains(folder) {
            return false;
        }
        if self.looked_at.get(folder) == Some(&Stamp::Missing) {
            return true;
        }
        let stamp = Stamp::of(folder);
        // An existing folder gets no stamp: what is looked for in it has its own.
        if stamp == Stamp::Missing {
            self.looked_at.insert(folder.to_owned(), stamp);
        } else {
            self.present.insert(folder.to_owned());
        }
        stamp == Stamp::Missing
    }

    /// Finds the package or module of a name in a folder, the package first, as Python does.
    fn find(&mut self, folder: &Path, parts: &[String], rule: PackageRule) -> Result<Option<Found>, PythonError> {
        let path = parts.iter().fold(folder.to_owned(), |path, part| path.join(part));
        if let Some(source) = self.read(&path.join("__init__.py"), MAX_SOURCE + 1)? {
            return Ok(Some(Found { source: source.into(), is_package: true }));
        }
        if rule == PackageRule::EveryFolder && path.is_dir() {
            self.looked_at.insert(path.clone(), Stamp::of(&path));
            return Ok(Some(Found { source: Arc::default(), is_package: true }));
        }
        let mut name = path.into_os_string();
        name.push(".py");
        let source = self.read(Path::new(&name), MAX_SOURCE + 1)?;
        Ok(source.map(|source| Found { source: source.into(), is_package: false }))
    }

    /// Returns the first folder that has a collection; other folders with the same collection do not count.
    fn collection_folder(&mut self, collection: &[String; 2]) -> Option<PathBuf> {
        if let Some(known) = self.of_collections.get(collection) {
            return known.clone();
        }
        let found = self.find_collection(collection);
        self.of_collections.insert(collection.clone(), found.clone());
        found
    }

    fn find_collection(&mut self, [namespace, collection]: &[String; 2]) -> Option<PathBuf> {
        let folders = self.roots.collections.iter();
        let mut folders = folders.map(|root| root.join("ansible_collections").join(namespace).join(collection));
        folders.find(|folder| {
            let stamp = Stamp::of(folder);
            // An existing folder gets no stamp: only its existence matters, not its other contents.
            if stamp == Stamp::Missing {
                self.looked_at.insert(folder.clone(), stamp);
            }
            stamp != Stamp::Missing && folder.is_dir()
        })
    }

    fn read_routing(&mut self, collection: &[String; 2]) -> Result<Option<Arc<Routing>>, PythonError> {
        let path = match collection {
            [namespace, name] if namespace == "ansible" && name == "builtin" => {
                self.roots.core.join("config/ansible_builtin_runtime.yml")
            }
            collection => match self.collection_folder(collection) {
                Some(folder) => folder.join("meta/runtime.yml"),
                None => return Ok(None),
            },
        };
        let stamp = Stamp::of(&path);
        if let Some(known) = self.known.of(&path, stamp) {
            self.looked_at.insert(path, stamp);
            return Ok(Some(known));
        }
        // Releases before 2.10, and many collections, redirect nothing.
        let Some(yaml) = self.read(&path, MAX_ROUTING)? else { return Ok(Some(Arc::default())) };
        let routing = Routing::parse(&String::from_utf8_lossy(&yaml));
        let routing = Arc::new(routing.map_err(|source| PythonError::Routing { path: path.clone(), source })?);
        self.known.keep(&path, stamp, &routing);
        Ok(Some(routing))
    }
}

impl Lookup for Disk {
    type Error = PythonError;

    fn core(&mut self, parts: &[String]) -> Result<Option<Found>, PythonError> {
        for number in 0..self.roots.utilities.len() {
            let folder = self.roots.utilities[number].clone();
            if !self.is_missing(&folder)
                && let Some(found) = self.find(&folder, parts, PackageRule::WithInit)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn collection(&mut self, collection: &[String; 2], parts: &[String]) -> Result<Option<Found>, PythonError> {
        match self.collection_folder(collection) {
            Some(folder) => self.find(&folder.join("plugins/module_utils"), parts, PackageRule::EveryFolder),
            None => Ok(None),
        }
    }

    fn routing(&mut self, collection: &[String; 2]) -> Result<Option<Arc<Routing>>, PythonError> {
        if let Some(known) = self.routing.get(collection) {
            return Ok(known.clone());
        }
        let routing = self.read_routing(collection)?;
        self.routing.insert(collection.clone(), routing.clone());
        Ok(routing)
    }

    /// ansible-core asks its own packages: a folder that adds utilities does not count for those of `ansible`.
    fn embedded(&mut self, package: &DottedName, name: &str) -> Result<EmbeddedFile, PythonError> {
        let folder = match package.parts() {
            [ansible, parts @ ..] if ansible == "ansible" => Some((self.roots.core.clone(), parts)),
            [_, namespace, collection, parts @ ..] => {
                let folder = self.collection_folder(&[namespace.clone(), collection.clone()]);
                folder.map(|folder| (folder, parts))
            }
            _ => None,
        };
        let Some((root, parts)) = folder else { return Ok(EmbeddedFile::NoPackage) };
        let folder = parts.iter().fold(root, |folder, part| folder.join(part));
        let path = folder.join(name);
        self.looked_at.insert(path.clone(), Stamp::of(&path));
        if !folder.is_dir() {
            return Ok(EmbeddedFile::NoPackage);
        }
        if !path.is_file() {
            return Ok(EmbeddedFile::NoFile);
        }
        let bytes = self.read(&path, MAX_SOURCE + 1)?;
        Ok(bytes.map_or(EmbeddedFile::NoFile, |bytes| EmbeddedFile::Found(bytes.into())))
    }

    fn searched(&self, name: &DottedName) -> Vec<String> {
        let of_collection = name.starts_with(&["ansible_collections"]);
        let folders = if of_collection { &self.roots.collections } else { &self.roots.utilities };
        let shown = |folder: &PathBuf| match of_collection {
            true => folder.join("ansible_collections").display().to_string(),
            false => folder.display().to_string(),
        };
        folders.iter().map(shown).collect()
    }
}

/// Reads a regular file up to a limit; a longer file is cut there. A caller that must notice this asks for one byte
/// more than it accepts.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, metadata) = modbox_files::open_regular(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(limit)).unwrap_or_default());
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
