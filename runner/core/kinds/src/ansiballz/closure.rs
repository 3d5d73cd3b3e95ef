//! The closure of a module: all its direct and indirect imports, and the files that these sources embed.
//!
//! The rules follow ansible-core 2.21, `recursive_finder` with its two locators:
//!
//! - Names are processed in sorted order, so that the result is always the same.
//! - For `from X import Y`, the search tries `X.Y` first, then `X`.
//! - Under `ansible.module_utils`, a file on the disk takes precedence over a redirect. In a collection, a redirect
//!   takes precedence.
//! - The packages above each file are included. Those above a collection's utilities are empty.
//! - An optional import may be missing.
//! - Embedded files are looked up last. They count only where the ansible-core has the utility `embed` (since 2.21): before, a
//!   utility of that name is like any other.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;

use crate::ansiballz::bounds::{MAX_FILES, MAX_SOURCE};
use crate::ansiballz::closure_error::ClosureError;
use crate::ansiballz::embeds::{Embed, EmbedFault, Embeds};
use crate::ansiballz::name::DottedName;
use crate::ansiballz::routing::{Route, Routing};
use crate::ansiballz::scans;

const CORE: [&str; 2] = ["ansible", "module_utils"];

/// The utility by which sources embed files, since ansible-core 2.21.
const MANAGER_FILE: &str = "embed.py";

/// Number of parts before a utility's name: in `ansible.module_utils`, and in the longer prefix of collections.
const CORE_PREFIX: usize = 2;
const COLLECTION_PREFIX: usize = 5;

/// The source of an import.
#[derive(Debug, Clone)]
pub struct Found {
    /// The whole text.
    pub source: Arc<[u8]>,
    /// Whether it is a package's `__init__`.
    pub is_package: bool,
}

/// The answer for a file that a source embeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddedFile {
    /// The package does not exist.
    NoPackage,
    /// The package has no regular file of this name.
    NoFile,
    /// The file's bytes.
    Found(Arc<[u8]>),
}

/// The lookup of sources.
pub trait Lookup {
    /// A failed lookup. A missing source is not an error.
    type Error: Error;

    /// Returns the source of a name below `ansible.module_utils`.
    ///
    /// # Errors
    ///
    /// An unreadable file.
    fn core(&mut self, parts: &[String]) -> Result<Option<Found>, Self::Error>;

    /// Returns the source of a name below a collection's `plugins.module_utils`.
    ///
    /// # Errors
    ///
    /// An unreadable file.
    fn collection(&mut self, collection: &[String; 2], parts: &[String]) -> Result<Option<Found>, Self::Error>;

    /// Returns the redirects of a collection; `ansible.builtin` stands for ansible-core. `None` when there is no such
    /// collection.
    ///
    /// # Errors
    ///
    /// An unreadable list.
    fn routing(&mut self, collection: &[String; 2]) -> Result<Option<Arc<Routing>>, Self::Error>;

    /// Returns a file of a package below `ansible` itself or below a collection.
    ///
    /// # Errors
    ///
    /// An unreadable file.
    fn embedded(&mut self, package: &DottedName, name: &str) -> Result<EmbeddedFile, Self::Error>;

    /// Returns the folders in which a name is searched, for messages.
    fn searched(&self, name: &DottedName) -> Vec<String>;
}

/// An import that has not been resolved yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct PendingImport {
    name: DottedName,
    /// Whether the last part may be a name inside the module before it.
    ambiguous: bool,
    /// Whether a name below it is a redirect, so that the package itself may be missing.
    below_redirected: bool,
    optional: bool,
    importer: String,
}

struct ResolvedImport {
    name: DottedName,
    source: Arc<[u8]>,
    is_package: bool,
    redirected: bool,
}

/// Sources by name, each with whether it is a package.
pub(super) type Closure = BTreeMap<DottedName, (Arc<[u8]>, bool)>;

/// The files that sources embed, by their paths.
pub(super) type EmbeddedFiles = BTreeMap<String, Arc<[u8]>>;

/// Computes the closure of a module, without the module itself, and the files that are embedded. It includes the names in
/// `always` even if they are not imported.
pub(super) fn find<L: Lookup>(
    module: (&DottedName, &[u8]),
    always: &[DottedName],
    lookup: &mut L,
) -> Result<(Closure, EmbeddedFiles), ClosureError<L::Error>> {
    let mut finder = Finder {
        lookup,
        found: Closure::new(),
        pending: BTreeSet::new(),
        importer: "the module".to_owned(),
        root: DottedName::of(&[]),
        embeds: Vec::new(),
    };
    let (name, source) = module;
    finder.enqueue_imports(name, source, false)?;
    for name in always {
        finder.enqueue(PendingImport { name: name.clone(), ..finder.pending(name, false) });
    }
    while let Some(pending) = finder.pending.pop_first() {
        finder.take(pending)?;
    }
    let embedded = finder.embedded()?;
    Ok((finder.found, embedded))
}

struct Finder<'a, L> {
    lookup: &'a mut L,
    found: Closure,
    pending: BTreeSet<PendingImport>,
    importer: String,
    root: DottedName,
    /// Embedded files, each with the source that embeds it.
    embeds: Vec<(DottedName, Embed)>,
}

impl<L: Lookup> Finder<'_, L> {
    fn pending(&self, name: &DottedName, optional: bool) -> PendingImport {
        let importer = self.importer.clone();
        PendingImport { name: name.clone(), ambiguous: false, below_redirected: false, optional, importer }
    }

    fn enqueue(&mut self, pending: PendingImport) {
        // `assemble` generates these two packages for each payload.
        let own = pending.name == self.root
            || (pending.name.parts().len() <= CORE_PREFIX && pending.name.parts()[0] == "ansible");
        if !own && !self.found.contains_key(&pending.name) {
            self.pending.insert(pending);
        }
    }

    fn enqueue_imports(
        &mut self,
        name: &DottedName,
        source: &[u8],
        is_package: bool,
    ) -> Result<(), ClosureError<L::Error>> {
        if source.len() as u64 > MAX_SOURCE {
            return Err(ClosureError::TooLong(name.clone()));
        }
        let scan = scans::scan(source, name, is_package)
            .map_err(|source| ClosureError::Source { name: name.clone(), source })?;
        for (name, optional) in &scan.imports {
            self.enqueue(PendingImport { ambiguous: true, ..self.pending(name, *optional) });
        }
        self.take_embeds(name, &scan.embeds)
    }

    /// Notes what a source embeds.
    fn take_embeds(&mut self, name: &DottedName, embeds: &Embeds) -> Result<(), ClosureError<L::Error>> {
        let Some(embeds) = embeds else { return Ok(()) };
        let utilities = DottedName::of(&CORE.map(str::to_owned));
        let manager = self.lookup.embedded(&utilities, MANAGER_FILE).map_err(ClosureError::Lookup)?;
        if !matches!(manager, EmbeddedFile::Found(_)) {
            return Ok(());
        }
        let embeds = embeds.clone().map_err(|(line, fault)| ClosureError::Embed { name: name.clone(), line, fault })?;
        self.embeds.extend(embeds.into_iter().map(|embed| (name.clone(), embed)));
        Ok(())
    }

    /// Looks up the embedded files.
    fn embedded(&mut self) -> Result<EmbeddedFiles, ClosureError<L::Error>> {
        let mut files = EmbeddedFiles::new();
        for (name, embed) in std::mem::take(&mut self.embeds) {
            let (path, line) = (embed.file(), embed.line);
            let fault = match self.lookup.embedded(&embed.package, &embed.resource).map_err(ClosureError::Lookup)? {
                EmbeddedFile::Found(bytes) if bytes.len() as u64 > MAX_SOURCE => EmbedFault::TooLong(path),
                EmbeddedFile::Found(bytes) => {
                    files.insert(path, bytes);
                    if self.found.len() + files.len() > MAX_FILES {
                        return Err(ClosureError::TooMany);
                    }
                    continue;
                }
                EmbeddedFile::NoPackage => EmbedFault::NoPackage(embed.package),
                EmbeddedFile::NoFile => EmbedFault::NoFile(embed.resource),
            };
            return Err(ClosureError::Embed { name, line, fault });
        }
        Ok(files)
    }

    fn take(&mut self, pending: PendingImport) -> Result<(), ClosureError<L::Error>> {
        if self.found.contains_key(&pending.name) {
            return Ok(());
        }
        let Some(resolved) = self.locate(&pending)? else {
            if pending.optional {
                return Ok(());
            }
            let searched = self.lookup.searched(&pending.name);
            return Err(ClosureError::Missing { importer: pending.importer, name: pending.name, searched });
        };
        if self.found.contains_key(&resolved.name) {
            return Ok(());
        }
        if self.found.len() >= MAX_FILES {
            return Err(ClosureError::TooMany);
        }
        self.importer = format!("`{}`", resolved.name);
        self.enqueue_imports(&resolved.name, &resolved.source, resolved.is_package)?;
        let ResolvedImport { name, source, is_package, redirected } = resolved;
        for count in 1..name.parts().len() {
            let package = name.first(count);
            self.enqueue(PendingImport { below_redirected: redirected, ..self.pending(&package, pending.optional) });
        }
        self.found.insert(name, (source, is_package));
        Ok(())
    }

    fn locate(&mut self, pending: &PendingImport) -> Result<Option<ResolvedImport>, ClosureError<L::Error>> {
        let parts = pending.name.parts();
        if pending.name.starts_with(&CORE) {
            // six creates its submodules at run time.
            if parts[CORE_PREFIX] == "six" {
                return self.locate_in(pending, &[pending.name.first(CORE_PREFIX + 1)], CORE_PREFIX);
            }
            let candidates = candidates(pending, CORE_PREFIX);
            return self.locate_in(pending, &candidates, CORE_PREFIX);
        }
        let of_utilities =
            parts.len() <= COLLECTION_PREFIX || parts[3..COLLECTION_PREFIX] == ["plugins", "module_utils"];
        if parts[0] != "ansible_collections" || !of_utilities {
            return Ok(None);
        }
        let candidates = candidates(pending, COLLECTION_PREFIX);
        self.locate_in(pending, &candidates, COLLECTION_PREFIX)
    }

    fn locate_in(
        &mut self,
        pending: &PendingImport,
        candidates: &[DottedName],
        prefix: usize,
    ) -> Result<Option<ResolvedImport>, ClosureError<L::Error>> {
        let of_core = prefix == CORE_PREFIX;
        for name in candidates {
            if !of_core && let Some(resolved) = self.redirected(pending, name, prefix)? {
                return Ok(Some(resolved));
            }
            if let Some(found) = self.look_up(name, prefix)? {
                let Found { source, is_package } = found;
                return Ok(Some(ResolvedImport { name: name.clone(), source, is_package, redirected: false }));
            }
            if of_core && let Some(resolved) = self.redirected(pending, name, prefix)? {
                return Ok(Some(resolved));
            }
        }
        // A package that exists only as the parent of a redirected name.
        let name = candidates.last().filter(|_| pending.below_redirected).cloned();
        Ok(name.map(|name| ResolvedImport { name, source: Arc::default(), is_package: true, redirected: false }))
    }

    fn look_up(&mut self, name: &DottedName, prefix: usize) -> Result<Option<Found>, ClosureError<L::Error>> {
        let parts = name.parts();
        let found = match parts.get(prefix..) {
            // Packages above a collection's utilities are included as empty ones.
            None | Some([]) => Ok(Some(Found { source: Arc::default(), is_package: true })),
            Some(rest) if prefix == CORE_PREFIX => self.lookup.core(rest),
            Some(rest) => self.lookup.collection(&[parts[1].clone(), parts[2].clone()], rest),
        };
        found.map_err(ClosureError::Lookup)
    }

    fn redirected(
        &mut self,
        pending: &PendingImport,
        name: &DottedName,
        prefix: usize,
    ) -> Result<Option<ResolvedImport>, ClosureError<L::Error>> {
        let parts = name.parts();
        let Some(rest) = parts.get(prefix..).filter(|rest| !rest.is_empty()) else { return Ok(None) };
        let collection = match prefix {
            CORE_PREFIX => ["ansible".to_owned(), "builtin".to_owned()],
            _ => [parts[1].clone(), parts[2].clone()],
        };
        let routing = self.lookup.routing(&collection).map_err(ClosureError::Lookup)?;
        match routing.as_ref().and_then(|routing| routing.of(rest)) {
            None => Ok(None),
            Some(Route::Removed(reason)) => {
                let (importer, name) = (pending.importer.clone(), name.clone());
                Err(ClosureError::Removed { importer, name, reason: reason.clone() })
            }
            Some(Route::Nowhere(target)) => {
                let (importer, name) = (pending.importer.clone(), name.clone());
                Err(ClosureError::Redirect { importer, name, target: target.clone() })
            }
            Some(Route::Redirect(target)) => {
                let source = redirect_source(name, target).into_bytes().into();
                Ok(Some(ResolvedImport { name: name.clone(), source, is_package: true, redirected: true }))
            }
        }
    }
}

/// Returns the names that an import may refer to. A name right below `module_utils` cannot be inside another module.
fn candidates(pending: &PendingImport, prefix: usize) -> Vec<DottedName> {
    let length = pending.name.parts().len();
    let mut names = vec![pending.name.clone()];
    if pending.ambiguous && length > prefix + 1 {
        names.push(pending.name.first(length - 1));
    }
    names
}

/// Returns the source of a package that replaces a redirected name: importing it yields the target.
fn redirect_source(name: &DottedName, target: &DottedName) -> String {
    format!("import sys\n\nimport {target} as target\n\nsys.modules['{name}'] = target\n")
}
