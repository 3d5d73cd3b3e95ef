//! `designated: manage`: an argument that names what a module manages grants the commands for exactly that, and what keeps it from it.
//!
//! The modules are scripts in folders of the right names. They ask `sysctl` for parameters, which changes nothing.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir};

/// A script that asks for parameters, in the room or outside, as the rules say.
const SCRIPT: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json
import subprocess
import sys

args = json.load(open(sys.argv[1]))
for key in [args.get("name") or args["key"], "kernel.osrelease"]:
    subprocess.run(["sysctl", "-n", key], capture_output=True)
print(json.dumps({"changed": False}))

DOCUMENTATION = """
options:
  name: {type: str, aliases: [key]}
"""
"#;

/// The place of the script, where it is `ansible.posix.sysctl`.
const MODULE: &str = "collections/ansible_collections/ansible/posix/plugins/modules/sysctl.py";

struct Case(TestDir);

impl Case {
    /// Returns `None` on a machine without `sysctl`.
    fn new() -> Option<Self> {
        let there = ["/usr/sbin/sysctl", "/sbin/sysctl"].iter().any(|path| Path::new(path).exists());
        let dir = TestDir::new();
        dir.write(MODULE, SCRIPT);
        there.then_some(Self(dir))
    }

    fn run(&self, words: &[&str]) -> Value {
        Modbox::run_module(&self.0, format!("./{MODULE}")).args(words).report().run().exits_with(0).json()
    }

    fn show(&self, words: &[&str]) -> RunOutput {
        let module = format!("./{MODULE}");
        Modbox::new(&self.0).args([&["policy", "show", &module][..], words].concat()).run().exits_with(0)
    }
}

/// Returns the commands that ran outside.
fn ran(report: &Value) -> Vec<&str> {
    let all = report["outside"].as_array().into_iter().flatten();
    all.map(|one| one["command"].as_str().unwrap().rsplit('/').next().unwrap()).collect()
}

#[track_caller]
fn note(report: &Value, expect: &str) {
    let notes = report["notes"].as_array().into_iter().flatten();
    assert!(notes.into_iter().any(|note| note.as_str().unwrap().contains(expect)), "{expect}: {report:#}");
}

#[test]
fn naming_grants_the_commands_for_exactly_this_name() {
    let Some(case) = Case::new() else { return };
    for argument in ["name=kernel.ostype", "key=kernel.ostype"] {
        let report = case.run(&["--designated", "manage", argument]);
        assert_eq!(ran(&report), ["sysctl -n kernel.ostype"], "{report:#}");
        assert_eq!(report["outside"][0]["source"], "profile manage-kernel, argument name", "{report:#}");
        let denied = &report["denials"][0];
        let subject = denied["subject"].as_str().unwrap_or_else(|| panic!("{report:#}"));
        assert!(denied["capability"] == "outside" && subject.ends_with("kernel.osrelease"), "{report:#}");
    }
    // Without it, paths alone are designated.
    for words in [&["name=kernel.ostype"][..], &["--designated", "write", "name=kernel.ostype"]] {
        let report = case.run(words);
        assert_eq!((ran(&report).len(), &report["outside"]), (0, &Value::Null), "{report:#}");
    }
}

#[test]
fn reserved_names_and_patterns_grant_nothing() {
    let Some(case) = Case::new() else { return };
    for (argument, why) in [
        ("name=kernel.core_pattern", "is reserved: a policy has to spell it"),
        ("name=kernel.*", "is not a single name that a rule covers"),
        ("name=../kernel", "is not a single name that a rule covers"),
    ] {
        let report = case.run(&["--designated", "manage", argument]);
        assert!(ran(&report).is_empty(), "{report:#}");
        note(&report, why);
    }
    let shown = case.show(&["--designated", "manage", "name=kernel.core_pattern"]).stdout_text();
    assert!(!shown.contains("as powerful as root"), "{shown}");
}

#[test]
fn what_says_less_wins() {
    let Some(case) = Case::new() else { return };
    case.0.write("write.yaml", "designated: write\n");
    case.0.write("none.yaml", "modules: {ansible.posix.sysctl: {designated: none}}\n");
    case.0.write("manage.yaml", "modules: {ansible.posix.sysctl: {designated: manage}}\n");
    // What may be granted to an unsigned module; without `designated`, naming grants paths.
    let outside = "outside: [\"sysctl {-e} -n <key>\"]";
    let most =
        |more: &str| format!("trust: {{rules: [{{unsigned: true, at-most: {{read: [/], {outside}{more}}}}}]}}\n");
    case.0.write("ceiling.yaml", most(""));
    let name = "name=kernel.ostype";
    let run = |files: &[&str]| {
        let files = files.iter().flat_map(|file| ["--policy", file]);
        let words: Vec<&str> = files.chain(["--designated", "manage", name]).collect();
        ran(&case.run(&words)).len()
    };
    let play = |files: &[&str], more: &[&str]| {
        case.0.write(
            "play.yml",
            "- hosts: localhost\n  gather_facts: false\n  tasks: [{ansible.posix.sysctl: {name: kernel.ostype}}]\n",
        );
        let files = files.iter().flat_map(|file| ["--policy", file]);
        let words: Vec<&str> = files.chain(more.iter().copied()).collect();
        let ran = Modbox::new(&case.0)
            .args(["play", "play.yml", "--collections-path", "collections", "--output", "jsonl"])
            .args(words)
            .run()
            .exits_with(0);
        ran.stdout_text().matches("profile manage-kernel, argument name").count()
    };
    assert!(play(&["manage.yaml"], &[]) > 0);
    assert_eq!(play(&["manage.yaml", "write.yaml"], &[]), 0);
    assert_eq!(play(&["manage.yaml", "none.yaml"], &[]), 0);
    assert_eq!(play(&["none.yaml"], &["--designated", "manage"]), 0);
    assert_eq!(run(&["ceiling.yaml"]), 0);
    let listed = case.show(&["--policy", "ceiling.yaml", "--designated", "manage", name]).stdout_text();
    assert!(listed.contains("designated: write (trust rule"), "{listed}");
}

#[test]
fn names_of_results_grant_nothing_unless_a_policy_says_so() {
    let Some(case) = Case::new() else { return };
    case.0.write("library/tells", "#!/bin/sh\n# WANT_JSON\necho '{\"changed\": false, \"key\": \"kernel.ostype\"}'\n");
    case.0.write(
        "play.yml",
        "- hosts: localhost\n  gather_facts: false\n  tasks:\n    - tells:\n      register: r\n    \
         - ansible.posix.sysctl: {name: \"{{ r.key }}\"}\n",
    );
    let play = |file: &str| {
        let words =
            ["--collections-path", "collections", "--output", "jsonl", "--designated", "manage", "--policy", file];
        Modbox::new(&case.0).args(["play", "play.yml"]).args(words).run().exits_with(0).stdout_text()
    };
    case.0.write("usual.yaml", "{}\n");
    let usual = play("usual.yaml");
    assert!(!usual.contains("profile manage-kernel"), "{usual}");
    assert!(usual.contains("so naming something in it grants nothing"), "{usual}");
    case.0.write("by-results.yaml", "designated-by-results: manage\n");
    let granted = play("by-results.yaml");
    assert!(granted.contains("profile manage-kernel, argument name, made from"), "{granted}");
}

#[test]
fn it_is_shown_and_checked() {
    let Some(case) = Case::new() else { return };
    case.0.write("policy.yaml", "designated: manage\n");
    let shown = case.show(&["--policy", "policy.yaml", "name=kernel.ostype"]).stdout_text();
    assert!(shown.contains("designated: manage (policy file policy.yaml)\n"), "{shown}");
    let rule = "outside sysctl {-e} -n <key> for kernel.ostype (profile manage-kernel, argument name)";
    assert!(shown.contains(rule), "{shown}");
    let checked = Modbox::new(&case.0).args(["policy", "check", "policy.yaml"]).run().exits_with(0).stdout_text();
    assert!(checked.contains("warning: `designated: manage`"), "{checked}");
    assert_eq!(case.show(&["--policy", "policy.yaml", "--json"]).json()["designated"]["value"], json!("manage"));
}
