//! Action plugins in Python that plays, roles and collections bring.
//!
//! Ansible runs them in its controller, with all that it may do, so modbox does not run them. One that only gives another name to
//! an action of ansible-core is that action.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use modbox_run::library::Library;
use modbox_tasks::actions::table;

/// Maximum bytes of a plugin that is looked at for another name. One of two lines is enough for that.
const MAX_PLUGIN: u64 = 64 << 10;

/// Lines that a plugin may have besides the import.
const WITHOUT_EFFECT: [&str; 4] = [
    "",
    "from __future__ import annotations",
    "from __future__ import absolute_import, division, print_function",
    "assert ActionModule",
];

/// Collections whose plugins only find files of the controller, each with the arguments that name some. Without these, the module
/// alone does the same (kubernetes.core 6, `action/k8s_info.py`).
const FINDING_FILES: [(&str, &[&str]); 1] = [("kubernetes.core", &["kubeconfig", "src", "template", "values_files"])];

/// The most redirects that are followed from an action.
const MAX_REDIRECTS: usize = 16;

/// Beginnings of modules' names that have one plugin for all of them (ansible-core 2.21, the default of `NETWORK_GROUP_MODULES`).
const NETWORK_GROUPS: [&str; 22] = [
    "eos", "nxos", "ios", "iosxr", "junos", "enos", "ce", "vyos", "sros", "dellos9", "dellos10", "dellos6", "asa",
    "aruba", "aireos", "bigip", "ironware", "onyx", "netconf", "exos", "voss", "slxos",
];

/// Folders with action plugins.
#[derive(Debug)]
pub(crate) struct ActionPlugins {
    /// Those of roles, the latest first, then that of the play.
    folders: RefCell<Vec<PathBuf>>,
    /// The files for full names of actions that were looked up.
    of_collections: RefCell<HashMap<String, Option<PathBuf>>>,
}

impl ActionPlugins {
    pub(crate) fn new(play_folder: &Path) -> Self {
        let folders = RefCell::new(vec![play_folder.join("action_plugins")]);
        Self { folders, of_collections: RefCell::default() }
    }

    /// Returns the file of a collection's plugin for a full name, unless modbox does the same with the arguments that are given.
    pub(crate) fn of_collection<'l>(
        &self,
        name: &str,
        library: &dyn Fn() -> Library<'l>,
        is_given: &dyn Fn(&str) -> bool,
    ) -> Option<PathBuf> {
        if table::find(name).is_some() {
            return None;
        }
        let known = self.of_collections.borrow().get(name).cloned();
        let file = known.unwrap_or_else(|| {
            let found = file_of(name, &library());
            self.of_collections.borrow_mut().insert(name.to_owned(), found.clone());
            found
        })?;
        let finds = FINDING_FILES.iter().find(|(collection, _)| name.starts_with(&format!("{collection}.")));
        let is_alike = finds.is_some_and(|(_, arguments)| !arguments.iter().any(|argument| is_given(argument)));
        (!is_alike).then_some(file)
    }

    /// Adds the folder of a role.
    pub(crate) fn add_role(&self, role: &Path) {
        let folder = role.join("action_plugins");
        if folder.is_dir() && !self.folders.borrow().contains(&folder) {
            self.folders.borrow_mut().insert(0, folder);
        }
    }

    /// Returns the file of the plugin that does an action.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return None;
        }
        let folders = self.folders.borrow();
        folders.iter().map(|folder| folder.join(format!("{name}.py"))).find(|file| file.is_file())
    }

    /// Returns the action of ansible-core that a plugin only gives another name to.
    pub(crate) fn renamed(&self, name: &str) -> Option<String> {
        renamed_by(&self.find(name)?)
    }
}

fn renamed_by(file: &Path) -> Option<String> {
    let bytes = modbox_files::read_file(file, MAX_PLUGIN).ok()?;
    imported(std::str::from_utf8(&bytes).ok()?).map(str::to_owned)
}

/// Returns the file of the plugin for a full name: its own, or the one for a whole group of network modules.
fn file_of(name: &str, library: &Library<'_>) -> Option<PathBuf> {
    let group = || {
        let (collection, module) = name.rsplit_once('.')?;
        let group = module.split('_').next().filter(|group| NETWORK_GROUPS.contains(group))?;
        redirected(&format!("{collection}.{group}"), library)
    };
    // The usual action runs the module alone.
    redirected(name, library).or_else(group).filter(|file| renamed_by(file).as_deref() != Some("normal"))
}

/// Follows the redirects of an action to the file of a plugin. Redirects without an end lead to the file that has them: Ansible runs
/// nothing there (ansible-core 2.19, "plugin redirect loop").
fn redirected(name: &str, library: &Library<'_>) -> Option<PathBuf> {
    let mut name = name.to_owned();
    for _ in 0..MAX_REDIRECTS {
        match library.action_redirect(&name) {
            Ok(Some(target)) => name = target,
            // A file of redirects that cannot be read fails the search for the module.
            Ok(None) | Err(_) => return file_in_collection(&name, library),
        }
    }
    let mut parts = name.split('.');
    library.runtime_file(&format!("{}.{}", parts.next()?, parts.next()?))
}

/// Returns the file of the plugin with a full name, in the folder of its collection.
fn file_in_collection(name: &str, library: &Library<'_>) -> Option<PathBuf> {
    let mut parts = name.split('.');
    let (namespace, collection) = (parts.next()?, parts.next()?);
    let is_plain =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let runtime = library.runtime_file(&format!("{namespace}.{collection}"))?;
    let mut file = runtime.parent()?.parent()?.join("plugins/action");
    for part in parts {
        if !is_plain(part) {
            return None;
        }
        file.push(part);
    }
    file.set_extension("py");
    file.is_file().then_some(file)
}

/// Returns the action of ansible-core that a plugin imports, if it does nothing else.
fn imported(text: &str) -> Option<&str> {
    let mut found = None;
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim_end()) {
        let import = line.strip_prefix("from ansible.plugins.action.");
        match import.and_then(|rest| rest.strip_suffix(" import ActionModule")) {
            Some(action) if found.is_none() => found = Some(action),
            _ if WITHOUT_EFFECT.contains(&line) => {}
            _ => return None,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_another_name_if_it_does_nothing_else() {
        let import = "from ansible.plugins.action.debug import ActionModule";
        let check = |text: &str, expect| assert_eq!(imported(text), expect, "{text}");
        check(import, Some("debug"));
        check(
            &format!("from __future__ import annotations\n\n{import}  # again\n\nassert ActionModule\n"),
            Some("debug"),
        );
        check(&format!("{import}\nprint(1)\n"), None);
        check(&format!("{import}\n{import}\n"), None);
        check(&format!("import os\n{import}\n"), None);
        check("class ActionModule:\n    pass\n", None);
        check("", None);
    }
}
