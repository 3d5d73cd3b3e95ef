//! `modbox run --learn`: rounds on copies, and the policy file that lets the real run succeed.

use std::fs;
use std::path::Path;

use crate::support::{Modbox, RunOutput, TestDir, module};

/// A module without documentation, so that nothing is designated. It runs the code in `do` with `path`.
const MODULE: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json, os, socket, subprocess, sys, tempfile
args = json.load(open(sys.argv[1]))
try:
    exec(args["do"], {"path": args.get("path"), "os": os, "tempfile": tempfile, "socket": socket})
    print(json.dumps({"changed": True}))
except Exception as error:
    print(json.dumps({"failed": True, "msg": repr(error)}))
"#;

struct Case {
    dir: TestDir,
    args: Vec<String>,
}

impl Case {
    /// `%` in code stands for the directory of the test.
    fn new(code: &str) -> Self {
        let dir = TestDir::new();
        dir.write("module.py", MODULE);
        dir.write("data/file", "old");
        dir.write("data/other", "old");
        dir.write("secret/file", "secret");
        let code = code.replace('%', &dir.path().display().to_string());
        Self { args: vec![format!("do={code}")], dir }
    }

    fn run(&self, options: &[&str]) -> RunOutput {
        let ran = Modbox::run_module(&self.dir, self.dir.join("module.py")).args(&self.args).args(options).run();
        self.dir.assert_nothing_left();
        ran
    }

    /// Learns, and returns the policy without comments.
    #[track_caller]
    fn learns(&self, options: &[&str], status: i32) -> (String, RunOutput) {
        let ran = self.run(&[&["--learn", "learned.yaml"], options].concat()).exits_with(status);
        let text = fs::read_to_string(self.dir.join("learned.yaml")).unwrap();
        assert!(ran.stdout_text().contains("no file of this machine was changed"), "{ran}");
        (text.replace(&self.dir.path().display().to_string(), "%"), ran)
    }

    fn file(&self) -> String {
        fs::read_to_string(self.dir.join("data/file")).unwrap()
    }
}

/// Returns the entries of a policy file.
fn entries(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("- "));
    lines.map(|line| line.split("  #").next().unwrap()).collect()
}

#[test]
fn the_learned_file_is_all_that_the_real_run_needs() {
    let case = Case::new("open('%/data/file', 'w').write(open('%/data/other').read() + 'new')");
    let (text, ran) = case.learns(&[], 0);
    assert_eq!(case.file(), "old", "{ran}");
    assert_eq!(entries(&text), ["%/data/other", "%/data/file"], "{text}");
    assert!(text.contains("runs, 1 of them succeeded"), "{text}");
    case.run(&["--policy", "learned.yaml"]).exits_with(0);
    assert_eq!(case.file(), "oldnew");
    // A file that is there stays as it is.
    let again = case.run(&["--learn", "learned.yaml"]).exits_with(2);
    assert!(again.stderr_text().contains("`learned.yaml` exists"), "{again}");
}

#[test]
fn changes_of_directories_stay_on_copies() {
    let code = "os.mkdir('%/data/new'); open('%/data/new/file', 'w').write(open('%/data/file').read()); os.remove('%/data/other')";
    let case = Case::new(code);
    let (text, ran) = case.learns(&[], 0);
    assert!(!case.dir.join("data/new").exists() && case.dir.join("data/other").exists(), "{ran}");
    assert_eq!(entries(&text), ["%/data"], "{text}");
    case.run(&["--policy", "learned.yaml"]).exits_with(0);
    assert_eq!(fs::read_to_string(case.dir.join("data/new/file")).unwrap(), "old");
}

#[test]
fn a_guest_learns_on_copies_too() {
    let dir = TestDir::new();
    dir.write("data/file", "one\n");
    let path = dir.join("data/file").display().to_string();
    let args = [&format!("path={path}"), "line=two", "--designated", "none"];
    let run = |options: &[&str]| Modbox::run_module(&dir, module("lineinfile")).args(args).args(options).run();
    let ran = run(&["--learn", "learned.yaml"]).exits_with(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n", "{ran}");
    let text = fs::read_to_string(dir.join("learned.yaml")).unwrap();
    assert_eq!(entries(&text), [path.as_str()], "{text}");
    run(&["--policy", "learned.yaml"]).exits_with(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    dir.assert_nothing_left();
}

#[test]
fn what_is_not_needed_is_not_learned() {
    // The module complains about a file that it does not need.
    let code = "import sys
open('%/data/other')
if not os.path.exists('%/data/file'): sys.stderr.write('%/secret/file: No such file or directory')
open('%/data/file')";
    let case = Case::new(code);
    let (text, _) = case.learns(&[], 0);
    assert_eq!(entries(&text), ["%/data/file", "%/data/other"], "{text}");
}

#[test]
fn real_effects_are_not_learned_without_a_request() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let code = format!("open('%/data/file'); socket.create_connection(('127.0.0.1', {port}))");
    let case = Case::new(&code);
    let (text, ran) = case.learns(&[], 1);
    assert!(listener.accept().is_err(), "{ran}");
    assert!(ran.stderr_text().contains("`--learn-effects` goes on with them"), "{ran}");
    assert!(text.contains("not tried, since they reach more than copies: --allow-net"), "{text}");
    fs::remove_file(case.dir.join("learned.yaml")).unwrap();
    let (text, ran) = case.learns(&["--learn-effects"], 0);
    assert!(listener.accept().is_ok(), "{ran}");
    assert!(entries(&text).iter().any(|entry| entry.contains(&port.to_string())), "{text}");
}

#[test]
fn a_module_that_fails_by_itself_is_stuck() {
    let case = Case::new("raise ValueError(open('%/data/file').read())");
    let (text, ran) = case.learns(&[], 1);
    assert!(ran.stderr_text().contains("stuck: "), "{ran}");
    assert!(text.contains("the module did not succeed") && entries(&text) == ["%/data/file"], "{text}");
}

#[test]
fn too_much_is_not_copied() {
    let case = Case::new("open('%/data/new', 'w')");
    fs::File::create(case.dir.join("data/large")).unwrap().set_len(300 << 20).unwrap();
    let data = case.dir.join("data").display().to_string();
    let ran = case.run(&["--learn", "learned.yaml", "--allow-write", &data]);
    assert!(!ran.status.success() && format!("{ran}").contains("it has more than 256.0 MiB"), "{ran}");
    assert!(!Path::new(&data).join("new").exists());
}

#[test]
fn learning_does_not_go_with_less_confinement() {
    let case = Case::new("pass");
    for options in [&["--allow-all"][..], &["--check"], &["--async", "1s"]] {
        let ran = case.run(&[&["--learn", "learned.yaml"], options].concat()).exits_with(2);
        assert!(ran.stderr_text().contains("cannot be used with"), "{ran}");
    }
}
