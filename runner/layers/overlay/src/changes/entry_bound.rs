//! A bound of the number of entries that a comparison looks at.

use std::path::Path;

use crate::changes::change_list::Incomplete;

/// Number of entries that may still be looked at.
#[derive(Debug)]
pub(crate) struct EntryBound {
    entries: u64,
    incomplete: Vec<Incomplete>,
}

impl EntryBound {
    /// Makes a bound.
    pub(crate) fn new(entries: u64) -> Self {
        Self { entries, incomplete: Vec::new() }
    }

    /// Counts an entry of a directory. Returns whether it may be looked at.
    pub(crate) fn spend(&mut self, directory: &Path) -> bool {
        if self.entries == 0 {
            self.incomplete.push(Incomplete::Unlisted { path: directory.to_owned() });
            return false;
        }
        self.entries -= 1;
        true
    }

    /// Returns where the bound was reached.
    pub(crate) fn into_incomplete(self) -> Vec<Incomplete> {
        self.incomplete
    }
}
