//! Counts of runs, in all, by module and by host.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::cli::audit_view::entry::AuditEntry;

/// Names that are counted one by one. A log with more modules is hostile, or was made by a program.
const MAX_NAMES: usize = 1000;

/// Characters of a name that are told apart.
const MAX_NAME: usize = 200;

/// Name of all beyond [`MAX_NAMES`].
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
    modules: CountsByName,
    hosts: CountsByName,
}

/// Counts of runs by names, of which there may be any number.
#[derive(Debug, Default)]
struct CountsByName(BTreeMap<String, RunCounts>);

impl CountsByName {
    fn add(&mut self, name: &str, entry: &AuditEntry) {
        let name: String = name.chars().take(MAX_NAME).collect();
        let is_known = self.0.contains_key(&name) || self.0.len() < MAX_NAMES;
        self.0.entry(if is_known { name } else { OTHERS.to_owned() }).or_default().add(entry);
    }

    /// Returns the counts: most failures first, then most denials, then most runs.
    fn sorted(&self) -> Vec<(&str, RunCounts)> {
        let mut names: Vec<_> = self.0.iter().map(|(name, counts)| (name.as_str(), *counts)).collect();
        names.sort_by_key(|(_, counts)| std::cmp::Reverse((counts.failed, counts.denied, counts.runs)));
        names
    }
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
        self.modules.add(&entry.module(), entry);
        let host = entry.host();
        if !host.is_empty() {
            self.hosts.add(&host, entry);
        }
    }

    /// Returns the counts by module, those with failures first.
    pub(crate) fn by_module(&self) -> Vec<(&str, RunCounts)> {
        self.modules.sorted()
    }

    /// Returns the counts by host, those with failures first.
    pub(crate) fn by_host(&self) -> Vec<(&str, RunCounts)> {
        self.hosts.sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_beyond_the_limit_are_counted_together() {
        let mut summary = AuditSummary::default();
        for number in 0..MAX_NAMES + 5 {
            let line = format!(
                r#"{{"time": "2026-01-02T03:04:05Z", "status": "crashed", "module": {{"name": "m{number}"}}}}"#
            );
            summary.add(&AuditEntry::parse(line.into_bytes()).unwrap());
        }
        let modules = summary.by_module();
        assert_eq!(modules.len(), MAX_NAMES + 1);
        assert_eq!(modules[0], (OTHERS, RunCounts { runs: 5, failed: 5, denied: 0, denials: 0 }));
        assert_eq!(summary.all.failed, MAX_NAMES as u64 + 5);
        assert!(summary.by_host().is_empty());
    }

    #[test]
    fn the_controllers_name_of_a_host_comes_before_its_own() {
        let mut summary = AuditSummary::default();
        for more in [r#""host": "web1""#, r#""host": "web1", "who": {"host": "a"}"#, r#""who": {"host": "b"}"#] {
            let line = format!(r#"{{"time": "2026-01-02T03:04:05Z", "status": "ok", "module": {{}}, {more}}}"#);
            summary.add(&AuditEntry::parse(line.into_bytes()).unwrap());
        }
        let hosts: Vec<_> = summary.by_host().into_iter().map(|(name, counts)| (name, counts.runs)).collect();
        assert_eq!(hosts, [("web1", 2), ("b", 1)]);
    }
}
