//! New-style Python modules under confinement: the interpreter gets what it needs, and the module gets only what is
//! granted, for each way to start an interpreter.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::python::python_closure::package;
use crate::support::{Modbox, TestDir, oracle};

/// One of ansible-core's own modules.
fn module(name: &str) -> PathBuf {
    package(&oracle::python()).join("modules").join(name)
}

fn run(dir: &TestDir, interpreter: &Path, module: &str) -> Modbox {
    Modbox::run_module(dir, self::module(module)).arg("--interpreter").arg(interpreter).own_cache(dir).report()
}

#[test]
fn an_interpreter_runs_by_whichever_links_lead_to_it() {
    let dir = TestDir::new();
    let python = oracle::python();
    let environment = python.ancestors().nth(2).unwrap();
    symlink(&python, dir.join("python")).unwrap();
    symlink("/usr/bin/env", dir.join("env")).unwrap();
    symlink(environment, dir.join("environment")).unwrap();
    symlink("environment", dir.join("again")).unwrap();
    for interpreter in [
        python.clone(),
        dir.join("python"),
        dir.join("environment/bin/python"),
        dir.join("again/bin/../bin/python"),
        "again/bin/python".into(),
        "./python".into(),
    ] {
        let report = run(&dir, &interpreter, "ping.py").run().exits_with(0).json();
        assert_eq!(report["result"]["ping"], "pong", "{}", interpreter.display());
        assert_eq!(report["confinement"]["level"], 3, "{report}");
        assert_eq!(report["denials"], json!([]), "{}", interpreter.display());
    }
    // Nor does it matter how the cache is found.
    symlink("home", dir.join("other-home")).unwrap();
    let there = |modbox: Modbox| modbox.env("XDG_CACHE_HOME", dir.join("other-home/.cache"));
    let report = there(run(&dir, &python, "ping.py")).run().exits_with(0).json();
    assert_eq!((&report["result"]["ping"], &report["denials"]), (&json!("pong"), &json!([])));
    // A program that is not an interpreter is refused, also through a link.
    let ran = run(&dir, &dir.join("env"), "ping.py").run().exits_with(3);
    assert!(ran.json()["result"]["msg"].as_str().unwrap().contains("cannot be used"), "{ran}");
    dir.assert_nothing_left();
}

#[test]
fn a_module_sees_its_interpreter_and_not_what_is_beside_it() {
    let dir = TestDir::new();
    let python = oracle::python();
    dir.write("secret", "s");
    let look = |folder: &Path| {
        let text = format!(
            "#!/usr/bin/python\nimport os\nfrom ansible.module_utils.basic import AnsibleModule\nm = \
             AnsibleModule(argument_spec={{}})\ntry:\n    found = sorted(os.listdir({folder:?}))\nexcept OSError:\n    found = \
             None\ntry:\n    open({0:?}, 'w')\n    made = True\nexcept OSError:\n    made = False\nm.exit_json(found=found, made=made)\n",
            folder.join("made")
        );
        let path = dir.write("look.py", text);
        let ran = Modbox::run_module(&dir, path).arg("--interpreter").arg(&python).own_cache(&dir).run();
        ran.exits_with(0).json()
    };
    let own = look(&package(&python));
    assert!(own["found"].as_array().unwrap().contains(&json!("modules")) && own["made"] == false, "{own}");
    // The folder around the cache and the directory of the run is on the way to them: it is entered and not listed. Below `/tmp`,
    // which is the module's own, it has these ways.
    let around = look(dir.path());
    let ways = if dir.path().starts_with("/tmp") { json!(["home", "tmp"]) } else { Value::Null };
    assert_eq!((&around["found"], &around["made"]), (&ways, &json!(false)));
    assert!(!dir.join("made").exists() && !package(&python).join("made").exists());
    dir.assert_nothing_left();
}

#[test]
fn as_a_file_with_arguments_it_has_what_the_policy_grants() {
    let dir = TestDir::new();
    let (from, to) = (dir.write("work/from", "text"), dir.join("work/to"));
    let args = dir.write("args", json!({"src": from, "dest": to, "remote_src": true}).to_string());
    let copy = || Modbox::new(&dir).arg(module("copy.py")).arg(&args).own_cache(&dir).run();
    let policy = |rules: Value| drop(dir.write("home/.config/modbox/policy.yaml", rules.to_string()));
    policy(json!({"designated": "none"}));
    let denied = copy();
    assert_eq!((&denied.json()["failed"], to.exists()), (&json!(true), false), "{denied}");
    policy(json!({"designated": "none", "allow": {"write": [dir.join("work")]}}));
    let result = copy().exits_with(0).json();
    assert_eq!((&result["changed"], &result["dest"]), (&json!(true), &json!(to)));
    assert_eq!(fs::read_to_string(&to).unwrap(), "text");
    assert_eq!(copy().exits_with(0).json()["changed"], false);
    dir.assert_nothing_left();
}

#[test]
fn in_a_batch_it_has_what_was_granted_to_all_and_what_its_arguments_name() {
    let dir = TestDir::new();
    let from = dir.write("read/from", "text");
    let to = dir.mkdir("write").join("to");
    let beside = dir.join("read/beside");
    let job = |id: &str, name: &str, args: Value| json!({"id": id, "module": module(name), "args": args}).to_string();
    let copy = |to: &Path| json!({"src": from, "dest": to, "remote_src": true});
    let jobs = [
        job("ping", "ping.py", json!({"data": "x"})),
        job("stat", "stat.py", json!({"path": from})),
        job("copy", "copy.py", copy(&to)),
        job("denied", "copy.py", copy(&beside)),
    ];
    let batch = Modbox::new(&dir).args(["batch", "--jobs", "2", "--designated", "read", "--allow-write"]);
    let ran = batch.arg(dir.join("write")).own_cache(&dir).stdin(jobs.join("\n")).run().exits_with(1);
    let text = ran.stdout_text();
    let reports: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |id: &str| reports.iter().find(|report| report["id"] == id).unwrap_or_else(|| panic!("{ran}"));
    assert_eq!(of("ping")["result"]["ping"], "x", "{ran}");
    assert_eq!(of("stat")["result"]["stat"]["size"], 4, "{ran}");
    assert_eq!(of("copy")["result"]["changed"], true, "{ran}");
    assert_eq!(of("denied")["status"], "denied", "{ran}");
    let mut started = reports.iter().filter(|report| report["id"] != "denied");
    assert!(started.all(|report| report["confinement"]["level"] == 3), "{ran}");
    assert_eq!((fs::read_to_string(&to).unwrap().as_str(), beside.exists()), ("text", false));
    dir.assert_nothing_left();
}

#[test]
fn an_interpreter_of_the_modules_choosing_is_the_systems_or_granted() {
    let dir = TestDir::new();
    let (canary, secret) = (dir.join("canary"), dir.write("secret", "hidden"));
    let program =
        dir.write("own/python3", format!("#!/bin/sh\ncat '{}' >&2; touch '{}'\n", secret.display(), canary.display()));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = "from ansible.module_utils.basic import AnsibleModule\nAnsibleModule(argument_spec={}).exit_json()\n";
    let module = dir.write("module.py", format!("#!{}\n{text}", program.display()));
    let run = |switches: &[&str]| Modbox::run_module(&dir, &module).own_cache(&dir).args(switches).run().exits_with(3);
    let refused = run(&[]).json();
    let switch = format!("--allow-read {}", program.display());
    assert!(refused["msg"].as_str().unwrap().contains(&switch), "{refused}");
    // An interpreter that is granted or named by the caller is queried, and is confined meanwhile.
    for switches in [["--allow-read", program.to_str().unwrap()], ["--interpreter", program.to_str().unwrap()]] {
        let asked = run(&switches);
        assert!(asked.json()["msg"].as_str().unwrap().contains("cannot be used"), "{asked}");
        assert!(!asked.stdout_text().contains("hidden") && !canary.exists(), "{asked}");
    }
    dir.assert_nothing_left();
}
