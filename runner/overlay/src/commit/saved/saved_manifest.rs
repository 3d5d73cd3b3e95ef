//! The manifest of a file with changes, as it is written.
//!
//! The contents of files follow the manifest in the order of its entries, without what is between the parts that have
//! blocks. This file checks nothing.

use std::path::PathBuf;

use modbox_vocabulary::native_path;
use serde::{Deserialize, Serialize};

use crate::change::{Change, Digest, Entry};
use crate::commit::conflict::Start;
use crate::optional_path;

/// Changes of all granted directories and names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) grants: Vec<SavedGrant>,
}

/// Changes of one granted directory or name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedGrant {
    /// Path on the machine of the directory, or of the directory that holds the name.
    #[serde(with = "native_path")]
    pub(super) path: PathBuf,
    /// The granted name, if it is not the whole directory.
    #[serde(with = "optional_path")]
    pub(super) name: Option<PathBuf>,
    /// A moment before the view was made.
    pub(super) start: Start,
    pub(super) changes: Vec<Change>,
    /// The directories that hold the changed names.
    pub(super) directories: Vec<SavedDirectory>,
    /// The contents of files that are replaced or removed.
    pub(super) contents: Vec<OldContent>,
    /// The new state: every entry that a commit copies, parents first.
    pub(super) payload: Vec<Payload>,
}

/// Directory that must be the same when the changes are committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedDirectory {
    /// Path, relative to the granted directory.
    #[serde(with = "native_path")]
    pub(super) path: PathBuf,
    /// Inode number.
    pub(super) number: u64,
}

/// Content that must be the same when the changes are committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OldContent {
    /// The file, relative to the granted directory.
    #[serde(with = "native_path")]
    pub(super) path: PathBuf,
    /// Digest.
    pub(super) digest: Digest,
}

/// Entry of the new state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payload {
    /// Path, relative to the granted directory.
    #[serde(with = "native_path")]
    pub(super) path: PathBuf,
    /// State, with those extended attributes that a commit sets.
    pub(super) entry: Entry,
    /// Index of an earlier entry, of which this is another name.
    pub(super) link: Option<usize>,
    /// The parts of a file that have blocks: position and length.
    pub(super) data: Vec<(u64, u64)>,
}
