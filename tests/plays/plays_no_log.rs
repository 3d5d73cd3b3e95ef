//! What a play shows of tasks with `no_log`: nothing of their values, also where they fail, are repeated, or lack a grant.

use crate::support::{Modbox, RunOutput, TestDir};

/// What must not be shown.
const SECRET: &str = "Zq8HushHush";

/// A module that prints what it is given.
const TELLER: &str = "#!/bin/sh\n# WANT_JSON\nprintf '{\"changed\": true, \"told\": %s}' \"$(cat \"$1\")\"\n";

fn play(dir: &TestDir, tasks: &str, args: &[&str]) -> RunOutput {
    dir.write("library/teller.sh", TELLER);
    let head = format!("- hosts: localhost\n  gather_facts: false\n  vars: {{pw: {SECRET}}}\n  tasks:\n");
    dir.write("play.yml", format!("{head}{tasks}"));
    Modbox::new(dir).args(["play", "play.yml"]).args(args).run()
}

#[test]
fn attempts_of_hidden_tasks_are_hidden() {
    let dir = TestDir::new();
    let tasks = "  - teller: {text: '{{ pw }}'}\n    no_log: true\n    register: said\n    until: said.told.text == 'x'\n    retries: 1\n    \
                 delay: 0\n";
    for args in [&["--output", "jsonl"][..], &["-vvv"], &["--output", "html"]] {
        let ran = play(&dir, tasks, args).exits_with(1);
        assert!(!ran.to_string().contains(SECRET), "{args:?}: {ran}");
        assert!(args.contains(&"html") || ran.stdout_text().to_lowercase().contains("retry"), "{ran}");
    }
}

#[test]
fn what_hidden_tasks_lack_is_named_without_their_values() {
    let dir = TestDir::new();
    let hidden = "  - debug: {msg: \"{{ lookup('pipe', 'curl -u me:' ~ pw ~ ' http://x') }}\"}\n    no_log: true\n    ignore_errors: true\n  - \
                  debug: {msg: \"{{ {'a': 1}[pw] }}\"}\n    no_log: true\n    ignore_errors: true\n";
    let shown = "  - debug: {msg: \"{{ lookup('pipe', 'id -u') }}\"}\n";
    let tasks = format!("{hidden}{shown}");
    let ran = play(&dir, &tasks, &[]).exits_with(4);
    assert!(!ran.to_string().contains(SECRET), "{ran}");
    let needs = ran.stdout_text();
    assert!(needs.contains("needs --allow-run curl to do what a task with `no_log` does"), "{needs}");
    assert!(needs.contains("needs --allow-run id to run `id -u`"), "{needs}");
    for args in [&["--explain"][..], &["--explain", "--output", "jsonl"]] {
        let ran = play(&dir, &tasks, args);
        assert!(!ran.to_string().contains(SECRET), "{args:?}: {ran}");
        assert!(ran.stdout_text().contains("for a reason that `no_log` hides"), "{ran}");
    }
}
