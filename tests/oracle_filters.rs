//! Compares the filters, tests and methods of `modbox-jinja` with those of ansible-core, through its template engine.
//!
//! `oracle/filters/cases.py` has the expressions, `oracle/filters/compare.py` the differences that are permitted.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{fixture, oracle, repository, sample};

/// Number of expressions for each filter and test: the least that is enough, and all.
const CASES: (usize, usize) = (50, 2000);

#[test]
#[expect(clippy::print_stdout, reason = "how many were compared, and with which seed, is the result")]
fn filters_do_what_those_of_ansible_core_do() {
    let (cases, seed) = (sample::cases(CASES.0, CASES.1), sample::seed());
    let output = Command::new(oracle::python())
        .args(["-W", "ignore"])
        .arg(fixture("oracle/filters/compare.py"))
        .args(["--seed", &seed.to_string(), "--cases", &cases.to_string()])
        .arg(program())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(&format!("seed {seed}")) && text.contains(" compared, 0 different, "), "{text}");
}

/// Builds the example that answers questions, and returns its path.
fn program() -> PathBuf {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--locked", "--quiet", "--package", "modbox-jinja", "--example", "evaluate"]);
    let built = cargo.current_dir(repository()).status().expect("cargo starts");
    assert!(built.success(), "the example is built");
    let own = std::env::current_exe().expect("a test knows its path");
    let folder = own.ancestors().nth(2).expect("a test lies in the target directory");
    folder.join("examples/evaluate")
}
