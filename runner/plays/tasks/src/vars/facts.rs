//! Facts: how they become variables.
//!
//! They are in `ansible_facts` without the prefix `ansible_`, and each is a variable of its own name. Facts come from
//! modules, so names that decide how Ansible connects or which programs it starts never become variables.

use modbox_jinja::values;
use modbox_python_json::{Dict, Value as Json};
use modbox_template::{Layer, Origin, Slot};

/// Names that no fact can have as a variable.
const RESTRICTED: [&str; 34] = [
    "add_group",
    "add_host",
    "ansible_connection",
    "ansible_executable",
    "ansible_facts",
    "ansible_host",
    "ansible_module_compression",
    "ansible_password",
    "ansible_pipelining",
    "ansible_playbook_python",
    "ansible_port",
    "ansible_private_key_file",
    "ansible_rsync_path",
    "ansible_shell_executable",
    "ansible_shell_type",
    "ansible_ssh_common_args",
    "ansible_ssh_executable",
    "ansible_ssh_extra_args",
    "ansible_ssh_host",
    "ansible_ssh_pass",
    "ansible_ssh_pipelining",
    "ansible_ssh_port",
    "ansible_ssh_private_key_file",
    "ansible_ssh_timeout",
    "ansible_ssh_transfer_method",
    "ansible_ssh_user",
    "ansible_sftp_extra_args",
    "ansible_scp_extra_args",
    "ansible_timeout",
    "ansible_user",
    "ansible_become",
    "ansible_su",
    "ansible_sudo",
    "ansible_sudo_pass",
];

/// Prefixes of the settings of connection plugins, and of those that change the user.
const RESTRICTED_PREFIXES: [&str; 6] =
    ["ansible_become_", "ansible_local_", "ansible_paramiko_ssh_", "ansible_psrp_", "ansible_ssh_", "ansible_winrm_"];

/// Facts of the host.
#[derive(Debug, Default, Clone)]
pub struct Facts {
    data: Dict,
}

impl Facts {
    /// Adds facts. A fact that is there already gets the new value.
    pub fn extend(&mut self, facts: &Dict) {
        self.data.extend(facts.iter().map(|(name, value)| (name.clone(), value.clone())));
    }

    /// Says whether there are no facts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Returns a fact by its full name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.data.get(name)
    }

    /// Returns the variables that the facts are. Without `injects`, they are in `ansible_facts` alone, but for `ansible_local`
    /// (ansible-core 2.21, `INJECT_FACTS_AS_VARS`).
    #[must_use]
    pub fn layer(&self, injects: bool) -> Layer {
        let mut layer = Layer::default();
        let is_injected = |name: &str| if injects { !is_restricted(name) } else { name == "ansible_local" };
        if !injects {
            let none = Json::Dict(Dict::new());
            layer.insert("ansible_local", Slot::value(values::from_json(&none), Origin::Facts));
        }
        for (name, value) in self.data.iter().filter(|(name, _)| is_injected(name)) {
            layer.insert(name.as_str(), Slot::value(values::from_json(value), Origin::Facts));
        }
        layer.insert("ansible_facts", Slot::value(values::from_json(&Json::Dict(self.namespaced())), Origin::Facts));
        layer
    }

    /// Returns the facts without the prefix `ansible_`, as `ansible_facts` has them.
    fn namespaced(&self) -> Dict {
        let short = |name: &String| match name.strip_prefix("ansible_") {
            Some(short) if name != "ansible_local" => short.to_owned(),
            _ => name.clone(),
        };
        self.data.iter().map(|(name, value)| (short(name), value.clone())).collect()
    }
}

/// Says whether a fact's name decides how modules are run, so that it must not become a variable.
#[must_use]
pub fn is_restricted(name: &str) -> bool {
    if name.starts_with("ansible_ssh_host_key_") {
        return false;
    }
    let device = name.ends_with("_bridge") || name.ends_with("_gwbridge");
    name.starts_with("_ansible_")
        || RESTRICTED.contains(&name)
        || (RESTRICTED_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !device)
        || (name.starts_with("ansible_") && name.ends_with("_interpreter"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_steer_ansible_are_restricted() {
        let check = |name: &str, expect| assert_eq!(is_restricted(name), expect, "{name}");
        check("ansible_python_interpreter", true);
        check("ansible_become_user", true);
        check("ansible_ssh_args", true);
        check("ansible_ssh_host_key_rsa_public", false);
        check("ansible_os_family", false);
        check("ansible_connection", true);
        check("my_fact", false);
        check("ansible_local", false);
    }

    #[test]
    fn facts_are_variables_and_in_their_own_dict() {
        let mut facts = Facts::default();
        facts.extend(&Dict::from_iter([("ansible_os_family".to_owned(), Json::from("Debian"))]));
        let layer = facts.layer(false);
        assert!(layer.get("ansible_os_family").is_none() && layer.get("ansible_local").is_some());
        let layer = facts.layer(true);
        assert!(layer.get("ansible_os_family").is_some());
        assert!(layer.get("ansible_facts").is_some());
        assert!(layer.get("os_family").is_none());
    }
}
