//! The same plays by ansible-playbook and by `modbox play`, in the same place, task by task.
//!
//! `oracle/plays/compare.py` says what is compared, and in which modes; `plays` has the plays.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Modbox, TestDir, fixture, module, oracle};

/// Time limit for a play in all its modes, on two busy cores.
const COMPARISON: Duration = Duration::from_secs(900);

/// modbox's own modules that the plays use. `unarchive` is not one: in check mode it looks into an archive, where Ansible's
/// skips the task, and it runs no program whose output would be in the result.
const COMPONENTS: [&str; 15] = [
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
    "uri",
];

/// The plays of each test. Tests run at the same time.
const GROUPS: [&[&str]; 5] = [
    &["blocks"],
    &["absent_values", "failures"],
    &["commands", "roles_and_handlers"],
    &["archives", "check_mode", "keywords", "loops", "reading_files", "web", "writing_files"],
    &["facts", "including", "keyword_values", "null_messages", "registers", "variables"],
];

/// Compares the plays of a group, with modules of modbox (`component`) or those of Ansible (`classic`).
#[track_caller]
fn check(group: usize, prefer: &str) {
    // The results of plays are those of the newest release; older ones lack keys.
    let Some(version) = oracle::newest() else { return };
    let dir = TestDir::new();
    let library = dir.mkdir("library");
    for name in COMPONENTS {
        fs::copy(module(name), library.join(format!("{name}.wasm"))).unwrap();
    }
    let names = GROUPS[group];
    let plays: Vec<PathBuf> = names.iter().map(|name| fixture(&format!("plays/cases/{name}"))).collect();
    let ran = Modbox::of(&oracle::python_of(version), &dir)
        .arg(fixture("oracle/plays/compare.py"))
        .args(["--modbox", env!("CARGO_BIN_EXE_modbox"), "--prefer", prefer, "--work"])
        .arg(dir.mkdir("work"))
        .args(plays)
        .env("MODBOX_LIBRARY", library)
        .patience(COMPARISON)
        .run();
    let expect = format!("{} plays, 0 differences\n", names.len());
    assert_eq!(ran.stdout_text(), expect, "{ran}");
    dir.assert_nothing_left();
}

#[test]
fn blocks_do_what_ansibles_do() {
    check(0, "component");
}

#[test]
fn absent_values_and_failures_do_what_ansibles_do() {
    check(1, "component");
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn commands_roles_and_handlers_do_what_ansibles_do() {
    check(2, "component");
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn files_archives_and_requests_do_what_ansibles_do() {
    check(3, "component");
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn facts_includes_keywords_and_variables_do_what_ansibles_do() {
    check(4, "component");
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn plays_do_the_same_with_ansibles_modules() {
    (0..GROUPS.len()).for_each(|group| check(group, "classic"));
}

/// Defaults that name a module by its full name reach a component under its plain name. A folder is nothing that the component
/// copies.
const DEFAULTS: &str = "
- hosts: localhost
  gather_facts: false
  module_defaults:
    ansible.builtin.file: {mode: '0750'}
  tasks:
    - file: {path: '{{ playbook_dir }}/made', state: directory}
    - ansible.builtin.file: {path: '{{ playbook_dir }}/made', state: directory}
    - copy: {src: '{{ playbook_dir }}/made', dest: '{{ playbook_dir }}/other', remote_src: true}
";

#[test]
fn components_of_the_operator_stand_for_ansibles_modules() {
    let dir = TestDir::new();
    let library = dir.mkdir("library");
    for name in ["copy", "file"] {
        fs::copy(module(name), library.join(format!("{name}.wasm"))).unwrap();
    }
    let place = dir.mkdir("place");
    dir.write("place/play.yml", DEFAULTS);
    let kinds = |prefer: &str| {
        let play =
            Modbox::new(&dir).arg("play").arg(place.join("play.yml")).args(["--output", "jsonl", "--prefer", prefer]);
        let play = play.arg("--allow-write").arg(&place).arg("--interpreter");
        let play = play.arg(format!("python={}", oracle::python().display())).env("MODBOX_LIBRARY", &library);
        let ran = play.run().exits_with(0);
        let text = ran.stdout_text();
        let results = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let kind = |result: Value| Some(result["reports"][0]["module"]["kind"].as_str()?.to_owned());
        results.filter(|event| event["event"] == "result").filter_map(kind).collect::<Vec<_>>()
    };
    let (component, classic) = ("component", "python");
    assert_eq!(kinds("component"), [component, component, classic]);
    assert_eq!(fs::metadata(place.join("made")).unwrap().permissions().mode() & 0o7777, 0o750);
    assert_eq!(kinds("classic"), [classic, classic, classic]);
    // The play's own component is the module of that name, whatever is preferred.
    dir.mkdir("place/library");
    fs::rename(library.join("file.wasm"), place.join("library/file.wasm")).unwrap();
    assert_eq!(kinds("classic"), [component, classic, classic]);
}

#[test]
fn every_play_is_compared() {
    let mut compared: Vec<&str> = GROUPS.concat();
    compared.sort_unstable();
    let entries = fs::read_dir(fixture("plays/cases")).unwrap().flatten();
    let mut found: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, compared);
}
