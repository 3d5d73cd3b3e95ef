//! The twin test of tasks: random tasks of the modules of files, on random small trees, by ansible-core and by modbox.
//!
//! `oracle/twin_modules/run.py` says what is run and compared, and prints what differs with its seed, the smallest case and a
//! command. `twin/modules.tsv` has the known differences. The list of components that may stand for Ansible's modules in plays is
//! held to that table here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Modbox, TestDir, fixture, module, oracle, repository, sample};

/// Time limit of an ordinary run and of a whole one, on two busy cores.
const PATIENCE: (Duration, Duration) = (Duration::from_mins(15), Duration::from_hours(12));

/// Number of random cases of an ordinary run and of a whole one. Each is run with two forms of grants.
const CASES: (usize, usize) = (300, 50_000);

/// The most rows of the table for one module.
const MOST_ROWS: usize = 3;

/// A row of the table.
struct Row {
    is_fault: bool,
    module: String,
}

fn rows() -> Vec<Row> {
    let table = fs::read_to_string(fixture("twin/modules.tsv")).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), 7, "{line}");
        let page = repository().join("runner/docs/src").join(fields[6]);
        assert!(page.exists(), "{line}: there is no page {}", page.display());
        Row { is_fault: fields[0] == "fault", module: fields[1].to_owned() }
    });
    rows.collect()
}

/// Returns the modules that the generator makes tasks of.
fn generated() -> BTreeSet<String> {
    let generator = fs::read_to_string(fixture("oracle/twin_modules/generate.py")).unwrap();
    let names = generator.lines().filter_map(|line| line.strip_prefix("def of_")?.split('(').next());
    names.map(str::to_owned).collect()
}

#[test]
fn tasks_do_what_ansibles_do() {
    let dir = TestDir::new();
    let library = dir.mkdir("library");
    for name in generated() {
        fs::copy(module(&name), library.join(format!("{name}.wasm"))).unwrap();
    }
    let below_tmp = tempfile::Builder::new().prefix("modbox-twin-").tempdir_in("/tmp").unwrap();
    let is_whole = sample::cases(0, 1) == 1;
    let python = oracle::python();
    let ran = Modbox::of(&python, &dir)
        .own_cache(&dir)
        .arg(fixture("oracle/twin_modules/run.py"))
        .args(["--modbox", env!("CARGO_BIN_EXE_modbox"), "--library"])
        .arg(library)
        .arg("--collections")
        .arg(oracle::collections())
        // The private /tmp of a guest makes a difference.
        .arg("--work")
        .args([dir.mkdir("work"), below_tmp.path().to_owned()])
        .args(["--seed", &sample::seed().to_string(), "--cases", &sample::cases(CASES.0, CASES.1).to_string()])
        .args(is_whole.then_some("--all-rows"))
        .patience(if is_whole { PATIENCE.1 } else { PATIENCE.0 })
        .run()
        .exits_with(0);
    let text = ran.stdout_text();
    let summary: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    // A comparison in which nearly everything fails or is refused on both sides would find nothing.
    let (runs, succeeded) = (summary["runs"].as_u64().unwrap(), summary["succeeded"].as_u64().unwrap());
    assert!(runs >= 600 && succeeded * 3 > runs, "{text}");
    dir.assert_nothing_left();
}

#[test]
fn components_that_stand_for_ansibles_modules_are_in_the_twin_and_have_no_fault_of_their_own() {
    let list = fs::read_to_string(repository().join("runner/src/cli/play/proven.tsv")).unwrap();
    let names = list.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').next().unwrap());
    let proven: BTreeSet<String> = names.map(str::to_owned).collect();
    assert!(!proven.is_empty() && proven.is_subset(&generated()), "{proven:?}");
    // Faults of the host, in rows for all modules, are those of every module in a sandbox.
    let faulty: BTreeSet<String> = rows().into_iter().filter(|row| row.is_fault).map(|row| row.module).collect();
    assert!(proven.is_disjoint(&faulty), "{proven:?} and {faulty:?}");
}

#[test]
fn the_table_of_differences_is_short() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows().into_iter().filter(|row| row.module != "*") {
        *counts.entry(row.module).or_default() += 1;
    }
    assert!(counts.values().all(|count| *count <= MOST_ROWS), "{counts:?}");
}
