//! What `modbox play` asks the person at the terminal: a real terminal, whose keys come as fast as they can.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::support::{Modbox, RunOutput, TestDir, fixture, stretched};

/// Time in which a play of no work ends. A pause in it is far longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a play on a terminal. `steps` are texts, and the keys that are typed after each, in one piece.
fn on_terminal(dir: &TestDir, tasks: &str, steps: &[(&str, &str)]) -> RunOutput {
    let text = format!("- hosts: all\n  gather_facts: false\n  tasks:\n{tasks}\n  - debug: {{msg: goes on}}\n");
    let file = dir.write("play.yml", text);
    let patience = stretched(PATIENCE).as_secs().to_string();
    Modbox::of(Path::new("python3"), dir)
        .arg(fixture("plays/terminal.py"))
        .args([&patience, &json!(steps).to_string(), env!("CARGO_BIN_EXE_modbox"), "play"])
        .arg(file)
        .env("TERM", "xterm")
        .run()
}

#[test]
fn keys_that_come_together_are_one_answer() {
    let dir = TestDir::new();
    let tasks = "  - pause: {prompt: Text}\n    register: one\n  - pause: {prompt: More}\n    register: two\n\
                 \x20 - assert: {that: [\"one.user_input == 'hello tömmy'\", \"two.user_input == 'you'\"]}";
    // The second answer begins before its question is there.
    let ran = on_terminal(&dir, tasks, &[("Text:", "hello tmö\u{7f}\u{7f}ömmy\ryou"), ("More:", "\r")]);
    let shown = ran.exits_with(0).stdout_text();
    assert!(shown.contains("goes on"), "{shown}");
}

#[test]
fn ctrl_c_behind_another_key_interrupts_a_pause() {
    let dir = TestDir::new();
    let tasks = "  - pause: {seconds: 3600}";
    let question = "Press 'C' to continue the play or 'A' to abort";
    for (key, status, shown) in [("C", 0, "goes on"), ("a", 1, "user requested abort!")] {
        let steps = [("'A' = abort)", "\n\u{3}"), (question, key)];
        let ran = on_terminal(&dir, tasks, &steps).exits_with(status);
        assert!(ran.stdout_text().contains(shown), "{ran}");
    }
}

#[test]
fn only_modbox_colours_lines() {
    let dir = TestDir::new();
    let result = r#"{"changed": true, "warnings": ["one\n\u001b[2Jtwo\r\u202e\u009b2J"]}"#;
    dir.write("library/hostile.sh", format!("#!/bin/sh\n# WANT_JSON\nprintf '%s\\n' '{result}'\n"));
    let shown = on_terminal(&dir, "  - hostile:", &[]).exits_with(0).stdout_text();
    assert!(shown.contains("\u{1b}[33mchanged: [localhost]"), "{shown}");
    assert!(shown.contains("\\u{1b}[2Jtwo\\u{d}\\u{202e}\\u{9b}2J"), "{shown}");
    assert!(!shown.contains("\u{1b}[2J") && !shown.contains(['\u{202e}', '\u{9b}']), "{shown}");
}
