//! The Python interpreters of the sandbox that a user has installed: a store of trees, each with the component and the
//! facts about it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use modbox_cleanup::Cleanup;
use modbox_store::{Kind, Purpose, Store, StoreError, Tree};
use serde::{Deserialize, Serialize};

use crate::python::contents::InterpreterContents;
use crate::python::controller::ControllerPackages;
use crate::python::disk::read_bounded;

/// The component in a tree.
const COMPONENT: &str = "interpreter.wasm";

/// The component of plugins in a tree, if it was built.
pub const PLUGINS: &str = "plugins.wasm";

/// The facts in a tree.
const FACTS: &str = "facts.json";

/// What the interpreter has, in a tree.
const CONTENTS: &str = "contents.json";

/// Largest of these two files that is read.
const MAX_FACTS: u64 = 4 << 20;

const INTERPRETER: Kind = Kind::trees("interpreter");

/// Ten interpreters, with their components of plugins.
const PURPOSE: Purpose = Purpose { kinds: &[INTERPRETER], max_size: 1 << 30, obsolete: &[] };

/// Versions and digests of an interpreter of the sandbox, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterpreterFacts {
    /// Version of CPython.
    pub python: String,
    /// Release of ansible-core.
    pub release: String,
    /// The package `ansible` whose files are in it.
    pub ansible: PathBuf,
    /// The collections whose files are in it.
    #[serde(default)]
    pub collections: Vec<InterpreterCollection>,
    /// Digest of the component.
    pub digest: String,
    /// The component of plugins, or why there is none.
    #[serde(default = "not_built")]
    pub plugins: Result<PluginsFacts, String>,
}

/// What a component of plugins is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginsFacts {
    /// Digest of the component.
    pub digest: String,
    /// What it was made from.
    pub sources: ControllerPackages,
    /// The [mark](ControllerPackages::mark) of that.
    pub mark: String,
}

impl PluginsFacts {
    /// Returns whether the files that it was made from were changed.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.sources.mark() != self.mark
    }
}

fn not_built() -> Result<PluginsFacts, String> {
    Err("it was installed before there were any".to_owned())
}

/// A collection in an interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterpreterCollection {
    /// The namespace and the name, with a dot between them.
    pub name: String,
    /// Its version; empty if its folder does not tell.
    pub version: String,
    /// Its folder.
    pub root: PathBuf,
}

impl InterpreterFacts {
    /// Reads the digests of the files that the interpreter was made from, as they are now.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn present_files(&self) -> io::Result<BTreeMap<String, String>> {
        let collections = self.collections.iter().map(|collection| (collection.name.as_str(), &*collection.root));
        InterpreterContents::digests(&self.ansible, collections)
    }
}

/// An installed interpreter.
#[derive(Debug)]
pub struct InstalledInterpreter {
    /// Key: a digest of all files that it was made from.
    pub key: String,
    /// Path of the component.
    pub component: PathBuf,
    /// Its versions, and the ansible-core and collections in it.
    pub facts: InterpreterFacts,
    /// Bytes of its components.
    pub bytes: u64,
    /// When it was installed.
    pub made: SystemTime,
    /// When a run used it last, to the hour; else when it was installed.
    pub used: SystemTime,
    /// Keeps it from being removed.
    tree: Tree,
}

impl InstalledInterpreter {
    /// Reads what the interpreter has; `None` if that cannot be read.
    #[must_use]
    pub fn contents(&self) -> Option<InterpreterContents> {
        let path = self.component.with_file_name(CONTENTS);
        serde_json::from_slice(&read_bounded(&path, MAX_FACTS).ok()?).ok()
    }

    /// Returns whether the files of ansible-core and of collections are not those that it was made from.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let now = self.facts.present_files().ok();
        self.contents().map(|contents| contents.files) != now
    }

    /// Returns the path of the component of plugins, whether it exists or not.
    #[must_use]
    pub fn plugins(&self) -> PathBuf {
        self.component.with_file_name(PLUGINS)
    }

    /// Records that a run uses it.
    pub fn mark_used(&self) {
        self.tree.mark_used();
    }
}

/// The interpreters of one user.
#[derive(Debug)]
pub struct Interpreters {
    store: Store,
    cleanup: Cleanup,
}

impl Interpreters {
    /// Opens the interpreters in a folder, without touching the disk.
    #[must_use]
    pub fn new(dir: PathBuf, cleanup: Cleanup) -> Self {
        Self { store: Store::new(dir, PURPOSE), cleanup }
    }

    /// Returns an interpreter, without recording a use. `None` if it is missing, or incomplete.
    ///
    /// # Errors
    ///
    /// The folder is not private, or cannot be read.
    pub fn find(&self, key: &str) -> Result<Option<InstalledInterpreter>, StoreError> {
        Ok(self.store.look_at_tree(INTERPRETER, key)?.and_then(|tree| installed(key, tree)))
    }

    /// Returns all interpreters, the one that was installed last first, without recording a use.
    ///
    /// # Errors
    ///
    /// The folder is not private, or cannot be read.
    pub fn list(&self) -> Result<Vec<InstalledInterpreter>, StoreError> {
        let keys = self.store.list(INTERPRETER)?;
        let found = keys.iter().filter_map(|entry| self.find(&entry.key).transpose());
        let mut interpreters: Vec<_> = found.collect::<Result<_, _>>()?;
        interpreters.sort_by_key(|interpreter| Reverse(interpreter.made));
        Ok(interpreters)
    }

    /// Installs an interpreter, unless it is there. `build` writes the component to a path, and returns the facts about
    /// it and what it has. A failure leaves nothing.
    ///
    /// # Errors
    ///
    /// `build` fails, or the folder cannot be written.
    pub fn install<E: From<StoreError> + From<io::Error>>(
        &self,
        key: &str,
        build: impl FnOnce(&Path) -> Result<(InterpreterFacts, InterpreterContents), E>,
    ) -> Result<Option<InstalledInterpreter>, E> {
        if let Some(incomplete) = self.store.look_at_tree(INTERPRETER, key)?
            && installed(key, incomplete).is_none()
        {
            self.store.remove(INTERPRETER, key)?;
        }
        let tree = self.store.make_tree(INTERPRETER, key, &self.cleanup, |staging, _| {
            let component = staging.join(COMPONENT);
            let (facts, contents) = build(&component)?;
            fs::set_permissions(&component, fs::Permissions::from_mode(0o600))?;
            if facts.plugins.is_ok() {
                fs::set_permissions(component.with_file_name(PLUGINS), fs::Permissions::from_mode(0o600))?;
            }
            fs::write(staging.join(CONTENTS), serde_json::to_vec(&contents).map_err(io::Error::other)?)?;
            fs::write(staging.join(FACTS), serde_json::to_vec(&facts).map_err(io::Error::other)?)?;
            Ok::<(), E>(())
        })?;
        Ok(tree.and_then(|tree| installed(key, tree)))
    }

    /// Removes an interpreter. Returns whether it is gone.
    ///
    /// # Errors
    ///
    /// It cannot be removed.
    pub fn remove(&self, key: &str) -> Result<bool, StoreError> {
        self.store.remove(INTERPRETER, key)
    }

    /// Returns the folder, for messages.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.store.dir()
    }
}

/// Reads the facts of a tree. `None` if the tree is incomplete.
fn installed(key: &str, tree: Tree) -> Option<InstalledInterpreter> {
    let component = tree.path().join(COMPONENT);
    let facts_file = tree.path().join(FACTS);
    let facts: InterpreterFacts = serde_json::from_slice(&read_bounded(&facts_file, MAX_FACTS).ok()?).ok()?;
    let mut bytes = fs::metadata(&component).ok()?.len();
    if facts.plugins.is_ok() {
        bytes += fs::metadata(component.with_file_name(PLUGINS)).ok()?.len();
    }
    let written = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let (made, used) = (written(&facts_file)?, written(tree.path())?);
    Some(InstalledInterpreter { key: key.to_owned(), component, facts, bytes, made, used, tree })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn interpreters() -> (tempfile::TempDir, Interpreters) {
        let dir = tempfile::tempdir().unwrap();
        let interpreters = Interpreters::new(dir.path().join("interpreters"), Cleanup::default());
        (dir, interpreters)
    }

    fn install(interpreters: &Interpreters, key: &str) -> anyhow::Result<Option<InstalledInterpreter>> {
        interpreters.install(key, |component| {
            fs::write(component, "wasm")?;
            let text = |text: &str| text.to_owned();
            let ansible = PathBuf::from("/usr/lib/ansible");
            let (python, release, digest) = (text("3.14.0"), text("2.19.14"), text("0"));
            let contents = InterpreterContents { modules: ["os".to_owned()].into(), ..InterpreterContents::default() };
            Ok((
                InterpreterFacts { python, release, ansible, collections: Vec::new(), digest, plugins: not_built() },
                contents,
            ))
        })
    }

    #[test]
    fn an_interpreter_is_installed_once_listed_and_removed() {
        let (_dir, interpreters) = interpreters();
        assert!(interpreters.list().unwrap().is_empty() && interpreters.find("a").unwrap().is_none());
        let made = install(&interpreters, "a").unwrap().unwrap();
        assert_eq!((made.facts.release.as_str(), made.bytes), ("2.19.14", 4));
        assert!(made.contents().unwrap().modules.contains("os"));
        let mode = fs::metadata(&made.component).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = interpreters.install("a", |_| -> anyhow::Result<_> { panic!("it is there") });
        assert_eq!(again.unwrap().unwrap().component, made.component);
        assert_eq!(interpreters.list().unwrap().len(), 1);
        assert!(!interpreters.remove("a").unwrap(), "it is in use");
        drop(made);
        assert!(interpreters.remove("a").unwrap() && interpreters.list().unwrap().is_empty());
    }

    #[test]
    fn the_last_installed_is_the_first_and_only_a_run_is_a_use() {
        let (_dir, interpreters) = interpreters();
        let hours_ago = |hours| SystemTime::now() - Duration::from_hours(hours);
        for (key, made, used) in [("new", 3, 2), ("newest", 2, 2), ("old", 9, 1)] {
            let component = install(&interpreters, key).unwrap().unwrap().component;
            let set = |path: &Path, hours| fs::File::open(path).unwrap().set_modified(hours_ago(hours)).unwrap();
            set(&component.with_file_name(FACTS), made);
            set(component.parent().unwrap(), used);
        }
        let keys = |listed: &[InstalledInterpreter]| listed.iter().map(|one| one.key.clone()).collect::<Vec<_>>();
        assert_eq!(keys(&interpreters.list().unwrap()), ["newest", "new", "old"]);
        let listed = interpreters.list().unwrap();
        assert!(listed.iter().all(|one| one.used.elapsed().unwrap() > Duration::from_mins(30)), "{listed:?}");
        listed[1].mark_used();
        let age = |key| interpreters.find(key).unwrap().unwrap().used.elapsed().unwrap_or_default();
        assert!(age("new") < Duration::from_mins(30) && age("newest") > Duration::from_mins(30));
        assert_eq!(keys(&interpreters.list().unwrap()), ["newest", "new", "old"], "a use is not an installation");
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let (_dir, interpreters) = interpreters();
        let failed = interpreters.install("a", |component| {
            fs::write(component, "half")?;
            anyhow::bail!("no")
        });
        assert!(failed.is_err() && interpreters.list().unwrap().is_empty());
        let names = fs::read_dir(interpreters.dir()).unwrap().flatten().map(|entry| entry.file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["locks"]);
    }

    #[test]
    fn an_incomplete_interpreter_is_made_again() {
        let (_dir, interpreters) = interpreters();
        let made = install(&interpreters, "a").unwrap().unwrap();
        fs::remove_file(made.component.with_file_name(FACTS)).unwrap();
        drop(made);
        assert!(interpreters.find("a").unwrap().is_none());
        assert!(install(&interpreters, "a").unwrap().is_some());
    }
}
