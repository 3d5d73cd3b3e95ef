//! Which interpreter runs a module where interpreters are scripts, and how often it is asked what it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::json;

use super::python_closure::package;
use super::python_runs::module;
use crate::support::{Modbox, TestDir, oracle};

/// A shim as pyenv makes them, of a pyenv with one version, which is the system's python.
fn shim(dir: &TestDir) -> PathBuf {
    let root = dir.mkdir("pyenv");
    let real = ["/usr/bin/python3", "/usr/local/bin/python3"].map(PathBuf::from).into_iter().find(|path| path.exists());
    dir.mkdir("pyenv/versions/3.999.1/bin");
    std::os::unix::fs::symlink(real.unwrap(), root.join("versions/3.999.1/bin/python3")).unwrap();
    let root = root.display();
    dir.write("pyenv/version", "3.999\n");
    let shim = dir.write(
        "pyenv/shims/python3",
        format!("#!/bin/sh\nexport PYENV_ROOT=\"{root}\"\nexec \"{root}/libexec/pyenv\" exec \"$program\" \"$@\"\n"),
    );
    fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).unwrap();
    shim
}

#[test]
fn a_shim_stands_for_the_interpreter_behind_it() {
    let dir = TestDir::new();
    let shim = shim(&dir);
    let utils = package(&oracle::python()).join("module_utils");
    let path = dir.write("m.py", module("module.exit_json(python=sys.executable)"));
    let confined = || Modbox::run_module(&dir, &path).own_cache(&dir).arg("--module-utils").arg(&utils);
    let ran = confined().arg("--interpreter").arg(&shim).run().exits_with(0);
    let python = ran.json()["python"].as_str().unwrap().to_owned();
    assert!(python.ends_with("pyenv/versions/3.999.1/bin/python3"), "{python}");
    // Found as the first of PATH, too; and where it leads nowhere, it is said what would be better.
    let folders = format!("{}:/usr/bin:/bin", shim.parent().unwrap().display());
    let named =
        dir.write("named.py", format!("#!{}\n{}", shim.display(), module("module.exit_json(python=sys.executable)")));
    let run = Modbox::run_module(&dir, &named).own_cache(&dir).env("PATH", &folders).arg("--module-utils").arg(&utils);
    assert_eq!(run.run().exits_with(0).json()["python"], python.as_str());
    let ran = confined().env("PYENV_VERSION", "2.0").arg("--interpreter").arg(&shim).run().exits_with(3);
    let msg = ran.json()["msg"].as_str().unwrap().to_owned();
    assert!(msg.contains("it is a script: name the interpreter that it starts"), "{msg}");
    dir.assert_nothing_left();
}

/// Makes a script in the place of an interpreter, which writes its name and its first argument to a log before it does anything else.
fn stand_in(dir: &TestDir, name: &str, rest: &str) {
    let log = dir.join("log").display().to_string();
    let script = dir.write(&format!("bin/{name}"), format!("#!/bin/sh\necho \"{name} $1\" >> '{log}'\n{rest}\n"));
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_process_asks_each_interpreter_once_and_the_next_process_asks_scripts_again() {
    let dir = TestDir::new();
    stand_in(&dir, "python3.13", "exit 3");
    stand_in(&dir, "python3.12", &format!("exec '{}' \"$@\"", oracle::python().display()));
    let utils = package(&oracle::python()).join("module_utils");
    let module = |name: &str| dir.write(name, module("module.exit_json(a=module.params['a'])"));
    let jobs = ["a", "b", "c", "d"]
        .map(|name| format!("{}\n", json!({"id": name, "module": module(name), "args": {"a": name}})));
    let asked = |name: &str| {
        let log = fs::read_to_string(dir.join("log")).unwrap();
        log.lines().filter(|line| *line == format!("{name} -")).count()
    };
    for process in 1..=2 {
        let batch = Modbox::new(&dir).args(["batch", "--allow-all"]).arg("--module-utils").arg(&utils).own_cache(&dir);
        let ran = batch.env("PATH", dir.join("bin")).stdin(jobs.concat()).run().exits_with(0);
        assert_eq!(ran.stdout_text().lines().count(), 4, "{ran}");
        assert_eq!((asked("python3.13"), asked("python3.12")), (process, process), "{ran}");
    }
}
