//! Compares `modbox validate --jsonl` with ansible-core's own validator: the specs of all ansible-core modules with the
//! arguments of their examples and mutations of those, and generated specs with generated arguments.
//!
//! `MODBOX_SPEC_PAIRS=60000` sets the number of generated pairs, `MODBOX_SPEC_SEED=7` their seed.
//! `oracle/argument_spec/compare.py` lists what is excluded from the comparison.

use std::process::Command;

use crate::support::{TestDir, fixture, oracle};

/// As many as take a few seconds.
const PAIRS: u64 = 5000;

#[test]
#[expect(clippy::print_stdout, reason = "how many were compared, and with which seed, is the result")]
fn arguments_are_validated_as_ansible_core_does() {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")),
        Err(_) => default,
    };
    let (pairs, seed) = (number("MODBOX_SPEC_PAIRS", PAIRS), number("MODBOX_SPEC_SEED", 1));
    let dir = TestDir::new();
    let output = Command::new(oracle::python())
        .args(["-W", "ignore"])
        .arg(fixture("oracle/argument_spec/compare.py"))
        .args(["--seed", &seed.to_string(), "--generated", &pairs.to_string(), "--modules", &(pairs / 2).to_string()])
        .arg(env!("CARGO_BIN_EXE_modbox"))
        .args(["validate", "--jsonl"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(dir.path())
        .output()
        .expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(&format!("seed {seed}")) && text.contains(" compared, 0 different, "), "{text}");
}
