//! One module in eight languages and kinds, and the examples in four languages: the same arguments give the same
//! result.
//!
//! The old-style module gets every value as a string, and prints `n` as a number again.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{LANGUAGES, Modbox, TestDir, c_core, fixture, guest, language, native_c, oracle};

/// Returns the files, each with the kind that modbox must detect.
fn modules() -> Vec<(&'static str, PathBuf)> {
    let mut modules = vec![
        ("component", guest("hello")),
        ("core", c_core("authoring/kinds/hello.c")),
        ("binary", native_c("authoring/kinds/hello.c")),
        ("want_json", fixture("authoring/kinds/hello_want_json.sh")),
        ("want_json", fixture("authoring/kinds/hello_want_json.py")),
        ("want_json", fixture("authoring/kinds/hello_want_json.pl")),
        ("old_style", fixture("authoring/kinds/hello_old_style.sh")),
        ("jsonargs", fixture("authoring/kinds/hello_jsonargs.py")),
    ];
    modules.extend(LANGUAGES.iter().filter_map(|(name, kind)| Some((*kind, language(name)?))));
    modules
}

fn is_wasm(kind: &str) -> bool {
    matches!(kind, "component" | "core")
}

fn prepared(dir: &TestDir, kind: &str, module: &PathBuf) -> Modbox {
    let python = format!("python={}", oracle::python().display());
    let modbox = Modbox::run_module(dir, module).report().args(["--interpreter", &python]);
    if is_wasm(kind) { modbox } else { modbox.arg("--allow-all") }
}

/// Runs all files, and asserts that each returns the expected result.
#[track_caller]
fn check(prepare: impl Fn(Modbox) -> Modbox, expect: &Value) {
    let dir = TestDir::new();
    for (kind, module) in modules() {
        let ran = prepare(prepared(&dir, kind, &module)).run().exits_with(0);
        let report = ran.json();
        assert_eq!(report["module"]["kind"], kind, "{ran}");
        assert_eq!(report["status"], "ok", "{ran}");
        assert_eq!(&report["result"], expect, "{ran}");
    }
    dir.assert_nothing_left();
}

#[test]
fn typed_arguments_give_one_result() {
    let args = json!({"name": "world", "n": 3, "loud": true});
    check(
        |modbox| modbox.json_args(&args),
        &json!({"changed": false, "failed": false, "greeting": "hello world!", "n": 3}),
    );
}

#[test]
fn arguments_as_pairs_give_one_result() {
    let args = ["name=world", "n=3"];
    check(|modbox| modbox.args(args), &json!({"changed": false, "failed": false, "greeting": "hello world", "n": 3}));
}

#[test]
fn check_mode_reaches_every_kind() {
    let args = json!({"name": "world", "n": 3, "loud": false});
    let expect = json!({"changed": false, "failed": false, "greeting": "hello world", "n": 3, "check": true});
    check(|modbox| modbox.arg("--check").json_args(&args), &expect);
}

#[test]
fn awkward_values_arrive_as_they_are() {
    let values = [
        "",
        "  two  words ",
        r#"it's "quoted""#,
        r"back\slash \n \\ \u0041 ${HOME} $(id) `id` %s",
        "line\none\n\ttab\n",
        "größe ☃ 𝒳 日本",
        r#"", "name": "other"#,
        "-n; exit 3 #",
    ];
    for value in values {
        let args = json!({"name": value, "n": 0, "loud": true});
        let expect = json!({"changed": false, "failed": false, "greeting": format!("hello {value}!"), "n": 0});
        check(|modbox| modbox.json_args(&args), &expect);
    }
}

#[test]
fn every_kind_runs_confined() {
    let dir = TestDir::new();
    for (kind, module) in modules() {
        let run = Modbox::run_module(&dir, &module).report().args(["name=world", "n=3"]);
        let ran = run.args(["--interpreter", "python=/usr/bin/python3"]).run();
        let report = ran.exits_with(0).json();
        assert_eq!(report["confinement"]["level"], if is_wasm(kind) { 2 } else { 3 }, "{report:#}");
        assert!(report["result"].get("greeting").is_some(), "{report:#}");
    }
}
