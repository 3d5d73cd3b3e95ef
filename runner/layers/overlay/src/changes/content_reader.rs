//! Digests of files, within a bound of bytes.

use std::path::{Path, PathBuf};

use crate::changes::change::EntryType;
use crate::changes::change_list::Incomplete;
use crate::changes::entry_reader::{self, FoundEntry};
use crate::tree_root::TreeRoot;

/// Largest old file that is read although its length already shows that it is different.
const SHOWN: u64 = 16 << 20;

/// Reader of content that stops at a bound.
#[derive(Debug)]
pub(crate) struct ContentReader {
    bytes: u64,
    incomplete: Vec<Incomplete>,
}

/// A file in a tree.
type Place<'a> = (Option<&'a TreeRoot>, &'a Path, &'a mut FoundEntry);

impl ContentReader {
    /// Makes a reader of at most that number of bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        Self { bytes, incomplete: Vec::new() }
    }

    /// Returns what was not read.
    pub(crate) fn into_incomplete(self) -> Vec<Incomplete> {
        self.incomplete
    }

    /// Adds the digest to a file.
    pub(crate) fn fill(&mut self, root: Option<&TreeRoot>, path: &Path, found: &mut FoundEntry) {
        let Some(root) = root.filter(|_| found.entry.entry_type == EntryType::File && found.entry.digest.is_none())
        else {
            return;
        };
        let Some(rest) = self.bytes.checked_sub(found.entry.size) else {
            return self.incomplete.push(Incomplete::Uncompared { path: path.to_owned() });
        };
        self.bytes = rest;
        match entry_reader::digest(root, path, found) {
            Ok(digest) => found.entry.digest = Some(digest),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                self.incomplete.push(Incomplete::Unstable { path: path.to_owned() });
            }
            Err(error) => self.unread(path.to_owned(), &error),
        }
    }

    /// Adds the digest to a removed file that is small. A large one is not read: nothing is compared with it.
    pub(crate) fn fill_removed(&mut self, root: Option<&TreeRoot>, path: &Path, found: &mut FoundEntry) {
        if found.entry.size <= SHOWN.min(self.bytes) {
            self.fill(root, path, found);
        }
    }

    /// Adds the digests to an old and a new file. The old one is not read if it is large and has another length.
    pub(crate) fn fill_both(&mut self, before: Place<'_>, after: Place<'_>) {
        let (old, new) = (&before.2.entry, &after.2.entry);
        let is_needed = (new.entry_type, new.size) == (old.entry_type, old.size);
        if is_needed || old.size <= SHOWN {
            self.fill(before.0, before.1, before.2);
        }
        self.fill(after.0, after.1, after.2);
    }

    fn unread(&mut self, path: PathBuf, error: &std::io::Error) {
        self.incomplete.push(Incomplete::Unread { path, cause: error.to_string() });
    }
}
