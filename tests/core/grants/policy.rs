//! What policies and arguments grant, by the reports of the real binary with modbox's own modules.
//!
//! `cli/policy.txt` and `cli/requests.txt` test what modbox prints about policies.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, module};

/// Runs a module with the switches and arguments of a command line.
fn run(dir: &TestDir, name: &str, words: &[&str]) -> RunOutput {
    let ran = Modbox::run_module(dir, module(name)).args(words).report().run();
    dir.assert_nothing_left();
    ran
}

/// Returns the grants of a report, as `capability subject (source)`, with the test's directory as `%`.
fn grants(dir: &TestDir, ran: &RunOutput) -> Vec<String> {
    let report = ran.json();
    let text = |grant: &Value, key: &str| grant[key].as_str().unwrap().to_owned();
    let line = |grant: &Value| {
        let line = format!("{} {} ({})", text(grant, "capability"), text(grant, "subject"), text(grant, "source"));
        line.replace(&dir.path().display().to_string(), "%")
    };
    report["grants"].as_array().unwrap().iter().map(line).collect()
}

/// Returns the missing grants of a denied run, as `operation capability subject: remedy`.
fn denials(dir: &TestDir, ran: RunOutput) -> Vec<String> {
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

#[test]
fn a_file_that_is_named_can_be_changed_without_any_switch() {
    let dir = TestDir::new();
    dir.write("data/file", "one\n");
    dir.write("data/other", "other\n");
    let ran = run(&dir, "lineinfile", &["path=data/file", "line=two"]).exits_with(0);
    assert_eq!(grants(&dir, &ran), ["write %/data/file (argument path)"]);
    assert_eq!(ran.json()["status"], "changed", "{ran}");
    assert_eq!(fs::read_to_string(dir.join("data/file")).unwrap(), "one\ntwo\n");
    let names: Vec<_> = fs::read_dir(dir.join("data")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_file_that_is_not_there_yet_can_be_made_by_name() {
    let dir = TestDir::new();
    dir.mkdir("data");
    let dest = format!("dest={}", dir.join("data/new").display());
    let ran = run(&dir, "copy", &[&dest, "content=new"]).exits_with(0);
    assert_eq!(grants(&dir, &ran), ["write %/data/new (argument dest)"]);
    assert_eq!(fs::read_to_string(dir.join("data/new")).unwrap(), "new");
    // A missing directory grants nothing, and the module itself reports the failure.
    let missing = run(&dir, "copy", &[&dest.replace("data", "no/such"), "content=new"]).exits_with(1);
    assert_eq!(grants(&dir, &missing), Vec::<String>::new());
    assert!(missing.json()["notes"][0].as_str().unwrap().contains("grants nothing"), "{missing}");
    let absent = run(&dir, "stat", &["path=no/such/file"]).exits_with(0);
    assert_eq!(absent.json()["result"]["stat"]["exists"], false, "{absent}");
    let absent = run(&dir, "stat", &["path=data/missing"]).exits_with(0);
    assert_eq!(absent.json()["result"]["stat"]["exists"], false, "{absent}");
}

#[test]
fn a_source_is_read_and_a_destination_is_written() {
    let dir = TestDir::new();
    dir.write("src", "contents");
    dir.write("dest", "old");
    let ran = run(&dir, "copy", &["src=src", "dest=~/../dest"]).exits_with(0);
    assert_eq!(grants(&dir, &ran), ["read %/src (argument src)", "write %/dest (argument dest)"]);
    assert_eq!(fs::read_to_string(dir.join("dest")).unwrap(), "contents");
}

#[test]
fn a_link_that_is_named_is_a_link_and_its_target_is_granted() {
    let dir = TestDir::new();
    dir.write("target", "contents");
    symlink("target", dir.join("link")).unwrap();
    let ran = run(&dir, "stat", &["path=link"]).exits_with(0);
    assert_eq!(grants(&dir, &ran), ["read %/target (argument path)"]);
    let stat = &ran.json()["result"]["stat"];
    assert_eq!((&stat["islnk"], &stat["lnk_target"]), (&json!(true), &json!("target")), "{ran}");
    let ran = run(&dir, "stat", &["path=link", "follow=yes"]).exits_with(0);
    assert_eq!(ran.json()["result"]["stat"]["size"], 8);
    run(&dir, "lineinfile", &["path=link", "line=more"]).exits_with(0);
    assert_eq!(fs::read_to_string(dir.join("target")).unwrap(), "contents\nmore\n");
}

#[test]
fn a_file_in_the_hosts_tmp_can_be_named() {
    let dir = TestDir::new();
    let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let path = file.path().display().to_string();
    run(&dir, "lineinfile", &[&format!("path={path}"), "line=one"]).exits_with(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
}

#[test]
fn arguments_of_ansible_designate_too() {
    let dir = TestDir::new();
    dir.write("file", "one\n");
    dir.write("args", r#"{"path": "file", "line": "two", "_ansible_check_mode": false}"#);
    let component = module("lineinfile");
    Modbox::new(&dir).args([component.to_str().unwrap(), "args"]).run().exits_with(0);
    assert_eq!(fs::read_to_string(dir.join("file")).unwrap(), "one\ntwo\n");
}

#[test]
fn a_relative_path_is_the_callers_when_everything_is_granted() {
    let dir = TestDir::new();
    dir.write("file", "one\n");
    let ran = run(&dir, "lineinfile", &["path=file", "line=two", "--allow-all"]).exits_with(0);
    assert_eq!(grants(&dir, &ran), ["all * (--allow-all)"]);
    assert_eq!(fs::read_to_string(dir.join("file")).unwrap(), "one\ntwo\n");
}
