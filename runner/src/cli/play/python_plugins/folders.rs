//! Folders of Python plugins that Ansible's settings name.

use std::path::{Path, PathBuf};

use modbox_template::PluginKind;

use crate::cli::play::ansible_settings::AnsibleSettings;

/// The kinds, each with its setting, its folder in the usual places, and how a person names another one.
const SETTINGS: [(PluginKind, &str, &str, &str); 3] = [
    (PluginKind::Filter, "DEFAULT_FILTER_PLUGIN_PATH", "filter", "ANSIBLE_FILTER_PLUGINS="),
    (PluginKind::Test, "DEFAULT_TEST_PLUGIN_PATH", "test", "ANSIBLE_TEST_PLUGINS="),
    (PluginKind::Lookup, "DEFAULT_LOOKUP_PLUGIN_PATH", "lookup", "ANSIBLE_LOOKUP_PLUGINS="),
];

/// Returns the folders of plugins: those that settings name, or else the usual ones in `~/.ansible` and `/usr/share/ansible`.
/// Folders that do not exist are left out.
pub(crate) fn plugin_folders(ansible: &mut AnsibleSettings, home: Option<&Path>) -> Vec<(PluginKind, PathBuf)> {
    let mut found = Vec::new();
    for (kind, setting, name, variable) in SETTINGS {
        let usual = || {
            let own = home.map(|home| home.join(".ansible/plugins"));
            let places = own.into_iter().chain([PathBuf::from("/usr/share/ansible/plugins")]);
            places.map(|place| place.join(name)).collect()
        };
        let folders: Vec<PathBuf> = ansible.paths(setting, variable).unwrap_or_else(usual);
        found.extend(folders.into_iter().filter(|folder| folder.is_dir()).map(|folder| (kind, folder)));
    }
    found
}
