//! The variables that an observed module has, and that a confined one would lack.
//!
//! What a module does with its environment cannot be seen, so every variable counts that a login does not bring: those of a
//! task, such as `http_proxy`.

use std::ffi::OsString;

use modbox_policy::Policy;
use modbox_vocabulary::{Capability, Denial, Operation, quoting};

/// Variables of every login, and of what leads to one.
const OF_LOGINS: [&str; 14] = [
    "HOME", "HOSTNAME", "LANG", "LANGUAGE", "LOGNAME", "MAIL", "OLDPWD", "PATH", "PWD", "SHELL", "SHLVL", "TERM",
    "TMPDIR", "USER",
];

/// Beginnings of the names of other such variables, and of those that Ansible and modbox read themselves.
const FAMILIES: [&str; 8] = ["_", "ANSIBLE_", "DBUS_", "LC_", "MODBOX_", "SSH_", "SUDO_", "XDG_"];

/// Returns a denial for each variable.
pub(crate) fn denials(environment: &[(OsString, OsString)], policy: &Policy) -> Vec<Denial> {
    let is_usual = |name: &str| OF_LOGINS.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family));
    let is_granted = |name: &str| policy.env().iter().any(|grant| grant.name == name);
    let names = environment.iter().filter_map(|(name, _)| name.to_str());
    let lacking = names.filter(|name| !is_usual(name) && !is_granted(name));
    let denial = |name: &str| Denial {
        capability: Capability::Env,
        subject: name.to_owned(),
        operation: Operation::Inherit,
        allow: format!("--allow-env {}", quoting::quote(name)),
    };
    lacking.map(denial).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_login_are_left_out() {
        let names = ["HOME", "LC_ALL", "_", "http_proxy", "SSH_CLIENT", "STAGE"];
        let environment: Vec<_> = names.map(|name| (OsString::from(name), OsString::from("1"))).into();
        let subjects: Vec<String> =
            denials(&environment, &Policy::default()).into_iter().map(|it| it.subject).collect();
        assert_eq!(subjects, ["http_proxy", "STAGE"]);
    }
}
