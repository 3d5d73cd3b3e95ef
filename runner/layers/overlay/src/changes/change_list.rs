//! The list of changes of one layer, with its totals and with what it does not contain.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::changes::change::{Change, ChangeKind};

/// Changes of one granted tree or name.
///
/// The list describes how the old tree becomes the new one. First, the deepest path first, every entry that is
/// [`Renamed`](ChangeKind::Renamed) is taken out from where it was, and every removed entry is removed. Then all other
/// changes and the renamed entries are put in place, parents first. So the path of a removed entry, and the name before
/// of a renamed one, are paths of the old tree; all other paths are paths of the new tree. An entry below a renamed
/// directory that is not listed itself moves with the directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeList {
    /// Changes, in the order of their paths.
    pub changes: Vec<Change>,
    /// Numbers of all changes, also of those that are not in the list.
    pub totals: Totals,
    /// Sets of paths that are names of one file after the run, if a name of the set is in a changed directory entry.
    /// Files with one name are not listed.
    pub links: Vec<Vec<PathBuf>>,
    /// Parts that could not be seen.
    pub incomplete: Vec<Incomplete>,
    /// Number of changes that the bounds left out of the list.
    pub cut: u64,
}

impl ChangeList {
    /// Returns whether the tree is different in more than times.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.totals.changed() > 0
    }

    /// Returns whether the list has every change, so that it can be applied.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.cut == 0 && self.incomplete.is_empty()
    }
}

impl ChangeList {
    /// Keeps what is said of one name, and says it of the empty path.
    pub(crate) fn rename_incomplete(&mut self, name: &Path) {
        self.incomplete.retain(|part| part.path() == name);
        self.incomplete.iter_mut().for_each(|part| *part.path_mut() = PathBuf::new());
    }
}

/// Numbers of changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Entries that were created.
    pub created: u64,
    /// Entries with other content.
    pub modified: u64,
    /// Entries that were removed, with those below them.
    pub removed: u64,
    /// Entries with another type.
    pub replaced: u64,
    /// Entries with another name.
    pub renamed: u64,
    /// Entries with other attributes only.
    pub attributes: u64,
    /// Entries with other times only.
    pub times: u64,
    /// Bytes of new content.
    pub bytes: u64,
}

impl Totals {
    pub(crate) fn count(&mut self, change: &Change) {
        let counter = match &change.kind {
            ChangeKind::Created => &mut self.created,
            ChangeKind::Modified => &mut self.modified,
            ChangeKind::Replaced => &mut self.replaced,
            ChangeKind::Renamed { .. } => &mut self.renamed,
            ChangeKind::Attributes => &mut self.attributes,
            ChangeKind::Times => &mut self.times,
            ChangeKind::Removed { entries } => {
                self.removed = self.removed.saturating_add(*entries);
                &mut self.removed
            }
        };
        *counter = counter.saturating_add(1);
        let digest = |entry: &Option<crate::changes::change::Entry>| entry.as_ref().and_then(|entry| entry.digest);
        if let Some(after) = &change.after
            && digest(&change.before) != after.digest
        {
            self.bytes = self.bytes.saturating_add(after.size);
        }
    }

    /// Returns the sums of two sets of numbers.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            created: self.created.saturating_add(other.created),
            modified: self.modified.saturating_add(other.modified),
            removed: self.removed.saturating_add(other.removed),
            replaced: self.replaced.saturating_add(other.replaced),
            renamed: self.renamed.saturating_add(other.renamed),
            attributes: self.attributes.saturating_add(other.attributes),
            times: self.times.saturating_add(other.times),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Returns the number of changes without those of times only.
    #[must_use]
    pub fn changed(&self) -> u64 {
        [self.created, self.modified, self.removed, self.replaced, self.renamed, self.attributes]
            .iter()
            .fold(0, |sum, number| sum.saturating_add(*number))
    }
}

/// A part of a layer that could not be seen or simulated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Incomplete {
    /// A changed file has other names outside the granted tree, which a direct run would change too.
    HardLink {
        /// The file.
        path: PathBuf,
        /// Number of the other names.
        others: u64,
    },
    /// An entry could not be read.
    Unread {
        /// The entry.
        path: PathBuf,
        /// The cause.
        cause: String,
    },
    /// The content of a file was not compared, because the bound of bytes was reached.
    Uncompared {
        /// The file.
        path: PathBuf,
    },
    /// Entries were not looked at, because the bound of entries was reached.
    Unlisted {
        /// The directory in which the bound was reached.
        path: PathBuf,
    },
    /// The owner or an attribute of an entry could not be simulated.
    ForeignOwner {
        /// The entry.
        path: PathBuf,
    },
    /// The real file was changed while the module ran or while it was compared.
    Unstable {
        /// The entry.
        path: PathBuf,
    },
}

impl Incomplete {
    /// Returns the entry.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::HardLink { path, .. }
            | Self::Unread { path, .. }
            | Self::Uncompared { path }
            | Self::Unlisted { path }
            | Self::ForeignOwner { path }
            | Self::Unstable { path } => path,
        }
    }

    fn path_mut(&mut self) -> &mut PathBuf {
        match self {
            Self::HardLink { path, .. }
            | Self::Unread { path, .. }
            | Self::Uncompared { path }
            | Self::Unlisted { path }
            | Self::ForeignOwner { path }
            | Self::Unstable { path } => path,
        }
    }
}
