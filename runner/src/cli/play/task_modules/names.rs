//! Finds the modules of tasks by name.
//!
//! As in Ansible, `library` folders of the play and of its roles come first. A name of ansible-core that modbox has a component
//! for leads to both: the component runs if its argument spec accepts the arguments of the task, else Ansible's own
//! module. A component of that name in a folder of the operator takes the place of modbox's own; one in a `library` folder
//! is the play's own module, and the only one.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use modbox_run::library::{FoundModule, Library, Located, LookupError, Place};
use modbox_tasks::actions::table;
use modbox_tasks::load::context::ActionNames;
use modbox_tasks::model::task::{Args, is_one_of};
use modbox_tasks::python_plugins::PluginKind;
use modbox_vocabulary::error_chain;

use crate::cli::context::Context;
use crate::cli::named::find::Lookup;
use crate::cli::named::{shadow, standard};
use crate::cli::play::python_plugins::PlayPlugins;
use crate::cli::play::task_modules::action_groups::ActionGroups;
use crate::cli::play::task_modules::action_plugins::ActionPlugins;

/// Maximum number of groups that one group extends, in all collections.
const MAX_GROUPS: usize = 100;

/// Names of tasks that the engine of plays handles without an action.
const FLOW: [&str; 6] = ["import_playbook", "import_role", "import_tasks", "include_role", "include_tasks", "meta"];

/// Prefixes of names of ansible-core.
const BUILTIN: &str = "ansible.builtin.";
const LEGACY: &str = "ansible.legacy.";

/// Modules that a name leads to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Candidates {
    /// A component for a name of ansible-core.
    pub(crate) own: Option<OwnModule>,
    /// A module of a library, a collection or ansible-core.
    pub(crate) classic: Option<FoundModule>,
}

/// A component for a name of ansible-core.
#[derive(Debug, Clone)]
pub(crate) enum OwnModule {
    /// modbox's own module of this name, which may not be built yet.
    Standard(String),
    /// A component in a folder of the operator.
    Installed(FoundModule),
}

impl OwnModule {
    /// Returns the name, without a collection.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Standard(name) => name,
            Self::Installed(found) => &found.name,
        }
    }
}

/// A name, and the collections to search.
type Asked = (String, Vec<String>);

/// What a name leads to, or why it leads nowhere.
type Found = Result<Candidates, String>;

/// Modules by the names of tasks.
pub(crate) struct ModuleNames<'a> {
    context: &'a Context,
    /// What is installed.
    installed: Lookup,
    /// The same, after the collections beside the play.
    lookup: Lookup,
    /// `library` folders: that of the play, then those of roles, the one that was found first before the others.
    libraries: RefCell<Vec<PathBuf>>,
    plugins: ActionPlugins,
    /// Filters and tests that are Python plugins.
    python: Arc<PlayPlugins>,
    /// Names that were looked up, with the collections to search. Cleared when a library is added.
    known: RefCell<HashMap<Asked, Rc<Found>>>,
}

impl<'a> ModuleNames<'a> {
    /// Creates an empty index. Folders of collections beside the plays come before those that are installed.
    pub(crate) fn new(
        context: &'a Context,
        installed: &Lookup,
        (play_folder, collections): (&Path, &[PathBuf]),
        python: Arc<PlayPlugins>,
    ) -> Self {
        let mut lookup = installed.clone();
        lookup.python.collections.named.splice(..0, collections.iter().cloned());
        Self {
            context,
            installed: installed.clone(),
            lookup,
            libraries: RefCell::new(vec![play_folder.join("library")]),
            plugins: ActionPlugins::new(play_folder),
            python,
            known: RefCell::default(),
        }
    }

    /// Adds the folders of a role: its `library`, and its `action_plugins`.
    pub(crate) fn add_role(&self, role: &Path) {
        self.plugins.add_role(role);
        let library = role.join("library");
        if !library.is_dir() || self.libraries.borrow().contains(&library) {
            return;
        }
        self.libraries.borrow_mut().push(library);
        self.known.borrow_mut().clear();
    }

    /// Returns the modules that a name leads to. `collections` is searched for a name without a collection. A name that a plugin
    /// in Python does leads nowhere.
    pub(crate) fn find(&self, name: &str, collections: &[String]) -> Rc<Found> {
        match self.action_plugin(name, collections, &|_| false) {
            Some(file) => Rc::new(Err(format!(
                "it is done by a plugin in Python (`{}`), which modbox does not run",
                file.display()
            ))),
            None => self.found(name, collections),
        }
    }

    /// Returns the file of the plugin by which Ansible does an action, unless modbox does the same without it (ansible-core 2.21,
    /// `_get_action_handler_with_module_context`).
    fn action_plugin(&self, name: &str, collections: &[String], is_given: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
        if name.starts_with(BUILTIN) {
            return None;
        }
        let of_collection = |name: &str| self.plugins.of_collection(name, &|| self.library(), is_given);
        if name.contains('.') && !name.starts_with(LEGACY) {
            // The collection may name the plugin of a module.
            let of_module = match &*self.found(name, collections) {
                Ok(Candidates { classic: Some(found), .. }) => found.action_plugin.as_deref().and_then(of_collection),
                _ => None,
            };
            return of_module.or_else(|| of_collection(name));
        }
        let plain = name.strip_prefix(LEGACY).unwrap_or(name);
        let others = collections.iter().filter(|collection| plain == name && !is_core(collection));
        let mut named = others.map(|collection| format!("{collection}.{name}"));
        if let Some(file) = named.find_map(|name| of_collection(&name)) {
            return Some(file);
        }
        if let Some(file) = self.plugins.find(plain) {
            let means =
                |action: String| action == plain || !(is_action(plain) || self.found(name, collections).is_ok());
            return (!self.plugins.renamed(plain).is_some_and(means)).then_some(file);
        }
        if is_action(plain) {
            return None;
        }
        // ansible-core leads names that it had to collections.
        match &*self.found(name, collections) {
            Ok(Candidates { classic: Some(found), .. }) if found.name.contains('.') => of_collection(&found.name),
            _ => None,
        }
    }

    fn found(&self, name: &str, collections: &[String]) -> Rc<Found> {
        let key = (name.to_owned(), collections.to_vec());
        if let Some(known) = self.known.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.search(name, collections));
        self.known.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    /// Returns the full name that a name means: that of the collection, or that of ansible-core.
    pub(crate) fn full_name(&self, name: &str, collections: &[String]) -> Option<String> {
        match &*self.find(name, collections) {
            Ok(Candidates { own: Some(own), .. }) => Some(format!("{BUILTIN}{}", own.name())),
            Ok(Candidates { classic: Some(found), .. }) if found.name.contains('.') => Some(found.name.clone()),
            Ok(Candidates { classic: Some(found), .. }) => Some(format!("{LEGACY}{}", found.name)),
            _ => self.plugins.renamed(name).map(|action| format!("{BUILTIN}{action}")),
        }
    }

    /// Returns the full names of the actions in a group. A name without a collection is a group of ansible-core.
    pub(crate) fn action_group(&self, group: &str) -> Option<Vec<String>> {
        let library = self.library();
        let (mut waiting, mut seen, mut all) = (vec![group.to_owned()], BTreeSet::new(), BTreeSet::new());
        let mut is_known = false;
        while let Some(next) = waiting.pop() {
            if seen.len() == MAX_GROUPS || !seen.insert(next.clone()) {
                continue;
            }
            let (collection, name) = next.rsplit_once('.').unwrap_or(("ansible.builtin", &next));
            let Some(file) = library.runtime_file(collection) else { continue };
            let Some((actions, others)) = ActionGroups::read(&file).members(name, collection) else { continue };
            is_known = true;
            all.extend(actions);
            waiting.extend(others);
        }
        is_known.then(|| all.into_iter().collect())
    }

    fn search(&self, name: &str, collections: &[String]) -> Found {
        let library = self.library();
        if let Some(plain) = name.strip_prefix(BUILTIN) {
            let standard = || standard::name(Path::new(plain)).map(|own| OwnModule::Standard(own.to_owned()));
            let own = match library.find_by_name(Path::new(plain)) {
                Ok(Located::File(found)) if self.is_installed(plain, &found.path) => Some(OwnModule::Installed(found)),
                _ => standard(),
            };
            return candidates(own, core_module(&library, plain));
        }
        if let Some(plain) = name.strip_prefix(LEGACY) {
            // A module's messages name it as the action does.
            return self.search_plain(&library, plain).map(|mut found| {
                found.classic.iter_mut().for_each(|module| name.clone_into(&mut module.task_name));
                found
            });
        }
        if name.contains('.') {
            return candidates(None, self.of_collection(&library, name));
        }
        for collection in collections.iter().filter(|collection| !is_core(collection)) {
            if let Ok(found) = self.of_collection(&library, &format!("{collection}.{name}")) {
                return Ok(Candidates { own: None, classic: Some(found) });
            }
        }
        self.search_plain(&library, name)
    }

    /// Finds a module of a collection. One beside the play that hides an installed one is said.
    fn of_collection(&self, library: &Library<'_>, name: &str) -> Result<FoundModule, LookupError> {
        let found = library.find_name(Path::new(name))?;
        shadow::warn_of_collection(self.context, &self.installed.library(self.context), &found);
        Ok(found)
    }

    /// Returns the places of modules. The play's own folders stand in place of `./library`: a play does not depend on the
    /// working directory.
    fn library(&self) -> Library<'_> {
        let mut library = self.lookup.library(self.context);
        let folders = self.libraries.borrow().clone();
        library.folders[0] = Place { origin: "`library` of the play and its roles", absent: "none", folders };
        library
    }

    /// Returns what a name without a collection leads to.
    fn search_plain(&self, library: &Library<'_>, name: &str) -> Found {
        match library.find_by_name(Path::new(name)) {
            Ok(Located::Own(own)) => candidates(Some(OwnModule::Standard(own)), library.find_name(Path::new(name))),
            Ok(Located::Project(_)) => {
                Err(format!("`{name}` is a module project; build it, and put it into `library`"))
            }
            Ok(Located::File(found)) if self.is_installed(name, &found.path) => {
                // A module's messages name it as the task does.
                let classic =
                    core_module(library, name).map(|module| FoundModule { task_name: name.to_owned(), ..module });
                candidates(Some(OwnModule::Installed(found)), classic)
            }
            Ok(Located::File(found)) => {
                shadow::warn(self.context, library, Path::new(name), &found);
                Ok(Candidates { own: None, classic: Some(found) })
            }
            Err(error) => Err(error_chain(&error)),
        }
    }

    /// Says whether a file is a component that the operator has installed under one of modbox's own names.
    fn is_installed(&self, name: &str, path: &Path) -> bool {
        standard::name(Path::new(name)).is_some()
            && is_component(path)
            && !self.libraries.borrow().iter().any(|folder| path.starts_with(folder))
    }
}

/// Finds ansible-core's module of a name.
fn core_module(library: &Library<'_>, name: &str) -> Result<FoundModule, LookupError> {
    library.find_name(Path::new(&format!("{BUILTIN}{name}")))
}

impl ActionNames for ModuleNames<'_> {
    fn is_known(&self, name: &str, collections: &[String]) -> bool {
        is_action(name) || self.find(name, collections).is_ok() || self.plugins.renamed(name).is_some()
    }

    fn why_unknown(&self, name: &str) -> Option<String> {
        let plain = name.strip_prefix(BUILTIN).or_else(|| name.strip_prefix(LEGACY)).unwrap_or(name);
        if plain.contains('.') {
            return match self.library().find_name(Path::new(plain)) {
                Err(error @ LookupError::Routing { .. }) => Some(error_chain(&error)),
                _ => None,
            };
        }
        if self.library().has_core() {
            return None;
        }
        let own = standard::namesakes().join(", ");
        Some(format!("{}; of Ansible's modules, modbox itself has {own}", modbox_run::library::NO_CORE))
    }

    fn python_plugin(&self, name: &str, collections: &[String], args: &Args) -> Option<String> {
        let is_given = |argument: &str| args.whole.is_some() || args.named.contains_key(argument);
        self.action_plugin(name, collections, &is_given).map(|file| file.display().to_string())
    }

    fn plugin_failure(&self, kind: PluginKind, name: &str, file: Option<&str>) -> Option<String> {
        self.python.failure(kind, name, file)
    }

    fn folder_found(&self, path: &str) {
        self.add_role(Path::new(path));
        self.python.folder_found(path);
    }
}

/// Says whether a name is that of an action of the engine of plays, which needs no file.
fn is_action(name: &str) -> bool {
    table::find(name).is_some_and(|action| !action.needs_collection()) || is_one_of(name, &FLOW)
}

fn is_core(collection: &str) -> bool {
    matches!(collection, "ansible.builtin" | "ansible.legacy")
}

/// Says whether a file is a component, by its name.
fn is_component(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wasm")
}

fn candidates(own: Option<OwnModule>, classic: Result<FoundModule, LookupError>) -> Result<Candidates, String> {
    match (own, classic) {
        (None, Err(error)) => Err(modbox_vocabulary::error_chain(&error)),
        (own, classic) => Ok(Candidates { own, classic: classic.ok() }),
    }
}
