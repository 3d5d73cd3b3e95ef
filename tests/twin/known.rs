//! The differences that are known: `known.tsv`.

use std::collections::BTreeSet;
use std::fs;

use crate::support::fixture;
use crate::twin::compare::Difference;

/// The most differences that may be by design.
const MOST_ROWS: usize = 30;

/// Whether a difference is by design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It is a fault that is to be mended.
    Fault,
    /// It is by design, and a page says so.
    ByDesign,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) status: Status,
    calls: Vec<String>,
    traits: Vec<String>,
    linux: String,
    modbox: String,
    page: String,
}

/// The rows.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
}

impl Table {
    /// Reads the table, and checks it.
    pub(crate) fn read() -> Self {
        let text = fs::read_to_string(fixture("twin/known.tsv")).expect("the table is there");
        let lines = text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let known = Self { rows: lines.map(|(index, line)| Row::parse(index + 1, line)).collect() };
        let by_design: Vec<_> = known.rows.iter().filter(|row| row.status == Status::ByDesign).collect();
        assert!(by_design.len() <= MOST_ROWS, "{} differences are by design", by_design.len());
        for row in by_design {
            row.check_design();
        }
        known
    }

    /// Returns the index of the first row that a difference matches.
    pub(crate) fn find(&self, difference: &Difference) -> Option<usize> {
        self.rows.iter().position(|row| row.matches(difference))
    }
}

impl Row {
    fn parse(line: usize, text: &str) -> Self {
        let columns: Vec<&str> = text.split('\t').collect();
        let [calls, traits, linux, modbox, status, reason, page] = columns[..] else {
            panic!("known.tsv, line {line}: expected 7 columns, not {}", columns.len())
        };
        let list = |column: &str| -> Vec<String> {
            column.split(',').filter(|word| *word != "-" && *word != "*").map(str::to_owned).collect()
        };
        let status = match status {
            "fault" => Status::Fault,
            "row" => Status::ByDesign,
            other => panic!("known.tsv, line {line}: unknown status `{other}`"),
        };
        assert!(!reason.is_empty(), "known.tsv, line {line}: no reason");
        Self {
            line,
            text: format!("{calls} [{traits}] {linux} / {modbox}: {reason}"),
            status,
            calls: list(calls),
            traits: list(traits),
            linux: linux.to_owned(),
            modbox: modbox.to_owned(),
            page: page.to_owned(),
        }
    }

    /// Checks that a difference by design is in the book, and allows neither a success in the place of an error nor another
    /// tree.
    fn check_design(&self) {
        let place = fixture("../runner/docs/src").join(&self.page);
        assert!(place.is_file(), "known.tsv, line {}: there is no page `{}`", self.line, self.page);
        // A folder on the way to a grant and the working directory are the guest's own; a temporary beside a granted name goes
        // with the run, or fails it. What a link grants that an argument names is decided by modbox, and Linux was not asked.
        let has = |wanted: &str| self.traits.iter().any(|mark| mark == wanted);
        let is_asked = self.linux.split('|').any(|outcome| !["not-granted", "read-only"].contains(&outcome));
        let is_own = ["above", "relative"].contains(&self.linux.as_str())
            || has("beside")
            || has("empty")
            || !is_asked && has("by-link");
        let succeeds = self.modbox.split('|').any(|outcome| !outcome.starts_with('E') && outcome != "denied");
        let is_value =
            self.linux.contains('=') && self.modbox.contains('=') && !self.calls.iter().any(|call| call == "tree");
        // Nothing that these leave is lost or foreign: a file that was written is not run as its owner, a time is that of the
        // call, and POSIX has `pwrite` write where it is told to.
        let is_kept = has("set-id") || has("after-truncate") || has("after-pwrite-on-append");
        assert!(
            is_own || is_value || is_kept || !succeeds,
            "known.tsv, line {}: a success cannot be by design",
            self.line
        );
    }

    fn matches(&self, difference: &Difference) -> bool {
        let is_call = self.calls.is_empty() || self.calls.iter().any(|call| glob(call, difference.call));
        is_call
            && has(&difference.traits, &self.traits)
            && any(&self.linux, &difference.linux)
            && any(&self.modbox, &difference.modbox)
    }
}

/// Returns whether a difference has all traits, and none of those with a `!`.
fn has(traits: &BTreeSet<String>, wanted: &[String]) -> bool {
    wanted.iter().all(|mark| match mark.strip_prefix('!') {
        Some(unwanted) => !traits.contains(unwanted),
        None => traits.contains(mark),
    })
}

/// Returns whether one of several patterns matches.
fn any(patterns: &str, text: &str) -> bool {
    patterns.split('|').any(|pattern| glob(pattern, text))
}

/// Returns whether a pattern matches a whole text; `*` is any text.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|left| {
            rest.is_empty() || (0..=left.len()).filter_map(|at| left.get(at..)).any(|left| glob(rest, left))
        }),
    }
}

#[test]
fn patterns_match_whole_texts() {
    for (pattern, text, matches) in [
        ("EPERM", "EPERM", true),
        ("EPERM", "EPERMIT", false),
        ("mode=*", "mode=600", true),
        ("*links=2", "kind=file links=2", true),
        ("a*b*c", "a1b2c", true),
        ("a*b*c", "a1b2", false),
        ("*", "", true),
    ] {
        assert_eq!(glob(pattern, text), matches, "{pattern} {text}");
    }
}
