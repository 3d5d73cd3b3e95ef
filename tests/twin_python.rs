//! The twin test of Python: random calls of `os`, `shutil` and `tempfile` on random small trees, natively and in the sandbox.
//!
//! `oracle/twin_python/run.py` says what is run and compared, and prints what differs with its seed, the smallest case and a
//! command. `twin/python.tsv` has the known differences.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::oracle_python_places::INSTALLED;
use crate::support::{Modbox, TestDir, fixture, repository, sample};

/// Time limit of an ordinary run and of a whole one, on two busy cores.
const PATIENCE: (Duration, Duration) = (Duration::from_mins(10), Duration::from_hours(4));

/// Number of random cases of an ordinary run and of a whole one. Each has about five calls.
const CASES: (usize, usize) = (1_000, 25_000);

/// The most rows of the table.
const MOST_ROWS: usize = 30;

#[test]
fn calls_of_python_do_what_native_ones_do() {
    let dir = TestDir::new();
    let below_tmp = tempfile::Builder::new().prefix("modbox-twin-").tempdir_in("/tmp").unwrap();
    let is_whole = sample::cases(0, 1) == 1;
    let ran = Modbox::of(&INSTALLED.python, &INSTALLED.dir)
        .own_cache(&INSTALLED.dir)
        .arg(fixture("oracle/twin_python/run.py"))
        .args(["--modbox", env!("CARGO_BIN_EXE_modbox")])
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
    // A comparison in which nearly everything fails on both sides would find nothing.
    let (calls, succeeded) = (summary["calls"].as_u64().unwrap(), summary["succeeded"].as_u64().unwrap());
    assert!(calls >= 3 * CASES.0 as u64 && succeeded * 3 > calls, "{text}");
    dir.assert_nothing_left();
}

#[test]
fn the_table_of_pythons_differences_is_short_and_has_pages() {
    let table = fs::read_to_string(fixture("twin/python.tsv")).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(rows.len() <= MOST_ROWS, "{}", rows.len());
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        assert_eq!(fields.len(), 5, "{row}");
        let page = repository().join("runner/docs/src").join(fields[4]);
        assert!(page.exists(), "{row}: there is no page {}", page.display());
    }
}
