//! What a store is for: the kinds of its entries, and its limits.

/// Purpose of a store: the kinds of its entries, and its limits.
#[derive(Debug, Clone, Copy)]
pub struct Purpose {
    /// Kinds of entries. Other files in the folder are never touched.
    pub kinds: &'static [Kind],
    /// Bytes that all entries together may have.
    pub max_size: u64,
    /// Names of files and folders that an older release used; eviction removes them.
    pub obsolete: &'static [&'static str],
}

/// Kind of an entry, which is the extension of its name on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    pub(crate) extension: &'static str,
    /// Length of the largest file; 0 for trees, since no file is read as one.
    pub(crate) max_bytes: u64,
    /// Whether trees have a stamp, see [`Kind::stamped_trees`].
    pub(crate) has_stamp: bool,
}

/// The stamps of trees, which a purpose with stamped trees lists, too.
pub const STAMP: Kind = Kind::files("stamp", 64);

impl Kind {
    /// Creates a kind of files of at most `max_bytes`.
    #[must_use]
    pub const fn files(extension: &'static str, max_bytes: u64) -> Self {
        Self { extension, max_bytes, has_stamp: false }
    }

    /// Creates a kind of trees.
    #[must_use]
    pub const fn trees(extension: &'static str) -> Self {
        Self { extension, max_bytes: 0, has_stamp: false }
    }

    /// Creates a kind of trees that are used only as long as no file of them has changed. Each has a stamp for that: an entry of the kind
    /// [`STAMP`].
    #[must_use]
    pub const fn stamped_trees(extension: &'static str) -> Self {
        Self { extension, max_bytes: 0, has_stamp: true }
    }

    /// Returns the name on disk of the entry `key`.
    pub(crate) fn file_name(self, key: &str) -> String {
        debug_assert!(!key.contains(['/', '.']), "`{key}` is a plain name");
        format!("{key}.{}", self.extension)
    }
}
