//! The manifest of a file with changes, as it is written.
//!
//! The contents of files follow the manifest in the order of its entries, without what is between the parts that have
//! blocks. This file checks nothing.

use std::path::PathBuf;

use modbox_vocabulary::native_path;
use serde::{Deserialize, Serialize};

use crate::changes::change::{Change, Digest, Entry};
use crate::commit::start::Start;
use crate::optional_path;

/// Changes of all granted directories and names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) grants: Vec<SavedGrant>,
    /// Secrets in names, which are not shown where the changes are committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) hidden: Vec<String>,
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
    /// Indexes of the changes of files whose lines may not be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) hidden_lines: Vec<usize>,
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    use proptest::prelude::*;

    use super::*;
    use crate::changes::change::{ChangeKind, EntryType};

    fn path() -> impl Strategy<Value = PathBuf> {
        prop::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| OsString::from_vec(bytes).into())
    }

    fn entry() -> impl Strategy<Value = Entry> {
        let types = [EntryType::File, EntryType::Directory, EntryType::Symlink, EntryType::Special];
        let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>(), any::<i128>(), any::<u64>());
        let xattrs = prop::collection::btree_map("[a-z.]{1,9}", any::<Vec<u8>>(), 0..3);
        let rest = (prop::option::of(path()), any::<Option<Digest>>(), xattrs);
        (prop::sample::select(types.to_vec()), numbers, rest).prop_map(|(entry_type, numbers, rest)| {
            let (mode, uid, gid, size, modified, links) = numbers;
            let (target, digest, xattrs): (_, _, BTreeMap<String, Vec<u8>>) = rest;
            Entry { entry_type, mode, uid, gid, size, modified, target, digest, xattrs, links }
        })
    }

    fn kind() -> impl Strategy<Value = ChangeKind> {
        prop_oneof![
            Just(ChangeKind::Created),
            any::<u64>().prop_map(|entries| ChangeKind::Removed { entries }),
            Just(ChangeKind::Modified),
            Just(ChangeKind::Replaced),
            path().prop_map(|from| ChangeKind::Renamed { from }),
            Just(ChangeKind::Attributes),
            Just(ChangeKind::Times),
        ]
    }

    fn grant() -> impl Strategy<Value = SavedGrant> {
        let change = (path(), kind(), prop::option::of(entry()), prop::option::of(entry()))
            .prop_map(|(path, kind, before, after)| Change { path, kind, before, after });
        let payload = (path(), entry(), any::<Option<usize>>(), any::<Vec<(u64, u64)>>())
            .prop_map(|(path, entry, link, data)| Payload { path, entry, link, data });
        let directory = (path(), any::<u64>()).prop_map(|(path, number)| SavedDirectory { path, number });
        let content = (path(), any::<Digest>()).prop_map(|(path, digest)| OldContent { path, digest });
        let start = (any::<i128>(), any::<i128>()).prop_map(|(realtime, offset)| Start { realtime, offset });
        let lists = (
            prop::collection::vec(change, 0..4),
            prop::collection::vec(directory, 0..3),
            prop::collection::vec(content, 0..3),
            prop::collection::vec(payload, 0..4),
        );
        let hidden = prop::collection::vec(any::<usize>(), 0..3);
        (path(), prop::option::of(path()), start, lists, hidden).prop_map(|(path, name, start, lists, hidden_lines)| {
            let (changes, directories, contents, payload) = lists;
            SavedGrant { path, name, start, changes, hidden_lines, directories, contents, payload }
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            grants in prop::collection::vec(grant(), 0..3),
            hidden in prop::collection::vec(".{1,9}", 0..3),
        ) {
            let manifest = Manifest { grants, hidden };
            let text = serde_json::to_string(&manifest).unwrap();
            prop_assert!(!text.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), manifest);
        }

        #[test]
        fn a_manifest_of_any_values_is_checked_without_a_panic(grant in grant(), length: u64) {
            let _ = crate::commit::saved::manifest_check::check(&Manifest { grants: vec![grant], hidden: Vec::new() }, length);
        }
    }
}
