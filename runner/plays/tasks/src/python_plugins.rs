//! Filters, tests and lookups that are Python plugins of a collection, a role or the play: which file has them.
//!
//! The caller runs them. The file of a plugin that it cannot run is named in the error of a template that uses it. Nothing is parsed: a file has a plugin if it has the plugin's name, or if the name is in it between quotes.

use std::fmt;

pub use modbox_jinja::PluginKind;

use crate::files::PlayFiles;
use crate::paths;

/// How many files of a folder are looked into.
const MAX_FILES: usize = 200;

/// A Python plugin that a template uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonPlugin {
    /// The kind.
    pub kind: PluginKind,
    /// The name, as the template has it.
    pub name: String,
    /// The file that has it, if one was found.
    pub file: Option<String>,
    /// Why it cannot be used, if the caller runs such plugins.
    pub failure: Option<String>,
}

/// Returns what to do instead of using such a plugin.
fn remedy(kind: PluginKind) -> &'static str {
    match kind {
        PluginKind::Filter | PluginKind::Test => {
            "write it with the filters and tests of ansible.builtin, or compute the value in a module and register it"
        }
        PluginKind::Lookup => "read the value with a module, and register it",
    }
}

impl fmt::Display for PythonPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, file, failure } = self;
        write!(f, "the {kind} `{name}` is a Python plugin")?;
        if let Some(file) = file {
            write!(f, " ({file})")?;
        }
        match failure {
            Some(failure) => write!(f, ", which cannot be used: {failure}"),
            None => write!(f, ", which modbox does not run; {}", remedy(*kind)),
        }
    }
}

/// Where plugins are searched.
#[derive(Debug)]
pub struct PluginSearch<'a> {
    /// The play's files.
    pub files: &'a dyn PlayFiles,
    /// Folders that have `ansible_collections` in them.
    pub collections_path: &'a [String],
    /// The folders of the play and of the roles that were found.
    pub folders: &'a [String],
}

impl PluginSearch<'_> {
    /// Returns the Python plugin that a name means. A name with a collection means a plugin even without a file.
    #[must_use]
    pub fn find(&self, kind: PluginKind, name: &str) -> Option<PythonPlugin> {
        let plugin = |file| PythonPlugin { kind, name: name.to_owned(), file, failure: None };
        match name.splitn(3, '.').collect::<Vec<_>>().as_slice() {
            ["ansible", "builtin" | "legacy", _] => None,
            [namespace, collection, short] => Some(plugin(self.in_collection(kind, namespace, collection, short))),
            _ => {
                let folders = self.folders.iter().map(|folder| paths::join(folder, &kind.folder()));
                folders.into_iter().find_map(|folder| self.in_folder(&folder, name)).map(|file| plugin(Some(file)))
            }
        }
    }

    fn in_collection(&self, kind: PluginKind, namespace: &str, collection: &str, name: &str) -> Option<String> {
        let folder = format!("ansible_collections/{namespace}/{collection}/plugins/{kind}");
        self.collections_path.iter().find_map(|root| self.in_folder(&paths::join(root, &folder), name))
    }

    fn in_folder(&self, folder: &str, name: &str) -> Option<String> {
        if !self.files.is_folder(folder) {
            return None;
        }
        let own = paths::join(folder, &format!("{name}.py"));
        if self.files.exists(&own) {
            return Some(own);
        }
        let quoted = [format!("'{name}'"), format!("\"{name}\"")];
        let names = self.files.list(folder).unwrap_or_default();
        let sources = names.iter().filter(|file| file.ends_with(".py")).take(MAX_FILES);
        sources.map(|file| paths::join(folder, file)).find(|path| {
            let text = self.files.text(path).unwrap_or_default();
            quoted.iter().any(|quoted| text.contains(quoted))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_files::MemoryFiles;

    #[test]
    fn plugins_are_found_by_file_name_or_by_the_name_in_quotes() {
        let files = MemoryFiles::new(&[
            ("/c/ansible_collections/a/b/plugins/filter/one.py", ""),
            ("/c/ansible_collections/a/b/plugins/filter/all.py", "FILTERS = {'two': two}"),
            ("/role/filter_plugins/own.py", "{\"three\": three}"),
        ]);
        let search = PluginSearch {
            files: &files,
            collections_path: &["/c".to_owned()],
            folders: &["/play".to_owned(), "/role".to_owned()],
        };
        let check = |name: &str, expect: Option<Option<&str>>| {
            let found = search.find(PluginKind::Filter, name).map(|plugin| plugin.file);
            assert_eq!(found.as_ref().map(Option::as_deref), expect, "{name}");
        };
        check("a.b.one", Some(Some("/c/ansible_collections/a/b/plugins/filter/one.py")));
        check("a.b.two", Some(Some("/c/ansible_collections/a/b/plugins/filter/all.py")));
        check("a.b.none", Some(None));
        check("three", Some(Some("/role/filter_plugins/own.py")));
        check("four", None);
        check("ansible.builtin.four", None);
    }
}
