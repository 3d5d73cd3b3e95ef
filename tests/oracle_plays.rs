//! The same plays by ansible-playbook and by `modbox play`, in the same place, task by task.
//!
//! `oracle/plays/compare.py` says what is compared, and in which modes; `plays` has the plays.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::{Modbox, TestDir, fixture, module, oracle};

/// Time limit for a play in all its modes, on two busy cores.
const COMPARISON: Duration = Duration::from_secs(900);

/// modbox's own modules that the plays use.
const COMPONENTS: [&str; 16] = [
    "assemble",
    "blockinfile",
    "command",
    "copy",
    "file",
    "find",
    "get_url",
    "lineinfile",
    "ping",
    "replace",
    "setup",
    "slurp",
    "stat",
    "tempfile",
    "unarchive",
    "uri",
];

/// The plays of each test. Tests run at the same time.
const GROUPS: [&[&str]; 3] = [
    &["blocks", "facts", "including", "variables"],
    &["commands", "roles_and_handlers"],
    &["archives", "check_mode", "keywords", "loops", "reading_files", "web", "writing_files"],
];

/// Compares the plays of a group, with modules of modbox (`component`) or those of Ansible (`classic`).
#[track_caller]
fn check(group: usize, prefer: &str) {
    let dir = TestDir::new();
    let library = dir.mkdir("library");
    for name in COMPONENTS {
        fs::copy(module(name), library.join(format!("{name}.wasm"))).unwrap();
    }
    let plays: Vec<PathBuf> = GROUPS[group].iter().map(|name| fixture(&format!("plays/{name}"))).collect();
    let ran = Modbox::of(&oracle::python(), &dir)
        .arg(fixture("oracle/plays/compare.py"))
        .args(["--modbox", env!("CARGO_BIN_EXE_modbox"), "--prefer", prefer, "--work"])
        .arg(dir.mkdir("work"))
        .args(plays)
        .env("MODBOX_LIBRARY", library)
        .patience(COMPARISON)
        .run();
    let expect = format!("{} plays, 0 differences\n", GROUPS[group].len());
    assert_eq!(ran.stdout_text(), expect, "{ran}");
    dir.assert_nothing_left();
}

#[test]
fn blocks_facts_includes_and_variables_do_what_ansibles_do() {
    check(0, "component");
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn commands_roles_and_handlers_do_what_ansibles_do() {
    check(1, "component");
}

#[test]
#[ignore = "results of modbox's modules differ from those of Ansible's in modes, arguments and temporary names"]
fn files_archives_and_requests_do_what_ansibles_do() {
    check(2, "component");
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn plays_do_the_same_with_ansibles_modules() {
    (0..GROUPS.len()).for_each(|group| check(group, "classic"));
}

#[test]
fn every_play_is_compared() {
    let mut compared: Vec<&str> = GROUPS.concat();
    compared.sort_unstable();
    let entries = fs::read_dir(fixture("plays")).unwrap().flatten();
    let mut found: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, compared);
}
