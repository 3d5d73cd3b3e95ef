//! What `modbox play` says of bad input: the file, the line, what is wrong, and nothing that runs.
//!
//! A task before the bad one writes a file, so that a play that is refused too late is seen.

use std::fs;

use crate::support::{Modbox, RunOutput, TestDir};

/// Runs a play whose first task makes the file `ran`.
fn play(dir: &TestDir, rest: &str) -> RunOutput {
    let first = format!("    - shell: touch {}\n", dir.join("ran").display());
    dir.write("play.yml", format!("- hosts: localhost\n  gather_facts: false\n{}", rest.replace("FIRST\n", &first)));
    dir.write("library/shell.sh", "#!/bin/sh\n# WANT_JSON\necho '{}'\n");
    Modbox::new(dir).args(["play", "play.yml"]).run()
}

#[test]
fn invalid_plays_are_refused_before_anything_runs() {
    let dir = TestDir::new();
    dir.write("more.yml", "- debug: {msg: \"{{ 'a' | nofilter }}\"}\n");
    for (rest, place, expect) in [
        ("  tsks: []\n", "play.yml:3:3", "unknown keyword `tsks` of a play; did you mean `tasks`?"),
        ("  tasks:\nFIRST\n    - nowhere: {a: 1}\n", "play.yml:5:7", "the action or module `nowhere`"),
        ("  tasks:\nFIRST\n    - ping:\n      whn: x\n", "play.yml:6:7", "did you mean `when`?"),
        ("  tasks:\nFIRST\n    - debug: {msg: \"{{ x y }}\"}\n", "play.yml:5:20", "failed to parse the template"),
        ("  tasks:\nFIRST\n    - debug: {msg: \"{{ x | nofilter }}\"}\n", "play.yml:5:20", "nofilter"),
        ("  tasks:\nFIRST\n    - debug: {msg: \"{{ lookup('nowhere') }}\"}\n", "play.yml:5:20", "lookup `nowhere`"),
        ("  tasks:\nFIRST\n    - import_tasks: more.yml\n", "more.yml:1:16", "nofilter"),
        ("  tasks:\nFIRST\n  roles: [/etc]\n", "play.yml:5:11", "it is outside of the play's folders"),
        ("\ttasks: []\n", "play.yml:3:1", "replace the tab by spaces"),
    ] {
        let ran = play(&dir, rest).exits_with(2);
        let shown = ran.stderr_text();
        assert!(shown.contains(place) && shown.contains(expect), "{rest}: {ran}");
        assert!(!dir.join("ran").exists() && ran.stdout_text().is_empty(), "{rest}: {ran}");
    }
}

#[test]
fn an_invalid_playbook_is_named_with_the_cause() {
    let dir = TestDir::new();
    dir.write("text.yml", "hello\n");
    dir.write("map.yml", "{a: b}\n");
    fs::write(dir.join("bytes.yml"), [0xff, 0xfe, 0x00]).unwrap();
    let folder = dir.mkdir("folder");
    for (file, expect) in [
        ("none.yml", "the file does not exist"),
        (folder.to_str().unwrap(), "it is a directory"),
        ("/dev/null", "it is not a regular file"),
        ("text.yml", "expected a list of plays or tasks, found text"),
        ("map.yml", "expected a list of plays or tasks, found a mapping"),
        ("bytes.yml", "the file is not UTF-8 text"),
    ] {
        let ran = Modbox::new(&dir).args(["play", file]).run().exits_with(2);
        assert!(ran.stderr_text().contains(expect), "{file}: {ran}");
    }
}

#[test]
fn what_grows_without_bound_ends_at_a_limit_that_is_named() {
    let dir = TestDir::new();
    let bomb = |level: usize| match level {
        0 => "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(),
        _ => format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(",")),
    };
    dir.write("bomb.yml", (0..12).map(bomb).collect::<String>());
    dir.write("big.yml", format!("big: {}\n", "x".repeat(70_000_000)));
    let message = |text: &str| format!("  tasks:\n    - debug: {{msg: \"{text}\"}}\n");
    let variables = |file: &str| format!("  vars_files: [{file}]\n  tasks:\n    - debug: {{msg: x}}\n");
    for (rest, expect) in [
        (message("{{ 'a' * 1000000000 }}"), "the template makes too much output"),
        (message("{% for i in range(1000000000) %}{% endfor %}"), "a range has more than 1000000 items"),
        (
            message("{% for i in range(999999) %}{% for j in range(999999) %}{% endfor %}{% endfor %}"),
            "the template runs for too long",
        ),
        (
            message("{% for i in range(999999) %}{% set x = range(999999) | sum %}{% endfor %}"),
            "the template runs for too long",
        ),
        (variables("bomb.yml"), "aliases make the tree larger than"),
        (variables("big.yml"), "the file is larger than"),
    ] {
        // Files are read before the first task.
        let ran = play(&dir, &rest).exits_with(if rest.contains("vars_files") { 2 } else { 1 });
        let shown = ran.stdout_text() + &ran.stderr_text();
        assert!(shown.contains(expect), "{rest}: {ran}");
    }
    dir.assert_nothing_left();
}
