//! Compares the template engine with ansible-core's `TemplateEngine`, by generated templates, expressions and conditions: their
//! values, and which texts are templates at all.
//!
//! `oracle/templates/compare.py` and `syntax.py` list what may differ, with the reasons.

use std::process::Command;

use crate::support::{TestDir, example_program, fixture, oracle, sample};

/// Number of generated cases: as many as take half a minute, and of all.
const CASES: (usize, usize) = (300, 50_000);

/// The same, of cases about the language, which take less time.
const CASES_OF_SYNTAX: (usize, usize) = (2_000, 20_000);

#[test]
fn templates_are_evaluated_as_ansible_core_does() {
    compare("oracle/templates/compare.py", sample::cases(CASES.0, CASES.1));
}

#[test]
fn templates_are_read_as_jinja_reads_them() {
    compare("oracle/templates/syntax.py", sample::cases(CASES_OF_SYNTAX.0, CASES_OF_SYNTAX.1));
}

#[expect(clippy::print_stdout, reason = "how many were compared, and with which seed, is the result")]
fn compare(script: &str, cases: usize) {
    let seed = sample::seed();
    let dir = TestDir::new();
    let output = Command::new(oracle::python())
        .args(["-W", "ignore"])
        .arg(fixture(script))
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
