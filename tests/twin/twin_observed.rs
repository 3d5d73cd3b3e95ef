//! The twin tests of observed runs and of previews: random tasks on random small trees, plainly and in the other way, have the same
//! result and leave the same tree.
//!
//! `oracle/twin_modules/pairs.py` has the sides: modules as ansible-core sends them, by Python and by `modbox-python` that observes
//! them; and modules of each kind, run plainly, and previewed, saved and applied.

use crate::python::oracle_python_places::INSTALLED;
use crate::support::TestDir;
use crate::twin::twin_modules::components;
use crate::twin::twin_runs::TwinRun;

/// Number of random cases of an ordinary run and of a whole one. Each is one or more processes.
const OBSERVED: (usize, usize) = (12, 10_000);
const PREVIEWED: (usize, usize) = (8, 10_000);

/// The twin test of tasks.
const SCRIPT: &str = "oracle/twin_modules/run.py";

#[test]
fn observing_changes_nothing() {
    TwinRun {
        script: SCRIPT,
        python: &INSTALLED.python,
        cache: &INSTALLED.dir,
        cases: OBSERVED,
        user: None,
        all_rows: true,
    }
    .of_tasks("observed", None);
}

#[test]
fn an_applied_preview_leaves_what_a_plain_run_leaves() {
    let dir = TestDir::new();
    let library = components(&dir);
    TwinRun {
        script: SCRIPT,
        python: &INSTALLED.python,
        cache: &INSTALLED.dir,
        cases: PREVIEWED,
        user: None,
        all_rows: true,
    }
    .of_tasks("previews", Some(&library));
}
