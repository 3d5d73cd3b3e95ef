//! What modules leave running: it stays where nothing confines them, and fails the task that would lose it in a sandbox.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::support::{Modbox, RunOutput, TestDir, wait_for};

/// A module that leaves a process running, and writes its number into the file `pid` of the argument `folder`. The process holds the
/// output of the module open.
const STARTER: &str =
    "#!/bin/sh\n# WANT_JSON\nsetsid sleep 600 &\necho $! > FOLDER/pid\necho '{\"changed\": true}'\nEXTRA\n";

const PLAY: &str = "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - name: Start it\n    starter: {path: FOLDER}\n  \
                    - debug: {msg: after}\n";

/// A process that a play left. It is killed when the test ends.
struct Left(Pid);

impl Drop for Left {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.0, Signal::KILL);
    }
}

fn prepared(extra: &str) -> TestDir {
    let dir = TestDir::new();
    let folder = dir.mkdir("out").display().to_string();
    dir.write("library/starter.sh", STARTER.replace("FOLDER", &folder).replace("EXTRA", extra));
    dir.write("play.yml", PLAY.replace("FOLDER", &folder));
    dir
}

fn play(dir: &TestDir, args: &[&str]) -> RunOutput {
    Modbox::new(dir).args(["play", "play.yml"]).args(args).run()
}

/// Returns the process that the module started, once it has begun its program.
fn stayed(dir: &TestDir, ran: &RunOutput) -> Left {
    let mut found = None;
    wait_for(Duration::from_secs(30), || {
        found = left(dir);
        found.is_some()
    });
    found.unwrap_or_else(|| panic!("the process is gone: {ran}"))
}

/// Returns the process that the module started, if it runs its program.
fn left(dir: &TestDir) -> Option<Left> {
    let number: i32 = fs::read_to_string(dir.join("out/pid")).ok()?.trim().parse().ok()?;
    let name = fs::read_to_string(format!("/proc/{number}/comm")).ok()?;
    (name.trim() == "sleep").then(|| Left(Pid::from_raw(number).unwrap()))
}

#[test]
fn what_a_sandbox_would_end_fails_its_task() {
    let dir = prepared("");
    let ran = play(&dir, &["--output", "jsonl"]).exits_with(1);
    let said = ran.stdout_text();
    assert!(said.contains("the module left processes running, which ended with its sandbox: sleep; to start"), "{ran}");
    assert!(said.contains("\"survivors\": [\"sleep\"]") && !said.contains("after"), "{ran}");
    assert!(said.contains("\"failed\": 1"), "the recap is there: {ran}");
    // A helper that ends with its module is none.
    let dir = prepared("kill %1 2>/dev/null; kill $!");
    assert!(play(&dir, &[]).exits_with(0).stdout_text().contains("changed=1"));
}

fn stays_without_limits(dir: &TestDir, args: &[&str]) {
    let ran = play(dir, args).exits_with(0);
    assert!(ran.stdout_text().contains("changed=1") && ran.stdout_text().contains("\"msg\": \"after\""), "{ran}");
    let left = stayed(dir, &ran);
    let limits = |path: &Path| fs::read_to_string(path).unwrap();
    let of = |text: &str, name: &str| text.lines().find(|line| line.starts_with(name)).map(str::to_owned);
    let (own, its) =
        (limits(Path::new("/proc/self/limits")), limits(Path::new(&format!("/proc/{}/limits", left.0.as_raw_pid()))));
    for name in ["Max cpu time", "Max data size", "Max core file size"] {
        assert_eq!(of(&its, name), of(&own, name), "{args:?}");
    }
}

#[test]
fn what_a_module_leaves_stays_under_allow_all() {
    stays_without_limits(&prepared(""), &["--allow-all"]);
}

#[test]
fn what_a_task_leaves_stays_by_a_rule_for_the_task() {
    let dir = prepared("");
    dir.write("rule.yaml", "tasks:\n  \"Start *\": {allow: all}\n");
    stays_without_limits(&dir, &["--policy", "rule.yaml"]);
    dir.write("other.yaml", "tasks:\n  \"Stop *\": {allow: all}\n");
    play(&dir, &["--policy", "other.yaml"]).exits_with(1);
}

#[test]
fn limits_that_are_named_hold_for_what_stays() {
    let dir = prepared("");
    let ran = play(&dir, &["--allow-all", "--cpu-time", "77s"]).exits_with(0);
    let left = stayed(&dir, &ran);
    let limits = fs::read_to_string(format!("/proc/{}/limits", left.0.as_raw_pid())).unwrap();
    let seconds = limits.lines().find(|line| line.starts_with("Max cpu time")).unwrap();
    assert!(seconds.contains(" 78 "), "{seconds}");
}

#[test]
fn a_module_that_ends_at_a_limit_leaves_nothing() {
    let dir = prepared("sleep 600");
    play(&dir, &["--allow-all", "--timeout", "2s"]).exits_with(5);
    assert!(wait_for(Duration::from_secs(30), || left(&dir).is_none()));
}
