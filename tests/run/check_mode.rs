//! A run in check mode that would change something says what a real run would be refused.

use std::fs;

use serde_json::Value;

use crate::core::native::native_place::{Place, USER};
use crate::support::{Modbox, TestDir, module};

/// A native module that changes the file at `path`, and reports a change in check mode.
const MODULE: &str = r#"#!/usr/bin/python3
# WANT_JSON
DOCUMENTATION = """
module: module
options:
  path: {type: path}
"""
import json, sys
args = json.load(open(sys.argv[1]))
if not args["_ansible_check_mode"]:
    open(args["path"], "w").write("new")
print(json.dumps({"changed": True}))
"#;

const START: &str = "modbox: check mode wrote nothing, and a real run would be refused: ";

/// Returns the only warning of a change.
#[track_caller]
fn warning(report: &Value) -> Option<String> {
    assert_eq!(report["status"], "changed", "{report:#}");
    let warnings = report["result"]["warnings"].as_array()?;
    assert_eq!(warnings.len(), 1, "{report:#}");
    Some(warnings[0].as_str().unwrap().strip_prefix(START).unwrap_or_else(|| panic!("{report:#}")).to_owned())
}

#[test]
fn a_file_of_another_user_is_named() {
    for place in Place::all() {
        let module = module("lineinfile");
        fs::copy(module, place.at("lineinfile")).unwrap();
        fs::write(place.at("theirs/file"), "text\n").unwrap();
        let path = format!("path={}", place.path("theirs/file"));
        let run = |words: &[&str]| -> Value {
            let output = place.command("lineinfile", words).output().unwrap();
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
        };
        let said = warning(&run(&[&path, "line=new", "--check"]));
        if place.user == Some(USER) {
            assert!(said.as_ref().is_some_and(|said| said.contains("this user can neither write it")), "{said:?}");
            assert_eq!(run(&[&path, "line=new"])["status"], "failed");
            // Without a change, a real run would be refused nothing.
            assert_eq!(run(&[&path, "line=text", "--check"])["result"]["warnings"], Value::Null);
        } else {
            assert_eq!(said, None);
            assert_eq!(warning(&run(&[&path, "line=new"])), None);
        }
    }
}

#[test]
fn a_path_that_nothing_grants_is_named() {
    let dir = TestDir::new();
    dir.write("module.py", MODULE);
    let path = "path=/no-such-directory/file";
    let guest = ["line=new", "create=yes", path, "--check"];
    let native = [path, "--designate", "path:write", "--check"];
    for (module, args) in [(module("lineinfile"), &guest), (dir.join("module.py"), &native)] {
        let report = Modbox::run_module(&dir, module).args(args).report().run().exits_with(0).json();
        let said = warning(&report).unwrap();
        assert!(
            said.starts_with("`path` names `/no-such-directory/file`, which grants nothing: its directory"),
            "{said}"
        );
    }
    let args = ["--designate", "path:write", "--check", "path=file"];
    let report = Modbox::run_module(&dir, dir.join("module.py")).args(args).report().run().exits_with(0).json();
    assert_eq!(warning(&report), None);
}
