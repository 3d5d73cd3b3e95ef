//! Changes of a guest, or of a command that it runs, that do not reach the machine: the run fails.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::core::native::native_place::{Place, USER};
use crate::support::{Modbox, TestDir, copy_executable, guest, module};

#[track_caller]
fn assert_lost(report: &Value, path: &str, why: &str) {
    assert_eq!((&report["status"], &report["result"]["failed"]), (&json!("failed"), &json!(true)), "{report:#}");
    assert_eq!((&report["lost"][0]["path"], &report["result"]["changed"]), (&json!(path), &json!(false)), "{report:#}");
    assert!(report["result"]["msg"].as_str().unwrap().contains(why), "no `{why}` in {report:#}");
}

#[test]
fn a_file_in_the_guests_own_tmp_is_named_with_a_warning() {
    let dir = TestDir::new();
    let report = Modbox::run_module(&dir, module("tempfile")).report().run().exits_with(0).json();
    let path = report["result"]["path"].as_str().unwrap();
    let warning = report["result"]["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with(&format!("modbox: `{path}` was made in a `/tmp` of the module's own")), "{report:#}");
    dir.assert_nothing_left();
}

#[test]
fn a_path_whose_directory_is_missing_is_not_made_in_the_guests_own_tmp() {
    let dir = TestDir::new();
    let first = format!("/tmp/missing-{}", dir.path().file_name().unwrap().to_str().unwrap());
    let path = format!("{first}/sub/made");
    let make = json!({"path": path, "state": "directory"});
    let report = Modbox::run_module(&dir, module("file")).json_args(&make).report().run().exits_with(1).json();
    let note = format!("`path` names `{path}`, which grants nothing: its directory does not exist; make it first");
    assert_eq!(report["notes"], json!([note]), "{report:#}");
    assert_eq!(report["denials"][0]["subject"], json!(first), "{report:#}");
    assert!(!Path::new(&first).exists());
    let job = json!({"module": module("file"), "args": make});
    let batch = Modbox::new(&dir).arg("batch").stdin(format!("{job}\n{job}\n")).run();
    assert_eq!(batch.stdout_text().lines().count(), 2, "{batch}");
    for line in batch.stdout_text().lines() {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["status"], "failed", "{line}");
    }
    // What is missing can be removed, and what is made beside it is the guest's own.
    let remove = json!({"path": path, "state": "absent"});
    let report = Modbox::run_module(&dir, module("file")).json_args(&remove).report().run().exits_with(0).json();
    assert_eq!((&report["status"], &report["lost"]), (&json!("ok"), &Value::Null), "{report:#}");
    // With the directory, the path is granted.
    fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
    let report = Modbox::run_module(&dir, module("file")).json_args(&make).report().run().json();
    let is_made = Path::new(&path).is_dir();
    fs::remove_dir_all(first).unwrap();
    assert!(is_made && report["status"] == "changed", "{report:#}");
    dir.assert_nothing_left();
}

#[test]
fn what_a_command_has_lost_fails_the_run() {
    let dir = TestDir::new();
    let name = dir.mkdir("data").join("name").display().to_string();
    let command = json!({"argv": ["sh", "-c", format!("ln -s nowhere '{name}'; echo done")]});
    let switches = ["--allow-run", "sh -c *", "--allow-write", &name];
    let args = json!({"commands": [command]});
    let ran = Modbox::run_module(&dir, guest("command")).args(switches).json_args(&args).report().run().exits_with(1);
    assert_lost(&ran.json(), &name, "has made a link of it");
    // The guest learns of it, too.
    let stdout = ran.json()["result"]["module_stdout"].as_str().unwrap().to_owned();
    assert!(stdout.contains("failed") && stdout.contains("has made a link of it"), "{stdout}");
    assert!(Path::new(&name).symlink_metadata().is_err());
    dir.assert_nothing_left();
}

#[test]
fn a_command_can_read_a_file_that_the_user_cannot_write() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Some(USER));
    fs::write(place.at("theirs/file"), "old\n").unwrap();
    copy_executable(&guest("command"), &place.at("guest"));
    let path = place.path("theirs/file");
    let commands = json!([
        {"argv": ["cat", path]}, {"argv": ["sh", "-c", format!("echo new > '{path}'")]}, {"argv": ["rm", "-f", path]}
    ]);
    let args = json!({"commands": commands}).to_string();
    let rules = ["cat *", "sh -c *", "rm *"].into_iter().flat_map(|rule| ["--allow-run", rule]);
    let switches: Vec<&str> = rules.chain(["--allow-write", &path, "--args", &args]).collect();
    let output = place.command("guest", &switches).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let seen = &report["result"]["seen"];
    assert_eq!((&seen[0]["stdout"], &report["lost"]), (&json!("old\n"), &Value::Null), "{report:#}");
    assert!(seen[1]["stderr"].as_str().unwrap().contains("Read-only file system") && seen[2]["end"] == 1, "{report:#}");
    assert!(report["notes"].to_string().contains("can only be read"), "{report:#}");
    assert_eq!(place.read("theirs/file"), "old\n");
}
