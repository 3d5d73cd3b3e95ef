//! Collects the differences of all cases, and judges them by the table.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::support::sample;
use crate::twin::case::Case;
use crate::twin::compare::{Difference, compare};
use crate::twin::known::{Status, Table};
use crate::twin::sides::Pair;

/// The unknown differences of which the smallest case is looked for.
const SHRUNK: usize = 3;

/// Differences of all cases.
pub(crate) struct Findings {
    known: Table,
    /// Matches of each row.
    matches: Vec<usize>,
    /// Unknown differences by their call and outcomes: how often, and the first case.
    unknown: BTreeMap<(String, String, String), (usize, Case, Difference)>,
    cases: usize,
    calls: usize,
}

impl Findings {
    pub(crate) fn new(known: Table) -> Self {
        let matches = vec![0; known.rows.len()];
        Self { known, matches, unknown: BTreeMap::new(), cases: 0, calls: 0 }
    }

    /// Compares both sides of cases.
    pub(crate) fn add(&mut self, cases: &[Case], pairs: &[Pair]) {
        for (case, pair) in cases.iter().zip(pairs) {
            let compared = compare(case, pair);
            (self.cases, self.calls) = (self.cases + 1, self.calls + compared.calls);
            for difference in compared.differences {
                match self.known.find(&difference) {
                    Some(row) => self.matches[row] += 1,
                    None => {
                        let found =
                            self.unknown.entry(signature(&difference)).or_insert_with(|| (0, case.clone(), difference));
                        found.0 += 1;
                    }
                }
            }
        }
    }

    /// Returns how much was compared and how often each row matched.
    pub(crate) fn summary(&self) -> String {
        let mut text = format!("{} cases, {} calls compared\n", self.cases, self.calls);
        for (row, count) in self.known.rows.iter().zip(&self.matches).filter(|(_, count)| **count > 0) {
            let status = if row.status == Status::Fault { "fault" } else { "row" };
            let _ = writeln!(text, "{count:7} {status:5} line {}: {}", row.line, row.text);
        }
        text
    }

    /// Fails the test if a difference matches no row, or, where all cases were performed, a row no difference.
    pub(crate) fn assert_all_known(
        &self,
        is_whole: bool,
        smallest: impl Fn(&Table, &Case, &Difference) -> (Case, Difference),
    ) {
        let mut text = String::new();
        let mut unknown: Vec<_> = self.unknown.values().collect();
        unknown.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
        for (count, case, difference) in &unknown {
            let Difference { call, linux, modbox, traits, .. } = difference;
            let traits = traits.iter().cloned().collect::<Vec<_>>().join(",");
            let _ = writeln!(text, "{count:5} {call}\t{traits}\t{linux}\t{modbox}\tcase {}", case.number);
        }
        for (_, case, difference) in unknown.iter().take(SHRUNK) {
            let (small, difference) = smallest(&self.known, case, difference);
            let Difference { call, index, linux, modbox, .. } = &difference;
            let _ = writeln!(text, "\ncall {index}, {call}:\n  Linux: {linux}\n  modbox: {modbox}\n{small}");
            let (seed, number) = (sample::seed(), case.number);
            let _ = writeln!(
                text,
                "  repeat: MODBOX_SEED={seed} MODBOX_CASE={number} cargo test --locked -p modbox --test main twin"
            );
        }
        assert!(text.is_empty(), "differences that `tests/twin/known.tsv` does not know:\n{text}");
        if is_whole {
            let rows = self.known.rows.iter().zip(&self.matches).filter(|(_, count)| **count == 0);
            let unused: Vec<_> = rows.map(|(row, _)| format!("line {}: {}", row.line, row.text)).collect();
            assert!(unused.is_empty(), "rows of `tests/twin/known.tsv` that nothing matches: {unused:#?}");
        }
    }
}

/// Returns what makes two differences one: call and outcomes.
pub(crate) fn signature(difference: &Difference) -> (String, String, String) {
    (difference.call.to_owned(), difference.linux.clone(), difference.modbox.clone())
}
