//! Compares the tables of path uses and of what modules manage with the documentation of ansible-core's modules: each module, option, condition and
//! choice of the table exists, and each path option of a module is in the table.

use std::path::Path;
use std::process::Command;

use crate::support::{fixture, oracle};

/// Fewer modules than ansible-core has.
const SOME: usize = 60;

/// Fewer options than the other table has of its modules.
const SOME_MANAGED: usize = 30;

#[track_caller]
fn check(script: &str, table: &str, at_least: usize) {
    let output = Command::new(oracle::python())
        .args(["-W", "ignore"])
        .arg(fixture(script))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(table))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python starts");
    let (mistakes, rest) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && mistakes.is_empty(), "{mistakes}{rest}");
    let compared = rest.lines().find_map(|line| line.strip_prefix("compared ")?.parse::<usize>().ok());
    assert!(compared.is_some_and(|compared| compared > at_least), "{rest}");
}

#[test]
fn the_table_of_path_uses_is_about_options_that_exist() {
    check("oracle/path_uses.py", "run/src/modules/path_uses/table.yaml", SOME);
}

#[test]
fn the_table_of_what_modules_manage_is_about_options_that_exist() {
    check("oracle/managed_options.py", "run/src/modules/managed/table.txt", SOME_MANAGED);
}
