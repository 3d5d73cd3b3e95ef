//! What reading plays works with: the caller's files and names of actions, the template engine, and what was found.

use std::cell::RefCell;
use std::collections::HashMap;

use modbox_template::{Engine, Scope};
use modbox_yaml::Source;

use crate::error::{LoadError, LoadErrors, Problem};
use crate::files::PlayFiles;
use crate::keywords::{Keyword, Place, Status};
use crate::load::findings::{BadTemplate, TemplateFindings};
use crate::model::task::Args;
use crate::python_plugins::{PluginKind, PluginSearch, PythonPlugin};
use crate::vars::layer;
use crate::vars::stack::StaticVars;

/// Tags that tasks should not have, since they mean something as words of `--tags`.
const RESERVED_TAGS: [&str; 3] = ["tagged", "all", "untagged"];

/// Names of actions and modules that can be run, given by the caller.
pub trait ActionNames {
    /// Says whether a name is that of an action or a module. `collections` is searched for names without a collection.
    fn is_known(&self, name: &str, collections: &[String]) -> bool;

    /// Returns why nothing has an unknown name, if more than its spelling may be wrong.
    fn why_unknown(&self, _name: &str) -> Option<String> {
        None
    }

    /// Returns the file of the plugin in Python by which Ansible does an action with these arguments. modbox does not run such
    /// plugins.
    fn python_plugin(&self, _name: &str, _collections: &[String], _args: &Args) -> Option<String> {
        None
    }

    /// Says why a filter, test or lookup that is a Python plugin cannot be used. `None` where such plugins are never run. `file` is
    /// the one that seems to have it.
    fn plugin_failure(&self, _kind: PluginKind, _name: &str, _file: Option<&str>) -> Option<String> {
        None
    }

    /// Takes note of a folder, such as that of a role, whose `library` has modules, and whose folders of plugins have
    /// filters, tests and lookups, for the rest of the play.
    fn folder_found(&self, path: &str);
}

/// What the operator decides about reading plays.
#[derive(Debug, Clone, Default)]
pub struct LoadSettings {
    /// Folders with roles, after the folder `roles` beside the play.
    pub roles_path: Vec<String>,
    /// Folders that have `ansible_collections` in them.
    pub collections_path: Vec<String>,
    /// Whether modules may write more than their arguments name.
    pub writes_freely: bool,
    /// Whether variables of roles that a play names or imports are their own, where nothing says otherwise.
    pub private_roles: bool,
    /// What a key does that a mapping of YAML has twice.
    pub on_duplicate: OnDuplicate,
    /// Whether mappings that several places give to one variable become one, and do not hide each other (ansible-core,
    /// `DEFAULT_HASH_BEHAVIOUR`).
    pub merges_mappings: bool,
}

/// What a key does that a mapping of YAML has twice (ansible-core, `DUPLICATE_YAML_DICT_KEY`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// A warning; the last one counts.
    #[default]
    Warn,
    /// The file cannot be read.
    Fail,
    /// The last one counts.
    Ignore,
}

/// Python plugins that were searched, by kind and name.
type KnownPlugins = HashMap<(PluginKind, String), Option<PythonPlugin>>;

/// The state of reading plays.
pub struct Loader<'a> {
    /// The play's files.
    pub files: &'a dyn PlayFiles,
    /// The template engine.
    pub engine: &'a Engine,
    /// Names of actions.
    pub names: &'a dyn ActionNames,
    /// The operator's settings.
    pub settings: &'a LoadSettings,
    /// Variables that names of files and roles can use.
    pub vars: RefCell<StaticVars>,
    /// The folder of the playbook that is being read.
    pub folder: RefCell<String>,
    /// Texts that fail when they are evaluated.
    pub templates: TemplateFindings,
    errors: RefCell<Vec<LoadError>>,
    warnings: RefCell<Vec<String>>,
    notes: RefCell<Vec<String>>,
    /// Folders of roles that were found.
    roles: RefCell<Vec<String>>,
    plugins: RefCell<KnownPlugins>,
}

impl std::fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").field("folder", &self.folder).field("errors", &self.errors).finish_non_exhaustive()
    }
}

impl<'a> Loader<'a> {
    /// Returns a loader that has read nothing yet.
    #[must_use]
    pub fn new(
        files: &'a dyn PlayFiles,
        engine: &'a Engine,
        names: &'a dyn ActionNames,
        settings: &'a LoadSettings,
    ) -> Self {
        Self {
            files,
            engine,
            names,
            settings,
            vars: RefCell::new(StaticVars { merges: settings.merges_mappings, ..StaticVars::default() }),
            folder: RefCell::default(),
            errors: RefCell::default(),
            warnings: RefCell::default(),
            notes: RefCell::default(),
            templates: TemplateFindings::default(),
            roles: RefCell::default(),
            plugins: RefCell::default(),
        }
    }

    /// Records an error; reading goes on.
    pub fn report(&self, error: LoadError) {
        self.errors.borrow_mut().push(error);
    }

    /// Records an error if a result is one, and returns the value otherwise.
    pub fn check<T>(&self, result: Result<T, LoadError>) -> Option<T> {
        result.map_err(|error| self.report(error)).ok()
    }

    /// Reads what an include names before it runs. Errors are findings, and variables stay as they were.
    pub fn tentatively(&self, is_certain: bool, read: impl FnOnce() -> Result<(), LoadError>) {
        let errors = std::mem::take(&mut *self.errors.borrow_mut());
        let vars = self.vars.borrow().clone();
        let made = self.templates.within_include(is_certain, read);
        self.vars.replace(vars);
        let found = self.errors.replace(errors);
        let found = found.into_iter().chain(made.err());
        found.for_each(|error| self.templates.add(BadTemplate { error, is_certain }));
    }

    /// Records a warning, once.
    pub fn warn(&self, warning: String) {
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Says whether an error is about a module that a role has brought meanwhile. Tasks of a list are read before the roles that it
    /// imports.
    fn is_settled(&self, error: &LoadError) -> bool {
        match &error.problem {
            Problem::UnknownAction { name, collections, .. } => self.names.is_known(name, collections),
            _ => false,
        }
    }

    /// Takes the errors that were reported.
    ///
    /// # Errors
    ///
    /// There is at least one.
    pub fn finish(&self) -> Result<(), LoadErrors> {
        let mut errors = std::mem::take(&mut *self.errors.borrow_mut());
        errors.retain(|error| !self.is_settled(error));
        if errors.is_empty() { Ok(()) } else { Err(LoadErrors(errors)) }
    }

    /// Takes the warnings.
    #[must_use]
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.borrow_mut())
    }

    /// Takes the notes on keywords that make no difference here.
    #[must_use]
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.borrow_mut())
    }

    /// Notes once that a keyword makes no difference here.
    fn note(&self, keyword: &str, reason: &str) {
        let note = format!("`{keyword}` makes no difference here: {reason}");
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Applies the status of a keyword that an object has: refuses it, or notes that it makes no difference.
    pub fn judge(&self, place: Place, row: &crate::keywords::Row, key: &Source, value: &Source) {
        let keyword = row.keyword.text();
        match row.status {
            Status::Does => {}
            Status::Refuses(reason) => {
                let problem = Problem::Refused { keyword: keyword.to_owned(), reason: reason.to_owned() };
                self.report(LoadError::new(key.position(), problem));
            }
            Status::Noted(reason) => self.note(keyword, reason),
            Status::Only(values, reason) => {
                let Some(text) = value.as_text().filter(|_| !modbox_template::is_template(value)) else { return };
                if !values.contains(&&**text) {
                    let keyword = format!("{keyword}: {text}");
                    let problem = Problem::Refused { keyword, reason: reason.to_owned() };
                    self.report(LoadError::new(value.position(), problem));
                } else if row.keyword == Keyword::Strategy && !text.ends_with("linear") {
                    self.note(&format!("{keyword}: {text}"), "each host runs its tasks in order");
                }
            }
        }
        if row.keyword == Keyword::Tags {
            self.warn_of_reserved_tags(value);
        }
        debug_assert!(row.places.contains(&place));
    }

    /// Warns about tags whose names select tasks (ansible-core 2.21, `Taggable._RESERVED`).
    fn warn_of_reserved_tags(&self, tags: &Source) {
        let items = tags.as_list().unwrap_or_else(|| std::slice::from_ref(tags));
        let names = items.iter().filter_map(Source::as_text).flat_map(|text| text.split(',')).map(str::trim);
        let mut found: Vec<String> =
            names.filter(|name| RESERVED_TAGS.contains(name)).map(modbox_python_json::str_repr).collect();
        found.sort_unstable();
        found.dedup();
        if !found.is_empty() {
            let found = found.join(", ");
            let advice = "we do not recommend doing this as it might give unexpected results";
            self.warn(format!("{}: Found reserved tagnames in tags: [{found}], {advice}", tags.position()));
        }
    }

    /// Records a role, which can have modules and plugins of its own.
    pub fn role_found(&self, path: &str) {
        self.names.folder_found(path);
        let mut roles = self.roles.borrow_mut();
        if !roles.iter().any(|known| known == path) {
            roles.push(path.to_owned());
        }
    }

    /// Returns the Python plugin that a name in a template means.
    pub fn python_plugin(&self, kind: PluginKind, name: &str) -> Option<PythonPlugin> {
        let key = (kind, name.to_owned());
        if let Some(known) = self.plugins.borrow().get(&key) {
            return known.clone();
        }
        let mut folders = self.roles.borrow().clone();
        folders.push(self.folder.borrow().clone());
        let collections_path = &self.settings.collections_path;
        let found = PluginSearch { files: self.files, collections_path, folders: &folders }.find(kind, name);
        let found = found.map(|plugin| {
            let failure = self.names.plugin_failure(kind, name, plugin.file.as_deref());
            PythonPlugin { failure, ..plugin }
        });
        self.plugins.borrow_mut().insert(key, found.clone());
        found
    }

    /// Takes the texts that fail when they are evaluated. One that uses a plugin that a later role brought is none.
    #[must_use]
    pub fn take_bad_templates(&self) -> Vec<BadTemplate> {
        let is_known = |bad: &BadTemplate| match &bad.error.problem {
            Problem::Text { finding, .. } => {
                finding.plugin().is_some_and(|(kind, name)| self.engine.has_plugin(kind, name))
            }
            _ => self.is_settled(&bad.error),
        };
        self.templates.take().into_iter().filter(|bad| !is_known(bad)).collect()
    }

    /// Evaluates a text, such as the name of a file, with the variables that are known before the play runs.
    ///
    /// # Errors
    ///
    /// The template is wrong, or needs a variable that is not known yet.
    pub fn text(&self, source: &Source, scope: &Scope) -> Result<String, LoadError> {
        let evaluated = self
            .engine
            .evaluate(source, scope)
            .map_err(|error| LoadError::new(source.position(), Problem::Template(error)))?;
        Ok(modbox_python_json::str(&layer::to_json(&evaluated.value)))
    }
}
