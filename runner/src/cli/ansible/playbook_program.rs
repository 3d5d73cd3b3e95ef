//! The name `ansible-playbook`: a link to modbox, or a copy of it, with this name takes the command line of Ansible's
//! program, and ends with its exit statuses. Scripts that start `ansible-playbook` then need no change.
//!
//! Such a script cannot give grants on the command line, so this form, and no other one, reads the policy files that the
//! variable `MODBOX_POLICY` names.

use std::ffi::OsString;
use std::path::Path;

use crate::cli::exit::ExitStatus;

const NAME: &str = "ansible-playbook";

/// The variable that names policy files, separated by colons.
pub(crate) const POLICY: &str = "MODBOX_POLICY";

/// The release of ansible-core that modbox follows.
pub(crate) const CORE: &str = "2.21.5";

/// Says whether the program was started by the name.
pub(crate) fn is_named(argv: &[OsString]) -> bool {
    argv.first().and_then(|program| Path::new(program).file_name()).is_some_and(|name| name == NAME)
}

/// Returns the command line of `modbox play` that does what this one asks for; `None` if it asks for the version.
pub(crate) fn translate(argv: &[OsString], environment: &[(OsString, OsString)]) -> Option<Vec<OsString>> {
    let rest = argv.get(1..).unwrap_or_default();
    if rest.iter().any(|word| word == "--version") {
        return None;
    }
    let policy = environment.iter().find(|(name, _)| name == POLICY).map(|(_, value)| value);
    let files = policy.into_iter().flat_map(std::env::split_paths).filter(|file| !file.as_os_str().is_empty());
    let policies = files.flat_map(|file| [OsString::from("--policy"), file.into_os_string()]);
    let own = ["modbox", "play"].map(OsString::from);
    Some(own.into_iter().chain(policies).chain(rest.iter().cloned()).collect())
}

/// Returns what `--version` prints: a first line as that of Ansible, which scripts look at.
pub(crate) fn version() -> String {
    format!("{NAME} [core {CORE}]\n  modbox version = {}\n", env!("CARGO_PKG_VERSION"))
}

/// Returns the exit status that ansible-playbook has where modbox has another one.
pub(crate) fn status(status: ExitStatus) -> u8 {
    match status {
        ExitStatus::Success => 0,
        ExitStatus::Usage => 4,
        ExitStatus::Internal => 250,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_command_line_becomes_that_of_play() {
        assert!(is_named(&words(&["/usr/bin/ansible-playbook"])) && !is_named(&words(&["modbox", "ansible-playbook"])));
        let environment = [("MODBOX_POLICY".into(), "/a.yaml::/b.yaml".into())];
        let translated = translate(&words(&["ansible-playbook", "-v", "p.yml"]), &environment).unwrap();
        assert_eq!(translated, words(&["modbox", "play", "--policy", "/a.yaml", "--policy", "/b.yaml", "-v", "p.yml"]));
        assert_eq!(translate(&words(&["ansible-playbook", "--version"]), &[]), None);
    }
}
