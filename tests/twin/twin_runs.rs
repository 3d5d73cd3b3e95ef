//! Runs the twin tests that are written in Python, and reads their tables of known differences.
//!
//! `twin_modules.rs`, `twin_sandbox.rs` and `twin_python.rs` say what each compares.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Modbox, TestDir, fixture, oracle, repository, sample};

/// Time limit of an ordinary run and of a whole one, on two busy cores.
const PATIENCE: (Duration, Duration) = (Duration::from_mins(15), Duration::from_hours(12));

/// One twin test.
pub(crate) struct TwinRun<'a> {
    /// Its script, below `tests`.
    pub(crate) script: &'a str,
    /// The Python that runs it, and the folder with modbox's cache.
    pub(crate) python: &'a Path,
    pub(crate) cache: &'a TestDir,
    /// Number of random cases of an ordinary run and of a whole one.
    pub(crate) cases: (usize, usize),
    /// The user that runs the tasks, if not this one.
    pub(crate) user: Option<u32>,
    /// Whether a row that no case matches is an error in a whole run.
    pub(crate) all_rows: bool,
}

/// What a twin test found.
pub(crate) struct Found {
    summary: Value,
    pub(crate) text: String,
}

impl Found {
    /// Returns a number of the summary.
    pub(crate) fn count(&self, key: &str) -> u64 {
        self.summary[key].as_u64().unwrap_or_else(|| panic!("{key}: {}", self.text))
    }
}

impl TwinRun<'_> {
    /// Runs the test, which must find no difference, in two folders: the private `/tmp` of a guest makes a difference.
    pub(crate) fn run(&self, words: &[&OsStr]) -> Found {
        let dir = TestDir::new();
        // Another user has to reach it.
        let mode = fs::Permissions::from_mode(0o755);
        let below_tmp = tempfile::Builder::new().prefix("modbox-twin-").permissions(mode).tempdir_in("/tmp").unwrap();
        let is_whole = sample::cases(0, 1) == 1;
        let cases = sample::cases(self.cases.0, self.cases.1);
        let ran = Modbox::of(self.python, self.cache)
            .own_cache(self.cache)
            .args(["-B".as_ref(), fixture(self.script).as_os_str()])
            .args(["--modbox", env!("CARGO_BIN_EXE_modbox")])
            .args(words)
            .arg("--work")
            .args([dir.mkdir("work"), below_tmp.path().to_owned()])
            .args(["--seed", &sample::seed().to_string(), "--cases", &cases.to_string()])
            .args(self.user.map(|user| format!("--user={user}")))
            .args((is_whole && self.all_rows).then_some("--all-rows"))
            .patience(if is_whole { PATIENCE.1 } else { PATIENCE.0 })
            .run()
            .exits_with(0);
        dir.assert_nothing_left();
        let text = ran.stdout_text();
        let summary = text.lines().last().and_then(|line| serde_json::from_str(line).ok());
        Found { summary: summary.unwrap_or_else(|| panic!("no summary: {text}")), text }
    }

    /// Runs the twin test of tasks for a pair of sides, and returns the number of runs.
    pub(crate) fn of_tasks(&self, pair: &str, library: Option<&Path>) {
        let collections = oracle::collections();
        let mut words: Vec<&OsStr> = vec!["--pair".as_ref(), pair.as_ref()];
        words.extend(["--collections".as_ref(), collections.as_os_str()]);
        words.extend(library.iter().flat_map(|library| ["--library".as_ref(), library.as_os_str()]));
        let found = self.run(&words);
        // A comparison in which nearly everything fails or is refused on both sides would find nothing.
        let (runs, succeeded) = (found.count("runs"), found.count("succeeded"));
        assert!(runs >= self.cases.0 as u64 && succeeded * 3 > runs, "{}", found.text);
    }
}

/// Returns the rows of a table of known differences below `tests/twin`. Each has `columns` columns, the last of which is a
/// page of the book.
pub(crate) fn rows(table: &str, columns: usize) -> Vec<Vec<String>> {
    let text = fs::read_to_string(fixture(&format!("twin/{table}"))).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
        assert_eq!(fields.len(), columns, "{line}");
        let page = repository().join("runner/docs/src").join(&fields[columns - 1]);
        assert!(page.exists(), "{line}: there is no page {}", page.display());
        fields
    });
    rows.collect()
}
