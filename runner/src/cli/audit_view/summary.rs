//! Counts of runs, in all and by module.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::cli::audit_view::entry::AuditEntry;

/// Modules that are counted one by one. A log with more names is hostile, or was made by a program.
const MAX_MODULES: usize = 1000;

/// Characters of a module's name that are told apart.
const MAX_NAME: usize = 200;

/// Name of all modules beyond [`MAX_MODULES`].
const OTHERS: &str = "(others)";

/// Counts of some runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RunCounts {
    /// All runs.
    pub(crate) runs: u64,
    /// Those whose status is not `ok`, `changed` or `skipped`.
    pub(crate) failed: u64,
    /// Those with denials.
    pub(crate) denied: u64,
    /// Denials of all runs.
    pub(crate) denials: u64,
}

/// Counts of all runs that were added.
#[derive(Debug, Default)]
pub(crate) struct AuditSummary {
    /// All runs.
    pub(crate) all: RunCounts,
    /// Beginnings of the first and of the last run.
    pub(crate) span: Option<(SystemTime, SystemTime)>,
    modules: BTreeMap<String, RunCounts>,
}

impl RunCounts {
    fn add(&mut self, entry: &AuditEntry) {
        self.runs += 1;
        self.failed += u64::from(entry.has_failed());
        self.denied += u64::from(entry.is_denied());
        self.denials = self.denials.saturating_add(entry.denials());
    }
}

impl AuditSummary {
    /// Counts a run.
    pub(crate) fn add(&mut self, entry: &AuditEntry) {
        self.all.add(entry);
        let time = entry.time();
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
        let name: String = entry.module().chars().take(MAX_NAME).collect();
        let known = self.modules.contains_key(&name) || self.modules.len() < MAX_MODULES;
        self.modules.entry(if known { name } else { OTHERS.to_owned() }).or_default().add(entry);
    }

    /// Returns the counts by module: most failures first, then most runs.
    pub(crate) fn by_module(&self) -> Vec<(&str, RunCounts)> {
        let mut modules: Vec<_> = self.modules.iter().map(|(name, counts)| (name.as_str(), *counts)).collect();
        modules.sort_by_key(|(_, counts)| std::cmp::Reverse((counts.failed, counts.denied, counts.runs)));
        modules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_beyond_the_limit_are_counted_together() {
        let mut summary = AuditSummary::default();
        for number in 0..MAX_MODULES + 5 {
            let line = format!(
                r#"{{"time": "2026-01-02T03:04:05Z", "status": "crashed", "module": {{"name": "m{number}"}}}}"#
            );
            summary.add(&AuditEntry::parse(line.into_bytes()).unwrap());
        }
        let modules = summary.by_module();
        assert_eq!(modules.len(), MAX_MODULES + 1);
        assert_eq!(modules[0], (OTHERS, RunCounts { runs: 5, failed: 5, denied: 0, denials: 0 }));
        assert_eq!(summary.all.failed, MAX_MODULES as u64 + 5);
    }
}
