//! Documentation fragments: options that several modules share, documented once in files of their own.
//!
//! A module names them in `extends_documentation_fragment`. The rules follow ansible-core 2.19, `plugin_docs`,
//! `add_fragments`: `community.general.attributes.files` is the text `DOCUMENTATION` of the fragment `attributes.files`
//! of that collection, or else the text `FILES` of its fragment `attributes`. A name without a collection is one of
//! ansible-core. What a module documents itself takes precedence.

use std::path::{Path, PathBuf};

use modbox_closure::Part;
use modbox_contract::{Dict, Value};

use crate::modules::documentation::text::{Indentation, NAME, assigned, parse_dict, read_file};
use crate::python::{PythonConfig, ansible_package, collection_folders};

/// Key of the names in a module's documentation.
const KEY: &str = "extends_documentation_fragment";

/// Folder of the fragments below that of the plugins.
const FOLDER: &str = "doc_fragments";

/// Maximum number of fragments that are read for one module; real ones have five.
const MAX_FRAGMENTS: usize = 64;

/// Folders in which fragments are looked up.
#[derive(Debug, Default)]
pub(crate) struct FragmentFolders {
    /// Folders with `ansible_collections` in them.
    collections: Vec<PathBuf>,
    /// The package `ansible`.
    core: Option<PathBuf>,
}

impl FragmentFolders {
    /// Returns the folders for a module: those in which its imports are looked up. `interpreter` is the Python that the
    /// operator has chosen. Starts no program.
    pub(crate) fn of(config: &PythonConfig, module: &Path, interpreter: Option<&str>, directory: &Path) -> Self {
        let core = ansible_package(config, module, interpreter, directory);
        Self { collections: collection_folders(config, module, core.as_deref()), core }
    }

    /// Returns the options of a fragment. Adds its file to `parts`.
    fn options(&self, name: &str, parts: &mut Vec<Part>) -> Option<Dict> {
        let whole = self.read(name, NAME, parts);
        let text = whole.or_else(|| {
            let (name, variable) = name.rsplit_once('.')?;
            self.read(name, &variable.to_uppercase(), parts)
        })?;
        match parse_dict(&text)?.get_mut("options")? {
            Value::Dict(options) => Some(std::mem::take(options)),
            _ => None,
        }
    }

    fn read(&self, name: &str, variable: &str, parts: &mut Vec<Part>) -> Option<String> {
        let FragmentFile { path, name } = self.file(name)?;
        let bytes = read_file(&path)?;
        parts.push(Part::of(name, &bytes));
        assigned(&bytes, variable, Indentation::Any)
    }

    /// Returns the file of a fragment, whether it exists or not.
    fn file(&self, name: &str) -> Option<FragmentFile> {
        let parts: Vec<&str> = name.split('.').collect();
        let is_name = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !parts.iter().all(is_name) {
            return None;
        }
        let of_core = || Some((self.core.as_ref()?.join("plugins"), "ansible/plugins".to_owned()));
        let ((plugins, shown), rest) = match parts.as_slice() {
            ["ansible", "builtin" | "legacy", rest @ ..] => (of_core()?, rest),
            [namespace, collection, rest @ ..] if !rest.is_empty() => {
                let folders = self.collections.iter().map(|root| root.join("ansible_collections"));
                let mut folders = folders.map(|folder| folder.join(namespace).join(collection));
                let shown = format!("ansible_collections/{namespace}/{collection}/plugins");
                ((folders.find(|folder| folder.is_dir())?.join("plugins"), shown), rest)
            }
            rest => (of_core()?, rest),
        };
        let below = format!("{FOLDER}/{}.py", rest.join("/"));
        (!rest.is_empty()).then(|| FragmentFile { path: plugins.join(&below), name: format!("{shown}/{below}") })
    }
}

struct FragmentFile {
    path: PathBuf,
    /// Its name in the closure of a module.
    name: String,
}

/// Adds the options of the fragments that a module's documentation names, and the files of the fragments to `parts`.
pub(super) fn merge(documentation: &mut Dict, folders: impl FnOnce() -> FragmentFolders, parts: &mut Vec<Part>) {
    let named = match documentation.get(KEY) {
        Some(Value::Str(names)) => names.split(',').map(|name| name.trim().to_owned()).collect(),
        Some(Value::List(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    if named.is_empty() {
        return;
    }
    let folders = folders();
    let own = documentation.entry("options".to_owned()).or_insert_with(|| Value::Dict(Dict::new()));
    // A module without options of its own may have the key with no value.
    if !matches!(own, Value::Dict(_)) {
        *own = Value::Dict(Dict::new());
    }
    let Value::Dict(own) = own else { return };
    for options in named.iter().take(MAX_FRAGMENTS).filter_map(|name| folders.options(name, parts)) {
        for (name, option) in options {
            merge_option(own, name, option);
        }
    }
}

fn merge_option(own: &mut Dict, name: String, shared: Value) {
    match (own.get_mut(&name), shared) {
        (None, shared) => drop(own.insert(name, shared)),
        (Some(Value::Dict(own)), Value::Dict(shared)) => {
            for (key, value) in shared {
                own.entry(key).or_insert(value);
            }
        }
        (Some(_), _) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn fragments_are_found_by_ansibles_rules() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let fragments = "x/ansible_collections/n/c/plugins/doc_fragments";
        write(
            &format!("{fragments}/shared.py"),
            "class ModuleDocFragment(object):\n    # Text\n    DOCUMENTATION = r'''\noptions:\n  a: {type: path}\n'''\n\n    \
             FILES = r\"\"\"\noptions:\n  b: {type: path, aliases: [bb]}\n  own: {type: path}\n\"\"\"\n",
        );
        write(&format!("{fragments}/deep/one.py"), "DOCUMENTATION = '''\noptions: {c: {type: path}}\n'''\n");
        write("ansible/plugins/doc_fragments/core.py", "class A:\n  DOCUMENTATION='''options: {d: {type: path}}'''\n");
        let folders = || FragmentFolders {
            collections: vec![dir.path().join("nowhere"), dir.path().join("x")],
            core: Some(dir.path().join("ansible")),
        };
        let merged = |yaml: &str| {
            let mut documentation = parse_dict(yaml).unwrap();
            merge(&mut documentation, folders, &mut Vec::new());
            let options = documentation.get("options").and_then(Value::as_dict).cloned().unwrap_or_default();
            options.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(merged("extends_documentation_fragment: [n.c.shared, n.c.shared.files, core]"), "a b own d");
        assert_eq!(merged("options:\nextends_documentation_fragment: 'n.c.deep.one , ansible.builtin.core'"), "c d");
        for nothing in ["n.c", "n.c.nowhere", "n.c.shared.nowhere", "../x", "n.c.", "nowhere", "ansible.builtin"] {
            assert_eq!(merged(&format!("extends_documentation_fragment: ['{nothing}']\noptions: {{z: {{}}}}")), "z");
        }
        let mut documentation = parse_dict(
            "options: {own: {type: str}, b: {aliases: []}}\nextends_documentation_fragment: n.c.shared.files",
        )
        .unwrap();
        let mut parts = Vec::new();
        merge(&mut documentation, folders, &mut parts);
        assert_eq!(parts[0].name, "ansible_collections/n/c/plugins/doc_fragments/shared.py");
        let options = documentation["options"].as_dict().unwrap();
        let of = |option: &str, key: &str| options[option].as_dict().unwrap().get(key).cloned();
        assert_eq!(of("own", "type"), Some("str".into()));
        assert_eq!((of("b", "type"), of("b", "aliases")), (Some("path".into()), Some(Value::List(Vec::new()))));
    }
}
