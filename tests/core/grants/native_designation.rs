//! Naming a path grants it for native modules, too: by the documentation in a module, by that in a file beside it, or
//! by the operator's switch.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, missing};

/// A script that copies `src` to `dest`.
const COPY: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json
import sys

args = json.load(open(sys.argv[1]))
try:
    text = open(args["src"]).read()
    if "dest" in args:
        open(args["dest"], "w").write(text)
    print(json.dumps({"changed": "dest" in args, "text": text}))
except OSError as error:
    print(json.dumps({"failed": True, "msg": str(error)}))
"#;

const YAML: &str = "options:\n  src: {type: path}\n  dest: {type: path, access: write}\n";

fn prepared(module: &str) -> TestDir {
    let dir = TestDir::new();
    dir.write("module.py", module);
    dir.write("data/src", "text");
    dir
}

#[track_caller]
fn copy(dir: &TestDir, switches: &[&str]) -> Value {
    copy_to(dir, "data/dest", switches)
}

#[track_caller]
fn copy_to(dir: &TestDir, dest: &str, switches: &[&str]) -> Value {
    let args = ["src=data/src".to_owned(), format!("dest={dest}")];
    let run = Modbox::run_module(dir, dir.join("module.py")).args(args).args(switches);
    let report = run.report().run().json();
    dir.assert_nothing_left();
    report
}

#[track_caller]
fn assert_copied(dir: &TestDir, report: &Value) {
    assert_eq!((&report["status"], &report["confinement"]["level"]), (&json!("changed"), &json!(3)), "{report:#}");
    assert_eq!(fs::read(dir.join("data/dest")).unwrap(), b"text");
    let grants: Vec<String> = report["grants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", it["capability"], it["source"]))
        .collect();
    assert_eq!(grants, [r#""read" "argument src""#, r#""write" "argument dest""#]);
}

#[test]
fn documentation_in_the_module_designates() {
    let dir = prepared(&format!("{COPY}\nDOCUMENTATION = r'''\n{YAML}'''\n"));
    assert_copied(&dir, &copy(&dir, &[]));
}

#[test]
fn documentation_beside_the_module_designates() {
    let dir = prepared(COPY);
    dir.write("module.yml", format!("DOCUMENTATION:\n  {}", YAML.trim_end().replace('\n', "\n  ")));
    assert_copied(&dir, &copy(&dir, &[]));
}

#[test]
fn a_fragment_of_documentation_designates() {
    let collection = "collections/ansible_collections/n/c/plugins";
    let dir = prepared("");
    let names = "extends_documentation_fragment: [n.c.shared.files, n.c.nowhere]\noptions:\n  src: {required: true}\n";
    let module =
        dir.write(&format!("{collection}/modules/module.py"), format!("{COPY}\nDOCUMENTATION = r'''\n{names}'''\n"));
    dir.write(
        &format!("{collection}/doc_fragments/shared.py"),
        "class ModuleDocFragment(object):\n    FILES = r'''\noptions:\n  src: {type: path}\n  dest: {type: path, access: write}\n'''\n",
    );
    let run = Modbox::run_module(&dir, module).args(["src=data/src", "dest=data/dest"]).report().run();
    assert_copied(&dir, &run.json());
}

#[test]
fn the_operators_word_designates() {
    let dir = prepared(COPY);
    let refused = copy(&dir, &[]);
    assert_eq!(refused["result"]["failed"], true, "{refused:#}");
    assert_copied(&dir, &copy(&dir, &["--designate", "src:read", "--designate", "dest:write"]));
}

#[test]
fn a_path_is_granted_for_reading_by_default() {
    let dir = prepared(&format!("{COPY}\nDOCUMENTATION = '''\n{}'''\n", YAML.replace(", access: write", "")));
    let refused = copy(&dir, &[]);
    assert_eq!(refused["result"]["failed"], true, "{refused:#}");
    assert!(missing(&refused).any(|missing| missing["allow"] == "--designate dest:write"), "{refused:#}");
    assert!(!dir.join("data/dest").exists());
    assert_copied(&dir, &copy(&dir, &["--designate", "dest:write"]));
}

#[test]
fn operators_turn_it_down_for_native_modules_too() {
    let dir = prepared(&format!("{COPY}\nDOCUMENTATION = '''\n{YAML}'''\n"));
    for switches in [&["--designated", "none"][..], &["--designated", "read"]] {
        let report = copy(&dir, switches);
        assert_eq!(report["status"], "denied", "{report:#}");
        assert!(!dir.join("data/dest").exists());
    }
    let dest = dir.join("data/dest").display().to_string();
    let report = copy_to(&dir, &dest, &["--designated", "read", "--allow-write", "data"]);
    assert_eq!(report["status"], "changed", "{report:#}");
}

#[test]
fn jobs_of_a_batch_are_confined_and_designate_alike() {
    let dir = prepared(&format!("{COPY}\nDOCUMENTATION = '''\n{YAML}'''\n"));
    let (module, at) = (dir.join("module.py"), |name: &str| dir.join(name));
    let jobs = [
        json!({"id": 1, "module": module, "args": {"src": at("data/src"), "dest": at("data/one")}}),
        json!({"id": 2, "module": module, "args": {"src": at("data/src")}}),
        json!({"id": 3, "module": module, "args": {"src": "/etc/shadow"}, "policy": {"designated": "none", "allow": {"read": [at("data")]}}}),
    ];
    let lines: String = jobs.iter().map(|job| format!("{job}\n")).collect();
    let ran = Modbox::new(&dir).args(["batch", "--ordered"]).stdin(lines).run();
    let reports: Vec<Value> = ran.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let statuses: Vec<&str> = reports.iter().map(|report| report["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["changed", "ok", "denied"], "{ran}");
    assert_eq!(reports[0]["confinement"]["level"], 3, "{ran}");
    assert_eq!(fs::read(dir.join("data/one")).unwrap(), b"text");
    dir.assert_nothing_left();
}
