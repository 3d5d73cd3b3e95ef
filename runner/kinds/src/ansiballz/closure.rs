//! All that a module imports, directly or not: its closure.
//!
//! After ansible-core 2.19, `recursive_finder` with its two locators. Names are taken in their order, so that the answer
//! is always the same. For `from X import Y` it is `X.Y` that is looked for, then `X`. Of `ansible.module_utils`, what lies
//! on the disk goes before a redirect; of a collection, a redirect goes first. Packages above what was found come along, those
//! of a collection's root as empty ones. What is imported only optionally may be missing.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;

use crate::ansiballz::imports::{self, SourceError};
use crate::ansiballz::name::DottedName;
use crate::ansiballz::routing::{Route, Routing};

/// Bytes of one source. The longest module that was met has a fifth of that. The parser takes memory in proportion.
pub const MAX_SOURCE: u64 = 1 << 20;

/// Files of a closure; ansible-core's own module with the most has a hundred.
pub const MAX_FILES: usize = 2000;

const CORE: [&str; 2] = ["ansible", "module_utils"];

/// How many parts stand before a utility's own name: `ansible.module_utils`, and the long one of collections.
const CORE_PREFIX: usize = 2;
const COLLECTION_PREFIX: usize = 5;

/// A source that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// All of it.
    pub source: Arc<[u8]>,
    /// Whether it is the `__init__` of a package.
    pub is_package: bool,
}

/// Where sources are looked up.
pub trait Lookup {
    /// Why that may fail, apart from there being nothing.
    type Error: Error;

    /// Returns what has a name below `ansible.module_utils`.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    fn core(&mut self, parts: &[String]) -> Result<Option<Found>, Self::Error>;

    /// Returns what has a name below a collection's `plugins.module_utils`.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    fn collection(&mut self, collection: &[String; 2], parts: &[String]) -> Result<Option<Found>, Self::Error>;

    /// Returns the redirects of a collection, of ansible-core for `ansible.builtin`; `None` when there is no such collection.
    ///
    /// # Errors
    ///
    /// A list that cannot be read.
    fn routing(&mut self, collection: &[String; 2]) -> Result<Option<Arc<Routing>>, Self::Error>;

    /// Returns the folders in which a name is looked up, for people.
    fn searched(&self, name: &DottedName) -> Vec<String>;
}

/// Why there is no closure.
#[derive(Debug, thiserror::Error)]
pub enum ClosureError<E: Error + 'static> {
    /// An import of something that is nowhere.
    #[error(
        "{importer} imports `{name}`, which is nowhere: looked for in {}; name its folder with `--module-utils`",
        folders(.searched)
    )]
    Missing {
        /// Who imports it.
        importer: String,
        /// What.
        name: DottedName,
        /// Where it was looked for.
        searched: Vec<String>,
    },
    /// An import of something that was removed.
    #[error("{importer} imports `{name}`, which was removed{}", .reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    Removed {
        /// Who imports it.
        importer: String,
        /// What.
        name: DottedName,
        /// What whoever removed it says.
        reason: Option<String>,
    },
    /// An import of something that is said to be where nothing can be.
    #[error("{importer} imports `{name}`, which is redirected to `{target}`, and that is no name of a `module_utils`")]
    Redirect {
        /// Who imports it.
        importer: String,
        /// What.
        name: DottedName,
        /// Where it is said to be.
        target: String,
    },
    /// A source that is no Python.
    #[error("`{name}` is no Python that can be read")]
    Source {
        /// Which one.
        name: DottedName,
        /// Why.
        #[source]
        source: SourceError,
    },
    /// A source that is too long.
    #[error("`{0}` is longer than the limit of {MAX_SOURCE} bytes for a Python source")]
    TooLong(DottedName),
    /// Too many files.
    #[error("the module imports more than {MAX_FILES} files")]
    TooMany,
    /// Looking something up failed.
    #[error(transparent)]
    Lookup(E),
}

fn folders(searched: &[String]) -> String {
    let shown: Vec<String> = searched.iter().map(|folder| format!("`{folder}`")).collect();
    if shown.is_empty() { "no folder, as none is known".to_owned() } else { shown.join(", ") }
}

/// Something that is to be found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    name: DottedName,
    /// The last part may be something in the module before it.
    ambiguous: bool,
    /// Something below it is a redirect, so that it need not exist itself.
    below_redirected: bool,
    optional: bool,
    importer: String,
}

/// Something that was found.
struct Located {
    name: DottedName,
    source: Arc<[u8]>,
    is_package: bool,
    redirected: bool,
}

/// Sources by name, each with whether it is a package.
pub(super) type Closure = BTreeMap<DottedName, (Arc<[u8]>, bool)>;

/// Finds the closure of a module, without the module itself. `always` come along whether they are imported or not.
pub(super) fn find<L: Lookup>(
    module: (&DottedName, &[u8]),
    always: &[DottedName],
    lookup: &mut L,
) -> Result<Closure, ClosureError<L::Error>> {
    let root = DottedName::of(&[]);
    let mut finder =
        Finder { lookup, found: Closure::new(), wanted: BTreeSet::new(), importer: "the module".to_owned(), root };
    let (name, source) = module;
    finder.want_imports(name, source, false)?;
    for name in always {
        finder.want(Wanted { name: name.clone(), ..finder.wanted(name, false) });
    }
    while let Some(wanted) = finder.wanted.pop_first() {
        finder.take(wanted)?;
    }
    Ok(finder.found)
}

struct Finder<'a, L> {
    lookup: &'a mut L,
    found: Closure,
    wanted: BTreeSet<Wanted>,
    importer: String,
    root: DottedName,
}

impl<L: Lookup> Finder<'_, L> {
    fn wanted(&self, name: &DottedName, optional: bool) -> Wanted {
        let importer = self.importer.clone();
        Wanted { name: name.clone(), ambiguous: false, below_redirected: false, optional, importer }
    }

    fn want(&mut self, wanted: Wanted) {
        // Those two are made for each payload.
        let own = wanted.name == self.root
            || (wanted.name.parts().len() <= CORE_PREFIX && wanted.name.parts()[0] == "ansible");
        if !own && !self.found.contains_key(&wanted.name) {
            self.wanted.insert(wanted);
        }
    }

    fn want_imports(
        &mut self,
        name: &DottedName,
        source: &[u8],
        is_package: bool,
    ) -> Result<(), ClosureError<L::Error>> {
        if source.len() as u64 > MAX_SOURCE {
            return Err(ClosureError::TooLong(name.clone()));
        }
        let imports = imports::scan(source, name, is_package)
            .map_err(|source| ClosureError::Source { name: name.clone(), source })?;
        for (name, optional) in imports {
            self.want(Wanted { ambiguous: true, ..self.wanted(&name, optional) });
        }
        Ok(())
    }

    fn take(&mut self, wanted: Wanted) -> Result<(), ClosureError<L::Error>> {
        if self.found.contains_key(&wanted.name) {
            return Ok(());
        }
        let Some(located) = self.locate(&wanted)? else {
            if wanted.optional {
                return Ok(());
            }
            let searched = self.lookup.searched(&wanted.name);
            return Err(ClosureError::Missing { importer: wanted.importer, name: wanted.name, searched });
        };
        if self.found.contains_key(&located.name) {
            return Ok(());
        }
        if self.found.len() >= MAX_FILES {
            return Err(ClosureError::TooMany);
        }
        self.importer = format!("`{}`", located.name);
        self.want_imports(&located.name, &located.source, located.is_package)?;
        let Located { name, source, is_package, redirected } = located;
        for count in 1..name.parts().len() {
            let package = name.first(count);
            self.want(Wanted { below_redirected: redirected, ..self.wanted(&package, wanted.optional) });
        }
        self.found.insert(name, (source, is_package));
        Ok(())
    }

    fn locate(&mut self, wanted: &Wanted) -> Result<Option<Located>, ClosureError<L::Error>> {
        let parts = wanted.name.parts();
        if wanted.name.starts_with(&CORE) {
            // six makes what is in it when it runs.
            if parts[CORE_PREFIX] == "six" {
                return self.locate_in(wanted, &[wanted.name.first(CORE_PREFIX + 1)], CORE_PREFIX);
            }
            let candidates = candidates(wanted, CORE_PREFIX);
            return self.locate_in(wanted, &candidates, CORE_PREFIX);
        }
        let of_utilities =
            parts.len() <= COLLECTION_PREFIX || parts[3..COLLECTION_PREFIX] == ["plugins", "module_utils"];
        if parts[0] != "ansible_collections" || !of_utilities {
            return Ok(None);
        }
        let candidates = candidates(wanted, COLLECTION_PREFIX);
        self.locate_in(wanted, &candidates, COLLECTION_PREFIX)
    }

    fn locate_in(
        &mut self,
        wanted: &Wanted,
        candidates: &[DottedName],
        prefix: usize,
    ) -> Result<Option<Located>, ClosureError<L::Error>> {
        let of_core = prefix == CORE_PREFIX;
        for name in candidates {
            if !of_core && let Some(located) = self.redirected(wanted, name, prefix)? {
                return Ok(Some(located));
            }
            if let Some(found) = self.look_up(name, prefix)? {
                let Found { source, is_package } = found;
                return Ok(Some(Located { name: name.clone(), source, is_package, redirected: false }));
            }
            if of_core && let Some(located) = self.redirected(wanted, name, prefix)? {
                return Ok(Some(located));
            }
        }
        // A package that is only on the way to what is somewhere else now.
        let name = candidates.last().filter(|_| wanted.below_redirected).cloned();
        Ok(name.map(|name| Located { name, source: Arc::default(), is_package: true, redirected: false }))
    }

    fn look_up(&mut self, name: &DottedName, prefix: usize) -> Result<Option<Found>, ClosureError<L::Error>> {
        let parts = name.parts();
        let found = match parts.get(prefix..) {
            // Above a collection's utilities nothing is taken along but the way.
            None | Some([]) => Ok(Some(Found { source: Arc::default(), is_package: true })),
            Some(rest) if prefix == CORE_PREFIX => self.lookup.core(rest),
            Some(rest) => self.lookup.collection(&[parts[1].clone(), parts[2].clone()], rest),
        };
        found.map_err(ClosureError::Lookup)
    }

    fn redirected(
        &mut self,
        wanted: &Wanted,
        name: &DottedName,
        prefix: usize,
    ) -> Result<Option<Located>, ClosureError<L::Error>> {
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
                let (importer, name) = (wanted.importer.clone(), name.clone());
                Err(ClosureError::Removed { importer, name, reason: reason.clone() })
            }
            Some(Route::Nowhere(target)) => {
                let (importer, name) = (wanted.importer.clone(), name.clone());
                Err(ClosureError::Redirect { importer, name, target: target.clone() })
            }
            Some(Route::Redirect(target)) => {
                let source = stand_in(name, target).into_bytes().into();
                Ok(Some(Located { name: name.clone(), source, is_package: true, redirected: true }))
            }
        }
    }
}

/// The names by which something may be meant. Right below `module_utils` there is nothing that it could be in.
fn candidates(wanted: &Wanted, prefix: usize) -> Vec<DottedName> {
    let length = wanted.name.parts().len();
    let mut names = vec![wanted.name.clone()];
    if wanted.ambiguous && length > prefix + 1 {
        names.push(wanted.name.first(length - 1));
    }
    names
}

/// A package that stands in for what is somewhere else now: whoever imports it has that.
fn stand_in(name: &DottedName, target: &DottedName) -> String {
    format!("import sys\n\nimport {target} as target\n\nsys.modules['{name}'] = target\n")
}
