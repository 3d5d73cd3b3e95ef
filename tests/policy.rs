//! What operators and arguments grant, seen from outside: reports of the real binary with modbox's own modules.
//!
//! `cli/policy.txt` and `cli/requests.txt` have what is printed about policies.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Modbox, Ran, TestDir, module};

/// Runs a module with the words of a command line.
fn run(dir: &TestDir, name: &str, words: &[&str]) -> Ran {
    let ran = Modbox::run_module(dir, module(name)).args(words).report().run();
    dir.assert_nothing_left();
    ran
}

/// The grants of a report, as `capability subject (source)`, with the test's directory as `%`.
fn grants(dir: &TestDir, ran: &Ran) -> Vec<String> {
    let report = ran.json();
    let text = |grant: &Value, key: &str| grant[key].as_str().unwrap().to_owned();
    let line = |grant: &Value| {
        let line = format!("{} {} ({})", text(grant, "capability"), text(grant, "subject"), text(grant, "source"));
        line.replace(&dir.path().display().to_string(), "%")
    };
    report["grants"].as_array().unwrap().iter().map(line).collect()
}

/// What a denied run lacks, as `operation capability subject: remedy`.
fn denials(dir: &TestDir, ran: Ran) -> Vec<String> {
    let report = ran.exits_with(4).json();
    assert_eq!(report["status"], "denied");
    let text = |denial: &Value, key: &str| denial[key].as_str().unwrap().to_owned();
    let line = |denial: &Value| {
        let keys = ["operation", "capability", "subject", "allow"].map(|key| text(denial, key));
        let line = format!("{} {} {}: {}", keys[0], keys[1], keys[2], keys[3]);
        line.replace(&dir.path().display().to_string(), "%")
    };
    report["denials"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn a_directory_that_is_named_is_granted_and_nothing_beside_it() {
    let dir = TestDir::new();
    dir.write("data/file", "one\n");
    let named = run(&dir, "stat", &["path=data"]).exits_with(0);
    assert_eq!(grants(&dir, &named), ["read %/data (argument path)"]);
    let stat = &named.json()["result"]["stat"];
    assert_eq!((&stat["exists"], &stat["isdir"]), (&json!(true), &json!(true)), "{named}");
    assert_eq!(stat["path"], dir.join("data").to_str().unwrap(), "the module is told the path that was granted");
}

#[test]
fn operators_turn_designation_down() {
    let dir = TestDir::new();
    dir.write("data/file", "one\n");
    let data = dir.join("data").display().to_string();
    let words = [&format!("path={data}"), "line=two", "--designated", "read"];
    assert_eq!(denials(&dir, run(&dir, "lineinfile", &words)), ["argument write %/data: --allow-write %/data"]);

    dir.write("home/.config/modbox/policy.yaml", "designated: none\n");
    let loud = ["path=data", "--designated", "write"];
    assert_eq!(denials(&dir, run(&dir, "stat", &loud)), ["argument read data: path=%/data --allow-read %/data"]);
    let granted = run(&dir, "stat", &[&format!("path={data}"), "--allow-read", &data]).exits_with(0);
    assert_eq!(grants(&dir, &granted), ["read %/data (--allow-read)"]);
}

#[test]
fn rules_for_a_digest_hold_for_that_module_only() {
    let dir = TestDir::new();
    dir.write("data/file", "one\n");
    let digest = |name: &str| {
        let inspected = Modbox::new(&dir).arg("inspect").arg("--json").arg(module(name)).run().exits_with(0);
        inspected.json()["digest"].as_str().unwrap().to_owned()
    };
    let rules = format!("designated: none\nmodules:\n  '{}': {{allow: {{write: [data]}}}}\n", digest("lineinfile"));
    dir.write("policy.yaml", rules);
    let path = format!("path={}", dir.join("data/file").display());
    let own = run(&dir, "lineinfile", &[&path, "line=two", "--policy", "policy.yaml"]).exits_with(0);
    assert_eq!(own.json()["status"], "changed");
    assert_eq!(fs::read_to_string(dir.join("data/file")).unwrap(), "one\ntwo\n");
    let other = denials(&dir, run(&dir, "stat", &[&path, "--policy", "policy.yaml"]));
    assert_eq!(other, ["argument read %/data/file: --allow-read %/data/file"]);
}

#[test]
fn what_a_mapped_grant_shows_is_not_what_is_named() {
    let dir = TestDir::new();
    dir.write("data/file", "host");
    let mapped = format!("{}::/elsewhere", dir.join("data").display());
    let ran = run(&dir, "stat", &["path=/elsewhere/file", "--allow-read", &mapped]).exits_with(0);
    assert_eq!(ran.json()["result"]["stat"]["size"], 4);
    assert_eq!(grants(&dir, &ran), ["read %/data::/elsewhere (--allow-read)"]);
}

#[test]
fn a_policy_file_sets_every_limit() {
    let dir = TestDir::new();
    dir.write("policy.yaml", "limits: {output: 16}\n");
    let ran = run(&dir, "ping", &["--policy", "policy.yaml"]).exits_with(5);
    assert_eq!(ran.json()["limit"], json!({"kind": "stdout", "allowed": 16, "unit": "bytes"}));
    run(&dir, "ping", &["--policy", "policy.yaml", "--max-output", "4KiB"]).exits_with(0);
}
