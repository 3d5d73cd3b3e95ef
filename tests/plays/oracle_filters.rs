//! Compares the filters, tests and methods of `modbox-jinja` with those of ansible-core, through its template engine.
//!
//! `oracle/filters/cases.py` has the expressions, `oracle/filters/compare.py` the differences that are permitted.

use std::process::Command;

use crate::support::{example_program, fixture, oracle, sample};

/// Number of expressions for each filter and test: the least that meets each rule, and all.
const CASES: (usize, usize) = (16, 2000);

#[test]
#[expect(clippy::print_stdout, reason = "how many were compared, and with which seed, is the result")]
fn filters_do_what_those_of_ansible_core_do() {
    let (cases, seed) = (sample::cases(CASES.0, CASES.1), sample::seed());
    let output = Command::new(oracle::python())
        .args(["-W", "ignore"])
        .arg(fixture("oracle/filters/compare.py"))
        .args(["--seed", &seed.to_string(), "--cases", &cases.to_string()])
        .arg(example_program("evaluate"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(&format!("seed {seed}")) && text.contains(" compared, 0 different, "), "{text}");
}
