//! Folders of Python plugins that Ansible's settings name.

use std::path::{Path, PathBuf};

use modbox_template::PluginKind;

use crate::cli::play::ansible_settings::AnsibleSettings;

/// Returns the folders of plugins: those that settings name, or else the usual ones in `~/.ansible` and `/usr/share/ansible`.
/// Folders that do not exist are left out.
pub(crate) fn plugin_folders(ansible: &mut AnsibleSettings, home: Option<&Path>) -> Vec<(PluginKind, PathBuf)> {
    let mut found = Vec::new();
    for kind in PluginKind::ALL {
        let name = kind.word().to_uppercase();
        let (setting, variable) = (format!("DEFAULT_{name}_PLUGIN_PATH"), format!("ANSIBLE_{name}_PLUGINS="));
        let usual = || {
            let own = home.map(|home| home.join(".ansible/plugins"));
            let places = own.into_iter().chain([PathBuf::from("/usr/share/ansible/plugins")]);
            places.map(|place| place.join(kind.word())).collect()
        };
        let folders: Vec<PathBuf> = ansible.paths(&setting, &variable).unwrap_or_else(usual);
        found.extend(folders.into_iter().filter(|folder| folder.is_dir()).map(|folder| (kind, folder)));
    }
    found
}
