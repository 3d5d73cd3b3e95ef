//! The old state of a tree, as a comparison reads it.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::changes::entry_reader::{self, FoundEntry};
use crate::tree_root::TreeRoot;

/// An old tree: the real directory, or the record of a copy.
pub(crate) trait OldTree {
    /// Reads an entry. Returns `None` if it does not exist.
    fn read(&self, path: &Path) -> io::Result<Option<FoundEntry>>;

    /// Returns the names in a directory.
    fn names_in(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// Returns where the content of files is read, if [`Self::read`] does not give their digests.
    fn content(&self) -> Option<&TreeRoot>;
}

impl OldTree for TreeRoot {
    fn read(&self, path: &Path) -> io::Result<Option<FoundEntry>> {
        entry_reader::read(self, path)
    }

    fn names_in(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.names(path)
    }

    fn content(&self) -> Option<&TreeRoot> {
        Some(self)
    }
}
