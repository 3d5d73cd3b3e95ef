//! `modbox doctor`: the machine of the tests has all that runs need, and what is broken is named with its remedy.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Modbox, RunOutput, TestDir};

/// Time in which all checks end, on a busy machine, too.
const QUICK: Duration = Duration::from_secs(60);

fn doctor(dir: &TestDir) -> Modbox {
    Modbox::new(dir).own_cache(dir).args(["doctor", "--json"])
}

#[track_caller]
fn checks(ran: &RunOutput, name: &str) -> Vec<Value> {
    let checks = ran.json()["checks"].as_array().unwrap().clone();
    let named: Vec<Value> = checks.into_iter().filter(|check| check["name"] == name).collect();
    assert!(!named.is_empty(), "no check `{name}`: {ran}");
    named
}

/// Asserts the state of the first check of a name, and what it says.
#[track_caller]
fn says(ran: &RunOutput, name: &str, state: &str, parts: &[&str]) {
    let check = checks(ran, name).remove(0);
    assert_eq!(check["state"], state, "{check}");
    for part in parts {
        let text = format!("{} {}", check["found"], check["remedy"]);
        assert!(text.contains(part), "`{part}`: {check}");
    }
}

#[test]
fn the_machine_of_the_tests_has_what_runs_need() {
    let dir = TestDir::new();
    let ran = doctor(&dir).run().exits_with(0).within(QUICK);
    assert_eq!(ran.json()["ok"], true);
    says(&ran, "kernel", "ok", &["Linux"]);
    says(&ran, "Landlock", "ok", &["version"]);
    says(&ran, "confinement of wasm modules", "ok", &["level 2"]);
    says(&ran, "cache of compiled modules", "ok", &["is made when it is needed"]);
    says(&ran, "Python in the sandbox", "note", &["not installed", "modbox python install"]);
    // The level is that of a run.
    let module = dir.write_executable("module.sh", "#!/bin/sh\n# WANT_JSON\necho '{}'\n");
    let report = Modbox::run_module(&dir, &module).report().run().exits_with(0).json();
    let level = format!("level {}", report["confinement"]["level"]);
    let check = checks(&ran, "confinement of native modules").remove(0);
    assert!(check["found"].as_str().unwrap().starts_with(&level), "{check}");
    let plain = Modbox::new(&dir).arg("doctor").run().exits_with(0);
    let is_line = |line: &str| ["ok       ", "note     ", "missing  "].iter().any(|state| line.starts_with(state));
    assert!(plain.stdout_text().lines().all(is_line), "{plain}");
    dir.assert_nothing_left();
}

#[test]
fn a_policy_file_that_runs_refuse_is_missing() {
    let dir = TestDir::new();
    let file = dir.write("home/.config/modbox/policy.yaml", "allow: {raed: []}\n");
    let of_user = |ran: &RunOutput| {
        let path = file.display().to_string();
        let files = checks(ran, "policy file");
        files.into_iter().find(|check| check["found"].as_str().unwrap().contains(&path)).unwrap()
    };
    let refused = doctor(&dir).run().exits_with(1);
    let check = of_user(&refused);
    assert!(check["state"] == "missing" && check["found"].as_str().unwrap().contains("unknown key `raed`"), "{check}");
    assert!(check["remedy"].as_str().unwrap().contains("modbox policy check "), "{check}");
    fs::write(&file, "designated: read\n").unwrap();
    assert_eq!(of_user(&doctor(&dir).run().exits_with(0))["state"], "ok");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let check = of_user(&doctor(&dir).run().exits_with(1));
    assert!(check["found"].as_str().unwrap().contains("another user can change"), "{check}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    // A level that no guest reaches.
    fs::write(&file, "min-confinement: 3\n").unwrap();
    let demanding = doctor(&dir).run().exits_with(1);
    says(&demanding, "confinement of wasm modules", "missing", &["level 2", "runs need level 3"]);
}

#[test]
fn folders_that_cannot_be_used_are_named() {
    let dir = TestDir::new();
    let nowhere = doctor(&dir).env("TMPDIR", dir.join("nowhere")).run().exits_with(1);
    says(&nowhere, "temporary files", "missing", &["nowhere", "TMPDIR"]);
    says(&nowhere, "confinement of native modules", "missing", &["did not run", "nowhere"]);
    says(&nowhere, "user namespaces", "note", &["not tried"]);
    dir.write("home/.cache/modbox/compiled", "not a folder");
    let broken = doctor(&dir).run().exits_with(0);
    says(&broken, "cache of compiled modules", "note", &["is not a folder", "rm "]);
    dir.write("file", "");
    let homeless = doctor(&dir).env("XDG_CACHE_HOME", dir.join("file")).run().exits_with(0);
    says(&homeless, "cache of Python modules", "note", &["cannot be made", "XDG_CACHE_HOME"]);
}

#[test]
fn no_program_of_the_working_directory_starts() {
    let dir = TestDir::new();
    let started = dir.join("started");
    let script = format!("#!/bin/sh\ntouch '{}'\n", started.display());
    for name in ["cargo", "rustc", "rustup", "go", "zig", "node", "python3", "ansible", "sh"] {
        dir.write_executable(name, &script);
    }
    dir.write("rust-toolchain.toml", "[toolchain]\npath = \".\"\n");
    doctor(&dir).env("PATH", ".::/usr/bin:/bin").run().exits_with(0);
    assert!(!started.exists());
}

#[test]
fn a_compiler_that_hangs_is_left_behind() {
    let dir = TestDir::new();
    dir.write_executable("bin/cargo", "#!/bin/sh\n");
    dir.write_executable("bin/rustc", "#!/bin/sh\ntrap '' TERM\nsleep 600\n");
    let path = format!("{}:/usr/bin:/bin", dir.join("bin").display());
    let ran = doctor(&dir).env("PATH", path).run().exits_with(0).within(QUICK);
    says(&ran, "tools for modules in Rust", "note", &["no answer within 5 s"]);
}
