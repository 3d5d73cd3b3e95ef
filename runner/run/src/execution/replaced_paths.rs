//! Paths that stand for granted ones in a run on copies or layers, and the granted ones in what the run says.
//!
//! A module sees its files under the granted paths. modbox's own messages name the paths that it opened.

use std::path::Path;

use modbox_policy::{granted_host, split_grant};
use modbox_vocabulary::quoting;

use crate::reports::report::Report;

/// The replaced paths of one run, with notes for its report.
#[derive(Debug)]
pub(crate) struct ReplacedPaths {
    /// The path that is used, and the granted one.
    pairs: Vec<(String, String)>,
    /// Directory with all paths that are used.
    dir: String,
    notes: Vec<String>,
}

impl ReplacedPaths {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { pairs: Vec::new(), dir: dir.display().to_string(), notes: Vec::new() }
    }

    /// Adds a path that is used instead of a granted one.
    pub(crate) fn add(&mut self, used: &Path, granted: &Path) {
        self.pairs.push((used.display().to_string(), granted.display().to_string()));
    }

    /// Adds a note for the report.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    #[cfg(test)]
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the number of replaced paths.
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Puts the granted paths into what a report says of grants. An option that still names a path in the run's
    /// directory is removed.
    pub(crate) fn translate(self, report: &mut Report) {
        let original = |text: &mut String| {
            for (used, granted) in &self.pairs {
                *text = text.replace(used, granted);
            }
        };
        for denial in &mut report.denials {
            original(&mut denial.subject);
            original(&mut denial.allow);
            denial.allow = self.usable(&denial.allow);
        }
        for hint in &mut report.hints {
            original(&mut hint.subject);
            original(&mut hint.allow);
        }
        report.hints.retain(|hint| !hint.allow.contains(&self.dir));
        for lost in &mut report.lost {
            [&mut lost.path, &mut lost.reason, &mut lost.allow].into_iter().for_each(original);
            lost.allow = self.usable(&lost.allow);
        }
        report.notes.iter_mut().for_each(original);
        report.notes.extend(self.notes);
    }

    /// Returns an option without the second path of `PATH::PATH`, or no option if it names a path in the run's directory.
    fn usable(&self, allow: &str) -> String {
        if allow.contains(&self.dir) {
            return String::new();
        }
        let plain = |word: String| match split_grant(word.as_bytes()) {
            (host, Some(guest)) if host == guest => granted_host(&word).to_owned(),
            _ => word,
        };
        let words = quoting::split(allow).unwrap_or_default().into_iter().map(plain);
        let quoted: Vec<String> = words.map(|word| quoting::quote(&word)).collect();
        if quoted.is_empty() { allow.to_owned() } else { quoted.join(" ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_originals() {
        let mut copies = ReplacedPaths::new(Path::new("/scratch/run"));
        copies.add(Path::new("/scratch/run/copy-0/x"), Path::new("/srv/x"));
        for (allow, expect) in [
            ("--allow-write /srv/x/y::/srv/x/y", "--allow-write /srv/x/y"),
            ("--allow-write /data::/srv", "--allow-write /data::/srv"),
            ("--allow-write '/srv/a b'", "--allow-write '/srv/a b'"),
            ("--allow-write /scratch/run/z", ""),
            ("", ""),
        ] {
            assert_eq!(copies.usable(allow), expect, "{allow}");
        }
    }
}
