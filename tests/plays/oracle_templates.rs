//! Compares the template engine with ansible-core's `TemplateEngine`, by generated templates, expressions and conditions.
//!
//! `oracle/templates/compare.py` lists what may differ, with the reasons.

use std::process::Command;

use crate::support::{TestDir, example_program, fixture, oracle, sample};

/// Number of generated cases: as many as take half a minute, and of all.
const CASES: (usize, usize) = (300, 50_000);

#[test]
#[expect(clippy::print_stdout, reason = "how many were compared, and with which seed, is the result")]
fn templates_are_evaluated_as_ansible_core_does() {
    let (cases, seed) = (sample::cases(CASES.0, CASES.1), sample::seed());
    let dir = TestDir::new();
    let output = Command::new(oracle::python())
        .args(["-W", "ignore"])
        .arg(fixture("oracle/templates/compare.py"))
        .args(["--seed", &seed.to_string(), "--cases", &cases.to_string()])
        .arg(example_program("template"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HOME", dir.path())
        .current_dir(dir.path())
        .output()
        .expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(&format!("seed {seed}: {cases} compared")), "{text}");
}
