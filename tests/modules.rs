//! The example modules do what ansible-core's modules of the same names do.
//!
//! `modules_oracle.py` has the scenarios: each runs on both sides, in check mode, for real, and again. Here modbox
//! runs the components as a kernel starts it for Ansible, and a policy file grants the folder of the scenarios.

use std::fs;
use std::time::Duration;

use crate::support::{Modbox, TestDir, fixture, module, oracle};

/// Hundreds of Python processes on two busy cores.
const COMPARISON: Duration = Duration::from_secs(300);

/// Compares one module in all its scenarios.
#[track_caller]
fn check(name: &str, scenarios: usize) {
    let dir = TestDir::new();
    let (modules, work) = (dir.mkdir("modules"), dir.mkdir("work"));
    fs::copy(module(name), modules.join(format!("{name}.wasm"))).unwrap();
    dir.write("home/.config/modbox/policy.yaml", format!("allow:\n  write: [{}]\n", work.display()));
    let python = oracle::python();
    let ran = Modbox::of(&python, &dir)
        .arg(fixture("modules_oracle.py"))
        .args([python.parent().unwrap(), &modules])
        .args(["--suffix", ".wasm", "--runner", env!("CARGO_BIN_EXE_modbox"), "--only", name])
        .arg("--work")
        .arg(&work)
        .patience(COMPARISON)
        .run()
        .exits_with(0);
    assert_eq!(ran.stdout_text(), format!("{scenarios} scenarios, 0 different\n"), "{ran}");
    dir.assert_nothing_left();
}

#[test]
fn ping_does_what_ansibles_does() {
    check("ping", 3);
}

#[test]
fn stat_does_what_ansibles_does() {
    check("stat", 12);
}

#[test]
fn copy_does_what_ansibles_does() {
    check("copy", 12);
}

#[test]
fn lineinfile_does_what_ansibles_does() {
    check("lineinfile", 82);
}
