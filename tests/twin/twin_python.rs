//! The twin test of Python: random calls of `os`, `shutil` and `tempfile` on random small trees, natively and in the sandbox.
//!
//! `oracle/twin_python/run.py` says what is run and compared, and prints what differs with its seed, the smallest case and a
//! command. `twin/python.tsv` has the known differences.

use crate::python::oracle_python_places::INSTALLED;
use crate::twin::twin_runs::{TwinRun, rows};

/// Number of random cases of an ordinary run and of a whole one. Each has about five calls.
const CASES: (usize, usize) = (600, 25_000);

/// The most rows of the table.
const MOST_ROWS: usize = 30;

#[test]
fn calls_of_python_do_what_native_ones_do() {
    let (script, python) = ("oracle/twin_python/run.py", &INSTALLED.python);
    let found = TwinRun { script, python, cache: &INSTALLED.dir, cases: CASES, user: None, all_rows: true }.run(&[]);
    // A comparison in which nearly everything fails on both sides would find nothing.
    let (calls, succeeded) = (found.count("calls"), found.count("succeeded"));
    assert!(calls >= 3 * CASES.0 as u64 && succeeded * 3 > calls, "{}", found.text);
}

#[test]
fn the_table_of_pythons_differences_is_short_and_has_pages() {
    let count = rows("python.tsv", 5).len();
    assert!(count <= MOST_ROWS, "{count}");
}
