//! A wheel of the program under test, made by `runner/dist/wheel`, in an environment that pip fills: the program runs, finds its
//! modules, and is an interpreter of Python for Ansible.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{TestDir, modbox, module, oracle, repository};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs a command in a directory of the test, and returns what it prints.
#[track_caller]
fn told(command: &mut Command, dir: &TestDir) -> String {
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", dir.mkdir("home"));
    let ran = command.current_dir(dir.path()).stdin(Stdio::null()).output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{command:?}: {out}{errors}");
    out.into_owned()
}

/// Makes a wheel in a folder, and returns its path.
fn wheel(dir: &TestDir, out: &str, arch: &str) -> std::path::PathBuf {
    let out = dir.mkdir(out);
    let mut script = Command::new(repository().join("runner/dist/wheel"));
    script.args(["--arch", arch, "--version", VERSION, "--level", "0", "--out"]).arg(&out);
    told(script.arg("--binary").arg(modbox()).arg("--modules").arg(dir.join("modules")), dir);
    let mut made = std::fs::read_dir(out).unwrap();
    made.next().unwrap().unwrap().path()
}

#[test]
fn pip_installs_the_program_with_its_modules() {
    let dir = TestDir::new();
    std::fs::copy(module("ping"), dir.mkdir("modules").join("ping.wasm")).unwrap();
    let wheels = ["first", "second"].map(|out| wheel(&dir, out, std::env::consts::ARCH));
    let [first, second] = wheels.each_ref().map(|wheel| std::fs::read(wheel).unwrap());
    assert!(first == second, "two wheels of the same files differ");

    let python = oracle::python();
    let (venv, bin) = (dir.join("venv"), dir.join("venv/bin"));
    told(Command::new(&python).args(["-m", "venv", "--without-pip"]).arg(&venv), &dir);
    // pip refuses a wheel whose names, sums or tags are wrong.
    let pip = |words: &[&str]| {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--disable-pip-version-check", "--python"]).arg(bin.join("python")).args(words);
        pip
    };
    told(pip(&["install", "--quiet", "--no-index", "--no-deps"]).arg(&wheels[0]), &dir);
    let pong: Value =
        serde_json::from_str(&told(Command::new(bin.join("modbox")).args(["run", "ping"]), &dir)).unwrap();
    assert_eq!(pong["ping"], "pong");

    let mut ansible = Command::new(python.with_file_name("ansible"));
    ansible.args(["localhost", "-c", "local", "-m", "ansible.builtin.ping", "-e"]);
    let said = told(ansible.arg(format!("ansible_python_interpreter={}", bin.join("modbox-python").display())), &dir);
    assert!(said.starts_with("localhost | SUCCESS") && said.contains("\"ping\": \"pong\""), "{said}");

    told(&mut pip(&["uninstall", "--quiet", "--yes", "modbox"]), &dir);
    assert!(!bin.join("modbox").exists() && !dir.join("venv/share/modbox/library/ping.wasm").exists());
}

#[test]
fn a_wheel_for_another_processor_is_not_installed_here() {
    let dir = TestDir::new();
    std::fs::copy(module("ping"), dir.mkdir("modules").join("ping.wasm")).unwrap();
    let other = if std::env::consts::ARCH == "x86_64" { "aarch64" } else { "x86_64" };
    let wheel = wheel(&dir, "other", other);
    let python = oracle::python();
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--no-deps", "--target"]);
    let ran = pip.arg(dir.join("target")).arg(&wheel).output().unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && errors.contains("is not a supported wheel on this platform"), "{errors}");
}
