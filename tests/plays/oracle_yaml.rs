//! Compares modbox's YAML with ansible-core's own loader: all YAML files in ansible-core's sources, which have its
//! tests in them, damaged copies of those, hard cases, and generated texts.
//!
//! `oracle/yaml/compare.py` lists what is excluded from the comparison.

use std::process::Command;

use crate::support::{TestDir, example_program, fixture, oracle, sample};

/// Numbers of generated texts and of damaged files: as many as take a few seconds, and of all.
const GENERATED: (usize, usize) = (300, 80_000);
const DAMAGED: (usize, usize) = (150, 40_000);

#[test]
#[expect(clippy::print_stdout, reason = "how many were compared, and with which seed, is the result")]
fn yaml_is_read_as_ansible_core_reads_it() {
    let seed = sample::seed();
    let (generated, damaged) = (sample::cases(GENERATED.0, GENERATED.1), sample::cases(DAMAGED.0, DAMAGED.1));
    let dir = TestDir::new();
    let output = Command::new(oracle::python())
        .args(["-W", "ignore"])
        .arg(fixture("oracle/yaml/compare.py"))
        .args(["--seed", &seed.to_string(), "--generated", &generated.to_string(), "--damaged", &damaged.to_string()])
        .arg("--archive")
        .arg(oracle::sources())
        .arg(example_program("load"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(dir.path())
        .output()
        .expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(&format!("seed {seed}: ")) && text.contains(" compared, 0 different, "), "{text}");
}
