//! Errors of files that modbox's own modules report: in the words of the host, with the file and without WASI's numbers.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::core::native::native_place::{Place, USER};
use crate::support::{Modbox, NO_SMALL_DISK, TestDir, module, with_small_disk};

/// Runs a module as the user of a place, and returns its report.
fn run(place: &Place, name: &str, words: &[&str]) -> Value {
    report(&prepared(place, name, words).output().unwrap())
}

fn prepared(place: &Place, name: &str, words: &[&str]) -> Command {
    fs::copy(module(name), place.at(name)).unwrap();
    place.command(name, words)
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Checks the message of a failed result, and that no number of an error is in the report.
#[track_caller]
fn assert_words(report: &Value, expect: &str) {
    let message = report["result"]["msg"].as_str().unwrap_or_default();
    assert!(message.contains(expect) && report["status"] == "failed", "no `{expect}` in {report:#}");
    assert!(!report.to_string().contains("os error"), "{report:#}");
}

/// Runs a module on a small file system that is made for it. Returns `None` where that needs rights that are missing.
fn on_small_disk(name: &str, words: impl Fn(&str) -> Vec<String>) -> Option<Value> {
    let place = Place::new(None);
    let data = place.path("data");
    let words = words(&data);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = prepared(&place, name, &words);
    let output = with_small_disk(data.as_ref(), &run).current_dir(place.at("home")).output().unwrap();
    (output.status.code() != Some(NO_SMALL_DISK)).then(|| report(&output))
}

#[test]
fn a_user_who_may_not_write_is_named() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Some(USER));
    fs::write(place.at("theirs/file"), "text\n").unwrap();
    let path = format!("path={}", place.path("theirs/file"));
    let report = run(&place, "lineinfile", &[&path, "line=new"]);
    let expect = format!("file`: Permission denied: user `{USER}` may not do that; run as another user");
    assert_words(&report, &expect);
    assert!(report["result"]["warnings"][0].as_str().unwrap().contains("this user can neither write it"), "{report:#}");
    assert_eq!(place.read("theirs/file"), "text\n");
}

#[test]
fn what_nothing_grants_is_named() {
    let dir = TestDir::new();
    // Not below `/tmp`, where the module has a directory of its own.
    let args = ["path=/no-such-directory/sub/file", "line=new", "create=yes"];
    let report = Modbox::run_module(&dir, module("lineinfile")).args(args).report().run().exits_with(1).json();
    assert_words(&report, "Operation not permitted: nothing grants that, or user `");
}

#[test]
fn a_full_disk_is_named() {
    let content = "content=".to_owned() + &"new line\n".repeat(12_000);
    let file = |data: &str| format!("{data}/file");
    let copied = on_small_disk("copy", |data| vec![content.clone(), format!("dest={}", file(data))]);
    if let Some(report) = &copied {
        assert_words(report, "No space left on device");
    }
    let source = tempfile::NamedTempFile::new().unwrap();
    // Bytes that no archive makes shorter.
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56).try_into().unwrap()
    };
    fs::write(source.path(), (0..200_000).map(|_| next()).collect::<Vec<u8>>()).unwrap();
    let archived = on_small_disk("archive", |data| {
        vec![
            format!("path={}", source.path().display()),
            format!("dest={data}/made.tar"),
            "format=tar".to_owned(),
            "--allow-write".to_owned(),
            data.to_owned(),
        ]
    });
    assert_eq!(copied.is_some(), archived.is_some());
    if let Some(report) = &archived {
        assert_words(report, "No space left on device");
    }
}
