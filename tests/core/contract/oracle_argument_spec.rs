//! Compares `modbox validate --jsonl` with ansible-core's own validator: the specs of all ansible-core modules with the
//! arguments of their examples and mutations of those, and generated specs with generated arguments.
//!
//! `oracle/argument_spec/compare.py` lists what is excluded from the comparison.

use std::process::Command;

use crate::support::{TestDir, fixture, oracle, sample};

/// Number of generated pairs: as many as take a few seconds, and of all.
const PAIRS: (usize, usize) = (2500, 60_000);

#[test]
#[expect(clippy::print_stdout, reason = "how many were compared, and with which seed, is the result")]
fn arguments_are_validated_as_ansible_core_does() {
    let (pairs, seed) = (sample::cases(PAIRS.0, PAIRS.1), sample::seed());
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
