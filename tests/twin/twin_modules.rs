//! The twin test of tasks: random tasks of the modules of files, on random small trees, by ansible-core, by components, and
//! by ansible-core's modules natively confined.
//!
//! `oracle/twin_modules/run.py` says what is run and compared, and prints what differs with its seed, the smallest case and a
//! command. `twin/modules.tsv` has the known differences. The list of components that may stand for Ansible's modules in plays is
//! held to that table here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::support::{TestDir, fixture, module, oracle, repository};
use crate::twin::twin_runs::{TwinRun, rows};

/// Number of random cases of an ordinary run and of a whole one. Each is run with two forms of grants.
const CASES: (usize, usize) = (45, 50_000);

/// The same for native modules, which take longer.
const NATIVE: (usize, usize) = (20, 50_000);

/// The same for another user.
const OTHER_CASES: (usize, usize) = (24, 50_000);

/// The number of that user, which has no name.
const OTHER_USER: u32 = 64_990;

/// The most rows of a table for one module.
const MOST_ROWS: usize = 3;

/// The tables of all pairs.
const TABLES: [&str; 5] =
    ["modules.tsv", "sandbox_modules.tsv", "native_modules.tsv", "observed_modules.tsv", "previews.tsv"];

/// Columns of such a table.
const COLUMNS: usize = 7;

/// Returns the modules that the generator makes tasks of.
pub(crate) fn generated() -> BTreeSet<String> {
    let generator = fs::read_to_string(fixture("oracle/twin_modules/generate.py")).unwrap();
    let names = generator.lines().filter_map(|line| line.strip_prefix("def of_")?.split('(').next());
    names.map(str::to_owned).collect()
}

/// Makes a folder of the components of these modules.
pub(crate) fn components(dir: &TestDir) -> PathBuf {
    let library = dir.mkdir("library");
    for name in generated() {
        fs::copy(module(&name), library.join(format!("{name}.wasm"))).unwrap();
    }
    library
}

/// Returns the modules with a known fault. Faults of the host, in rows for all modules, are those of every module in a sandbox.
pub(crate) fn faulty(table: &str) -> BTreeSet<String> {
    let faults = rows(table, COLUMNS).into_iter().filter(|row| row[0] == "fault" && row[1] != "*");
    faults.map(|mut row| row.swap_remove(1)).collect()
}

#[test]
fn tasks_do_what_ansibles_do() {
    components_beside_ansible(CASES, None);
}

/// Root may do what others may not, so that some faults are seen only without it.
#[test]
fn tasks_of_another_user_do_what_ansibles_do() {
    // Only root can start both sides as another user.
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        components_beside_ansible(OTHER_CASES, Some(OTHER_USER));
    }
}

fn components_beside_ansible(cases: (usize, usize), user: Option<u32>) {
    let dir = TestDir::new();
    let library = components(&dir);
    let (script, python) = ("oracle/twin_modules/run.py", &oracle::python());
    TwinRun { script, python, cache: &dir, cases, user, all_rows: true }.of_tasks("components", Some(&library));
}

#[test]
fn native_tasks_do_what_ansibles_do() {
    let (dir, python) = (TestDir::new(), &oracle::python());
    TwinRun { script: "oracle/twin_modules/run.py", python, cache: &dir, cases: NATIVE, user: None, all_rows: true }
        .of_tasks("native", None);
}

#[test]
fn components_that_stand_for_ansibles_modules_are_in_the_twin_and_have_no_fault_of_their_own() {
    let list = fs::read_to_string(repository().join("runner/src/cli/play/task_modules/proven.tsv")).unwrap();
    let names = list.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').next().unwrap());
    let proven: BTreeSet<String> = names.map(str::to_owned).collect();
    assert!(!proven.is_empty() && proven.is_subset(&generated()), "{proven:?}");
    let faulty = faulty("modules.tsv");
    assert!(proven.is_disjoint(&faulty), "{proven:?} and {faulty:?}");
}

#[test]
fn the_tables_of_differences_are_short() {
    for table in TABLES {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for mut row in rows(table, COLUMNS).into_iter().filter(|row| row[1] != "*") {
            *counts.entry(row.swap_remove(1)).or_default() += 1;
        }
        assert!(counts.values().all(|count| *count <= MOST_ROWS), "{table}: {counts:?}");
    }
}
