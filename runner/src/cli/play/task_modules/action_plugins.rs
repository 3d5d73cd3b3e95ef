//! Action plugins in Python that plays and roles bring.
//!
//! Ansible runs them in its controller, with all that it may do, so modbox does not run them. One that only gives another name to
//! an action of ansible-core is that action.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Maximum bytes of a plugin that is looked at for another name. One of two lines is enough for that.
const MAX_PLUGIN: u64 = 64 << 10;

/// Lines that a plugin may have besides the import.
const WITHOUT_EFFECT: [&str; 4] = [
    "",
    "from __future__ import annotations",
    "from __future__ import absolute_import, division, print_function",
    "assert ActionModule",
];

/// Folders with action plugins.
#[derive(Debug)]
pub(crate) struct ActionPlugins {
    /// Those of roles, the latest first, then that of the play.
    folders: RefCell<Vec<PathBuf>>,
}

impl ActionPlugins {
    /// Returns the folder of the play.
    pub(crate) fn new(play_folder: &Path) -> Self {
        Self { folders: RefCell::new(vec![play_folder.join("action_plugins")]) }
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
        let bytes = modbox_files::read_file(&self.find(name)?, MAX_PLUGIN).ok()?;
        imported(std::str::from_utf8(&bytes).ok()?).map(str::to_owned)
    }
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
