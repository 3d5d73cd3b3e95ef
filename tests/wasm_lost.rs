//! Changes of a guest, or of a command that it runs, that do not reach the machine: the run fails.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, guest};

#[track_caller]
fn assert_lost(report: &Value, path: &str, why: &str) {
    assert_eq!((&report["status"], &report["result"]["failed"]), (&json!("failed"), &json!(true)), "{report:#}");
    assert_eq!((&report["lost"][0]["path"], &report["result"]["changed"]), (&json!(path), &json!(false)), "{report:#}");
    assert!(report["result"]["msg"].as_str().unwrap().contains(why), "no `{why}` in {report:#}");
}

#[test]
fn what_a_command_has_lost_fails_the_run() {
    let dir = TestDir::new();
    let name = dir.mkdir("data").join("name").display().to_string();
    let command = json!({"argv": ["sh", "-c", format!("mkdir '{name}'; echo done")]});
    let switches = ["--allow-run", "sh -c *", "--allow-write", &name];
    let args = json!({"commands": [command]});
    let ran = Modbox::run_module(&dir, guest("command")).args(switches).json_args(&args).report().run().exits_with(1);
    assert_lost(&ran.json(), &name, "something else than a file");
    // The guest learns of it, too.
    let stdout = ran.json()["result"]["module_stdout"].as_str().unwrap().to_owned();
    assert!(stdout.contains("failed") && stdout.contains("something else than a file"), "{stdout}");
    assert!(!Path::new(&name).exists());
    dir.assert_nothing_left();
}
