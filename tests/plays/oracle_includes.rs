//! `include_role` of what does not exist or cannot be read, with and without `rescuable` of ansible-core 2.21: which failures
//! a block can rescue, and which end the run, by ansible-playbook and by modbox.

use std::process::Output;

use crate::support::{Modbox, TestDir, oracle};

/// What follows an include that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The block rescues it.
    Rescued,
    /// The run ends.
    Fatal,
}

use End::{Fatal, Rescued};

/// Arguments of `include_role`, and what follows if `rescuable` is left out, true and false.
const CASES: &[(&str, [End; 3])] = &[
    ("name: none", [Rescued, Rescued, Fatal]),
    ("name: '{{ \"no\" ~ \"ne\" }}'", [Rescued, Rescued, Fatal]),
    ("name: good, tasks_from: none", [Rescued, Rescued, Fatal]),
    ("name: good, vars_from: none", [Rescued, Rescued, Fatal]),
    ("name: good, defaults_from: none", [Rescued, Rescued, Fatal]),
    ("name: good, handlers_from: none", [Rescued, Rescued, Fatal]),
    // A file of the role that is missing fails the task in each case.
    ("name: needs_none", [Rescued, Rescued, Rescued]),
    ("name: imports_none", [Rescued, Rescued, Rescued]),
    ("name: no_list", [Fatal; 3]),
    ("name: no_yaml", [Fatal; 3]),
    ("name: no_module", [Fatal; 3]),
    ("name: odd_needs", [Fatal; 3]),
];

fn roles(dir: &TestDir) {
    for (file, content) in [
        ("good/tasks/main.yml", "- debug: {msg: good}\n"),
        ("good/vars/main.yml", "a: 1\n"),
        ("needs_none/tasks/main.yml", "- debug: {msg: x}\n"),
        ("needs_none/meta/main.yml", "dependencies: [none]\n"),
        ("imports_none/tasks/main.yml", "- import_role: {name: none}\n"),
        ("no_list/tasks/main.yml", "a: 1\n"),
        ("no_yaml/tasks/main.yml", "- debug: {msg: [\n"),
        ("no_module/tasks/main.yml", "- no_such_module: {a: 1}\n"),
        ("odd_needs/tasks/main.yml", "- debug: {msg: x}\n"),
        ("odd_needs/meta/main.yml", "dependencies: 3\n"),
    ] {
        dir.write(&format!("roles/{file}"), content);
    }
}

/// Makes a playbook with an include in a block.
fn play(dir: &TestDir, arguments: &str) -> std::path::PathBuf {
    let rescued = "    rescue:\n    - debug: {msg: the block goes on}\n";
    let include = format!("  - block:\n    - include_role: {{{arguments}}}\n{rescued}");
    dir.write("play.yml", format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n{include}"))
}

/// Returns the arguments with each use of `rescuable`, and what follows.
fn cases() -> impl Iterator<Item = (String, End)> {
    let options = ["", ", rescuable: true", ", rescuable: '{{ false }}'"];
    CASES.iter().flat_map(move |(arguments, ends)| {
        options.into_iter().zip(*ends).map(move |(option, end)| (format!("{arguments}{option}"), end))
    })
}

/// Returns what a run came to, whose failures have this status.
#[track_caller]
fn end(arguments: &str, output: &Output, fatal: i32) -> End {
    let shown = String::from_utf8_lossy(&output.stdout);
    match (output.status.code(), shown.contains("the block goes on")) {
        (Some(0), true) => Rescued,
        (Some(code), false) if code == fatal => Fatal,
        _ => panic!("{arguments}: {output:?}"),
    }
}

#[test]
fn blocks_rescue_includes_of_what_is_missing() {
    let dir = TestDir::new();
    roles(&dir);
    for (arguments, expect) in cases() {
        let ran = Modbox::new(&dir).arg("play").arg(play(&dir, &arguments)).run();
        let output = Output { status: ran.status, stdout: ran.stdout.clone(), stderr: ran.stderr.clone() };
        assert_eq!(end(&arguments, &output, 2), expect, "{arguments}");
    }
    for (arguments, expect) in [
        (
            "name: good, rescuable: other",
            "Error processing keyword 'rescuable': The value 'other' could not be converted",
        ),
        ("name: none", "TASK [debug]"),
    ] {
        let ran = Modbox::new(&dir).arg("play").arg(play(&dir, arguments)).run().exits_with(0);
        let shown = ran.stdout_text() + &ran.stderr_text();
        assert!(shown.contains(expect), "{arguments}: {shown}");
    }
    let import =
        |rescuable| format!("- hosts: localhost\n  tasks:\n  - import_role: {{name: good, rescuable: {rescuable}}}\n");
    for (rescuable, status) in [("true", 2), ("'{{ false }}'", 2), ("false", 0)] {
        let file = dir.write("import.yml", import(rescuable));
        Modbox::new(&dir).args(["play", "--syntax-check"]).arg(file).run().exits_with(status);
    }
}

#[test]
fn ansibles_blocks_rescue_the_same_includes() {
    let Some(version) = oracle::newest() else { return };
    let dir = TestDir::new();
    roles(&dir);
    for (arguments, expect) in crate::support::sample::sample(cases().collect(), 6) {
        let file = play(&dir, &arguments);
        let output = oracle::ansible_of(version, &dir, "playbook").arg(file).output().expect("Ansible starts");
        assert_eq!(end(&arguments, &output, 4), expect, "{arguments}");
    }
}
