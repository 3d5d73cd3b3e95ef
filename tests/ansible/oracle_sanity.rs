//! Collections pass the checks of Ansible's own tools: `ansible-test sanity` of two releases, and ansible-lint.
//!
//! `oracle/sanity.py` says which checks of the first, and why not by the program itself.

use std::process::{Command, Stdio};

use crate::ansible::oracle_collection::{build, install};
use crate::support::{TestDir, fixture, oracle};

/// Returns what a command prints, with its errors, which must be nothing.
fn told(command: &mut Command) -> String {
    let ran = command.stdin(Stdio::null()).output().unwrap();
    format!("{}{}{}", ran.status, String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}

/// Removes the user's configuration, and sets a home below the test's directory.
fn plain<'a>(command: &'a mut Command, dir: &TestDir) -> &'a mut Command {
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", dir.mkdir("home"))
}

#[test]
fn the_collection_is_clean_for_ansible_test() {
    let newest = oracle::newest();
    for version in [oracle::SETTLED].into_iter().chain(newest) {
        let dir = TestDir::new();
        install(version, &dir, &[build(&dir, "out", &[])]);
        let mut command = Command::new(oracle::python_of(version));
        command.arg(fixture("oracle/sanity.py")).arg(dir.join("collections"));
        plain(&mut command, &dir).env("PYTHONPATH", oracle::sanity_packages());
        assert_eq!(told(&mut command), "exit status: 0", "{version}");
    }
}

#[test]
fn the_collection_is_clean_for_ansible_lint() {
    let dir = TestDir::new();
    install(oracle::SETTLED, &dir, &[build(&dir, "out", &[])]);
    let lint = oracle::ansible_lint();
    let mut command = Command::new(&lint);
    command.args(["--offline", "--nocolor", "-q", "--strict", "."]);
    command.current_dir(dir.join("collections/ansible_collections/modbox/modbox"));
    // It starts programs of its own environment.
    let path = format!("{}:/usr/bin:/bin", lint.parent().unwrap().display());
    plain(&mut command, &dir).env("PATH", path);
    assert_eq!(told(&mut command), "exit status: 0");
}
