//! A call of a lookup: its terms, its options, and where its files are looked for.

use std::cell::RefCell;

use modbox_argument_spec::{Environment, expand_path};
use modbox_jinja::values;
use modbox_python_json::Value as Json;
use modbox_template::{Content, LookupError, Scope, Value};

use super::host::{LookupFailure, SharedHost};
use super::options::{Options, failed};
use crate::files::{FileError, FileKind, SharedFiles};
use crate::load::find;
use crate::paths;
use crate::vars::layer;

/// A call of a lookup.
pub(super) struct Call<'a> {
    pub(super) terms: &'a [Value],
    pub(super) options: Options,
    pub(super) scope: &'a Scope,
    pub(super) host: &'a SharedHost,
    pub(super) files: SharedFiles,
}

impl Call<'_> {
    /// Returns the terms, which must be texts.
    pub(super) fn texts(&self) -> Result<Vec<&str>, LookupError> {
        let wrong = |term| failed(format!("expected a text as term, found {}", values::type_name(term)));
        self.terms.iter().map(|term| term.as_str().ok_or_else(|| wrong(term))).collect()
    }

    /// Returns a variable as data. A template in it stays text, since only Ansible's own variables are asked for.
    pub(super) fn variable(&self, name: &str) -> Option<Json> {
        match self.scope.get(name)?.content() {
            Content::Value(value) => Some(layer::to_json(value)),
            Content::Source(source) => source.to_data().ok(),
            Content::Scope(_) | Content::Hosts(_) | Content::Everything => None,
        }
    }

    /// Returns the folder of the playbook.
    pub(super) fn play_folder(&self) -> String {
        self.variable("playbook_dir").and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Returns the folders in which files of the task are looked for.
    pub(super) fn search_path(&self) -> Vec<String> {
        let texts = |value: Json| -> Option<Vec<String>> {
            Some(value.as_list()?.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
        };
        if let Some(folders) = self.variable("ansible_search_path").and_then(texts) {
            return folders;
        }
        let role = self.variable("role_path").and_then(|path| path.as_str().map(str::to_owned));
        vec![role.unwrap_or_else(|| self.play_folder())]
    }

    /// Finds a file in the folders of the task, first in the one for files of a kind. `None` if there is none.
    pub(super) fn find(&self, kind: &str, name: &str) -> Result<Option<String>, LookupError> {
        let name = if name.starts_with(['/', '~']) { self.expand(name)? } else { name.to_owned() };
        let candidates = find::stack(&*self.files, &self.search_path(), kind, &name, &self.play_folder());
        for path in candidates {
            if self.kind(&path)?.is_some() {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Returns what lies at a path.
    pub(super) fn kind(&self, path: &str) -> Result<Option<FileKind>, LookupError> {
        self.files.kind(path).map_err(of_file)
    }

    /// Returns the content of a file.
    pub(super) fn content(&self, path: &str) -> Result<Vec<u8>, LookupError> {
        self.files.bytes(path).map_err(of_file)
    }

    /// Expands `~` and variables of the environment in a path, and makes it absolute.
    pub(super) fn expand(&self, path: &str) -> Result<String, LookupError> {
        let environment = HostEnvironment { host: self.host, denied: RefCell::default() };
        let expanded = expand_path(path, &environment);
        match environment.denied.into_inner() {
            Some(denied) => Err(denied.into()),
            None => Ok(paths::normalize(&paths::join(&self.play_folder(), &expanded))),
        }
    }
}

/// The environment as the policy lets lookups see it.
struct HostEnvironment<'a> {
    host: &'a SharedHost,
    denied: RefCell<Option<LookupFailure>>,
}

impl Environment for HostEnvironment<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.host.variable(name).unwrap_or_else(|denied| {
            self.denied.borrow_mut().get_or_insert(denied);
            None
        })
    }
}

/// Returns the failure to read a file of the play's tree.
pub(super) fn of_file(error: FileError) -> LookupError {
    match error {
        FileError::Denied { .. } => LookupError::Denied(error.to_string()),
        error => failed(error.to_string()),
    }
}
