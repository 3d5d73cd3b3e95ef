//! The search for a path or a name, through redirects, to a file.
//!
//! As in ansible-core 2.19 (`_resolve_plugin_step`), a full name is looked up in its collection alone. A plain name, and
//! one of `ansible.legacy`, is looked up in the folders of the library, then among ansible-core's own modules, whose
//! list of redirects has the names of modules that have moved to collections.

use std::cell::LazyCell;
use std::fs::{self, Metadata};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use modbox_kinds::collections::{Change, ModuleRoute, QualifiedName};

use crate::modules::library::directory::{self, is_project};
use crate::modules::library::error::LookupError;
use crate::modules::library::folder::Listing;
use crate::modules::library::found::{FoundModule, is_path, plain_name};
use crate::modules::library::installed::Installed;
use crate::modules::library::place::{Place, describe_all};
use crate::python::PythonConfig;

/// Redirects that are followed. Ansible follows any number; real chains have one or two.
const MAX_REDIRECTS: usize = 32;

/// The prefix of names that are looked up as if they had none.
const LEGACY: &str = "ansible.legacy.";

/// What a collection has of a name.
enum Step {
    Found(FoundModule),
    Redirect(String),
}

/// Location of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// A file.
    File(FoundModule),
    /// One of modbox's own modules, by its name, which no folder of the library has.
    Own(String),
    /// A directory with a guest project in it.
    Project(PathBuf),
}

/// Places in which modules are looked up.
#[derive(Debug)]
pub struct Library<'a> {
    /// Folders of modules outside of collections.
    pub folders: Vec<Place>,
    /// Returns the name of one of modbox's own modules, if a word is one.
    pub own: fn(&Path) -> Option<&str>,
    /// Lookup of collections and of ansible-core.
    pub python: &'a PythonConfig,
    /// Python interpreter that the caller has chosen, whose ansible-core and collections are used.
    pub interpreter: Option<&'a str>,
    /// Working directory.
    pub directory: &'a Path,
}

impl Library<'_> {
    /// Finds a module by path or by name. A file that exists is taken by its name, too. A directory is taken only if it
    /// is [written as a path](is_path): a project may be built, and that runs its code unconfined, so a name from the
    /// library must not become a directory that the working directory happens to have.
    ///
    /// # Errors
    ///
    /// No such module, or a directory that is not a project.
    pub fn find(&self, module: &Path) -> Result<Located, LookupError> {
        let is_path = is_path(module);
        let metadata = fs::metadata(module);
        let directory = metadata.as_ref().is_ok_and(Metadata::is_dir);
        match metadata {
            Ok(_) if !directory => return Ok(Located::File(FoundModule::at(module.to_owned(), module))),
            Ok(_) if is_path && is_project(module) => return Ok(Located::Project(module.to_owned())),
            Ok(_) if is_path => {
                let (path, holds) = (module.to_owned(), directory::holds(module).unwrap_or_default());
                return Err(LookupError::NotAProject { path, holds });
            }
            Err(error) if is_path => {
                let path = module.to_owned();
                return Err(match error.kind() {
                    io::ErrorKind::NotFound => LookupError::NoSuchFile(path),
                    _ => LookupError::Read { path, source: error },
                });
            }
            Ok(_) | Err(_) => {}
        }
        self.find_by_name(module)
    }

    /// Finds a module by its name alone. A file of that name in the working directory does not count.
    ///
    /// # Errors
    ///
    /// No such module.
    pub fn find_by_name(&self, module: &Path) -> Result<Located, LookupError> {
        let installed = LazyCell::new(|| self.installed());
        self.locate_name(module, (&Listing::default(), &installed))
    }

    /// Returns a search for many names: each folder is listed once, and what is installed is looked for once.
    #[must_use]
    pub fn for_many(&self) -> ManyNames<'_> {
        ManyNames { library: self, installed: self.installed().kept() }
    }

    fn locate_name<'i>(
        &self,
        module: &Path,
        (listing, installed): (&Listing, &impl Deref<Target = Installed<'i>>),
    ) -> Result<Located, LookupError> {
        // modbox's own modules come after the library, and before those of an installed ansible-core.
        if let Some(own) = (self.own)(module)
            && self.in_folders(listing, module, module).is_none()
        {
            return Ok(Located::Own(own.to_owned()));
        }
        self.name_in(module, (listing, installed)).map(Located::File)
    }

    /// Returns the file in which a collection, or ansible-core as `ansible.builtin`, describes its plugins.
    #[must_use]
    pub fn runtime_file(&self, collection: &str) -> Option<PathBuf> {
        let name = QualifiedName::parse(&format!("{collection}.any"))?;
        Some(Installed::runtime_file(&self.installed().folder(&name)?, &name))
    }

    /// Returns the full name that an action of a collection has now, by its full name.
    ///
    /// # Errors
    ///
    /// The collection's file of redirects cannot be read.
    pub fn action_redirect(&self, action: &str) -> Result<Option<String>, LookupError> {
        let installed = self.installed();
        let Some(name) = QualifiedName::parse(action) else { return Ok(None) };
        let Some(folder) = installed.folder(&name) else { return Ok(None) };
        Ok(installed.routing(&folder, &name)?.action_redirect(&name.resource()))
    }

    /// Returns the folders that have `ansible_collections` in them, in the order of the search.
    #[must_use]
    pub fn collection_roots(&self) -> Vec<PathBuf> {
        self.installed().roots().to_vec()
    }

    /// Returns whether an ansible-core is installed.
    #[must_use]
    pub fn has_core(&self) -> bool {
        self.installed().has_core()
    }

    pub(super) fn installed(&self) -> Installed<'_> {
        Installed::new(self.python, self.interpreter, self.directory)
    }

    /// Finds a module by its name, leaving out modbox's own.
    ///
    /// # Errors
    ///
    /// No such module.
    pub fn find_name(&self, module: &Path) -> Result<FoundModule, LookupError> {
        let installed = LazyCell::new(|| self.installed());
        self.name_in(module, (&Listing::default(), &installed))
    }

    fn name_in<'i>(
        &self,
        module: &Path,
        (listing, installed): (&Listing, &impl Deref<Target = Installed<'i>>),
    ) -> Result<FoundModule, LookupError> {
        let Some(asked) = module.to_str() else {
            return self.in_folders(listing, module, module).ok_or_else(|| self.not_found(module, None));
        };
        let is_full = QualifiedName::parse(asked).is_some_and(|name| !name.is_legacy());
        let plain = Path::new(asked.strip_prefix(LEGACY).unwrap_or(asked));
        if !is_full && let Some(found) = self.in_folders(listing, plain, module) {
            return Ok(found);
        }
        // The list of redirects is for names that ansible-core has no file of.
        if !is_full && let Some(path) = installed.core_file(plain) {
            let name = format!("ansible.builtin.{}", plain_name(&path));
            return Ok(FoundModule { path, name, task_name: asked.to_owned(), ..FoundModule::default() });
        }
        let found = self.follow(asked, (listing, installed));
        match found {
            // The file of a module outside of collections may have dots in its name.
            Err(LookupError::NoCollection { .. }) if is_full => {
                self.in_folders(listing, module, module).map_or(found, Ok)
            }
            found => found,
        }
    }

    /// Follows redirects from a name that no folder of the library has.
    fn follow(
        &self,
        asked: &str,
        (listing, installed): (&Listing, &Installed<'_>),
    ) -> Result<FoundModule, LookupError> {
        let plain = asked.strip_prefix(LEGACY).unwrap_or(asked);
        let full = QualifiedName::parse(asked).filter(|name| !name.is_legacy());
        // Only a name without a dot can be one of ansible-core.
        let builtin = || QualifiedName::builtin(plain).filter(|name| name.parts().len() == 1);
        let is_full = full.is_some();
        let not_found = || self.not_found(Path::new(plain), Some(installed));
        let mut name = full.or_else(builtin).ok_or_else(not_found)?;
        if !is_full && !installed.has_core() {
            return Err(not_found());
        }
        let (mut passed, mut deprecations) = (Vec::new(), Vec::new());
        loop {
            passed.push(name.to_string());
            let step = take(asked, &name, installed, &mut deprecations);
            let target = match step {
                Ok(Step::Found(found)) => return Ok(FoundModule { deprecations, ..found }),
                Ok(Step::Redirect(target)) => target,
                Err(LookupError::NotInCollection { .. }) if !is_full && passed.len() == 1 => return Err(not_found()),
                Err(error) => return Err(error),
            };
            tracing::debug!(%name, target, "followed a redirect");
            if passed.contains(&target) || passed.len() > MAX_REDIRECTS {
                passed.push(target);
                return Err(LookupError::EndlessRedirect(passed));
            }
            let invalid = || LookupError::InvalidRedirect { name: name.to_string(), target: target.clone() };
            let next = QualifiedName::parse(&target).ok_or_else(invalid)?;
            if next.is_legacy() {
                let plain = next.resource();
                if let Some(found) = self.in_folders(listing, Path::new(&plain), Path::new(asked)) {
                    return Ok(FoundModule { deprecations, ..found });
                }
                name = QualifiedName::builtin(&plain).filter(|name| name.parts().len() == 1).ok_or_else(invalid)?;
            } else {
                name = next;
            }
        }
    }

    /// Finds a file in the folders of the library. `asked` is the word of the caller.
    fn in_folders(&self, listing: &Listing, name: &Path, asked: &Path) -> Option<FoundModule> {
        let path = self.folders.iter().flat_map(|place| &place.folders).find_map(|place| listing.find(place, name))?;
        // A name without its extension may have dots.
        let full = plain_name(&path);
        let task_name = if name == asked { full.clone() } else { asked.to_string_lossy().into_owned() };
        Some(FoundModule { path, name: full, task_name, ..FoundModule::default() })
    }

    fn not_found(&self, name: &Path, installed: Option<&Installed<'_>>) -> LookupError {
        let mut places = self.folders.clone();
        places.extend(installed.map(Installed::core_place));
        LookupError::NotFound {
            name: name.display().to_string(),
            searched: describe_all(&places, ""),
            advice: directory::advice(name, self.directory),
        }
    }
}

/// Search for many names.
#[derive(Debug)]
pub struct ManyNames<'a> {
    library: &'a Library<'a>,
    installed: Installed<'a>,
}

impl ManyNames<'_> {
    /// Finds a module as [`Library::find_by_name`] does.
    ///
    /// # Errors
    ///
    /// No such module.
    pub fn find_by_name(&self, module: &Path) -> Result<Located, LookupError> {
        self.library.locate_name(module, (self.installed.listing(), &&self.installed))
    }
}

/// Looks a full name up in its collection.
fn take(
    asked: &str,
    name: &QualifiedName,
    installed: &Installed<'_>,
    deprecations: &mut Vec<String>,
) -> Result<Step, LookupError> {
    let (asked, full) = (asked.to_owned(), name.to_string());
    let Some(folder) = installed.folder(name) else {
        return Err(match name.is_builtin() {
            true => LookupError::NoCore { asked, name: full },
            false => {
                let (collection, searched) = (name.collection().join("."), installed.searched());
                LookupError::NoCollection { asked, name: full, collection, searched }
            }
        });
    };
    let ModuleRoute { change, deprecation, action_plugin } = installed.routing(&folder, name)?.of(&name.resource());
    if let Some(reason) = deprecation {
        deprecations.push(format!("the module `{full}` is deprecated: {reason}"));
    }
    match change {
        Some(Change::Removed(reason)) => Err(LookupError::Removed { asked, name: full, reason }),
        Some(Change::Redirect(target)) => Ok(Step::Redirect(target)),
        None => match installed.file(&folder, name) {
            Ok(path) => {
                let found = FoundModule { path, name: full, task_name: asked, action_plugin, ..FoundModule::default() };
                Ok(Step::Found(found))
            }
            Err(folder) => Err(LookupError::NotInCollection { asked, name: full, folder }),
        },
    }
}
