//! Decides what changed, of states of entries that were read before and after.
//!
//! This file is pure: it reads no files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::changes::change::{Change, ChangeKind, Entry, EntryType};
use crate::changes::change_list::{ChangeList, Incomplete};
use crate::changes::equal_files;

/// An entry that exists only before or only after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoneEntry {
    /// Its path, in the old tree or in the new one.
    pub(crate) path: PathBuf,
    /// Its state.
    pub(crate) entry: Entry,
    /// Number of its inode, if that of a renamed entry stays the same.
    pub(crate) inode: Option<u64>,
}

/// A tree whose entries disappeared, with the directory itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemovedEntry {
    /// The entry.
    pub(crate) lone: LoneEntry,
    /// Number of entries below.
    pub(crate) below: u64,
    /// Entries below whose inodes were asked for, because they may have been renamed.
    pub(crate) wanted: Vec<LoneEntry>,
}

/// What is different of a tree, before renames are recognised.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Changes of entries that exist before and after.
    pub(crate) changes: Vec<Change>,
    /// Entries that exist only after.
    pub(crate) created: Vec<LoneEntry>,
    /// Entries that exist only before, without those below them.
    pub(crate) removed: Vec<RemovedEntry>,
    /// Whether renamed files are also found by what they are, as no number shows them.
    pub(crate) finds_equal: bool,
    /// Names of each file that has several, after.
    pub(crate) links: Vec<Vec<PathBuf>>,
    /// Parts that could not be seen.
    pub(crate) incomplete: Vec<Incomplete>,
}

impl Findings {
    /// Adds an entry that exists before and after. `from` is its old path if it was renamed with a directory.
    pub(crate) fn compare(&mut self, path: PathBuf, from: Option<PathBuf>, before: Entry, after: Entry) {
        let kind = match from {
            Some(from) => Some(ChangeKind::Renamed { from }),
            None => difference(&before, &after),
        };
        if let Some(kind) = kind {
            self.changes.push(Change { path, kind, before: Some(before), after: Some(after) });
        }
    }

    /// Returns the list, with at most `bound` changes.
    pub(crate) fn into_list(mut self, bound: usize) -> ChangeList {
        self.recognise_renames();
        // The files of a removed directory are not read, and one of them may be meant.
        if self.finds_equal && self.removed.iter().all(|removed| removed.below == 0) {
            self.join_equal();
        }
        let mut changes = self.changes;
        changes.extend(self.created.into_iter().map(|lone| Change {
            path: lone.path,
            kind: ChangeKind::Created,
            before: None,
            after: Some(lone.entry),
        }));
        changes.extend(self.removed.into_iter().map(|removed| Change {
            path: removed.lone.path,
            kind: ChangeKind::Removed { entries: removed.below },
            before: Some(removed.lone.entry),
            after: None,
        }));
        // A path can be removed, of the old tree, and made again, in the new one.
        changes.sort_by(|left, right| (&left.path, left.after.is_some()).cmp(&(&right.path, right.after.is_some())));
        let mut list = ChangeList::default();
        changes.iter().for_each(|change| list.totals.count(change));
        list.links = changed_links(self.links, &changes);
        list.cut = changes.len().saturating_sub(bound) as u64;
        changes.truncate(bound);
        list.changes = changes;
        list.incomplete = self.incomplete;
        list.incomplete.sort();
        list.incomplete.dedup();
        list
    }

    /// Joins entries that disappeared in one place and appeared in another.
    fn recognise_renames(&mut self) {
        let mut sources: BTreeMap<u64, (usize, LoneEntry)> = BTreeMap::new();
        for (index, removed) in self.removed.iter().enumerate() {
            for lone in std::iter::once(&removed.lone).chain(&removed.wanted) {
                if let Some(inode) = lone.inode.filter(|_| lone.entry.entry_type != EntryType::Directory) {
                    sources.entry(inode).or_insert_with(|| (index, lone.clone()));
                }
            }
        }
        let mut gone = BTreeSet::new();
        let created = std::mem::take(&mut self.created);
        for lone in created {
            let same = |source: &&(usize, LoneEntry)| source.1.entry.entry_type == lone.entry.entry_type;
            let source = lone.inode.filter(|inode| sources.get(inode).as_ref().is_some_and(same));
            let Some((index, source)) = source.and_then(|inode| sources.remove(&inode)) else {
                self.created.push(lone);
                continue;
            };
            if self.removed[index].lone.path == source.path {
                gone.insert(index);
            } else {
                self.removed[index].below = self.removed[index].below.saturating_sub(1);
            }
            let kind = ChangeKind::Renamed { from: source.path };
            self.changes.push(Change { path: lone.path, kind, before: Some(source.entry), after: Some(lone.entry) });
        }
        remove_indexes(&mut self.removed, &gone);
    }

    /// Joins files that disappeared in one place and appeared in another as they were.
    fn join_equal(&mut self) {
        let (mut gone, mut come) = (BTreeSet::new(), BTreeSet::new());
        let old = self.removed.iter().map(|removed| &removed.lone.entry);
        let new = self.created.iter().map(|created| &created.entry);
        for (old, new) in equal_files::renamed(old, new) {
            let (source, target) = (&self.removed[old].lone, &self.created[new]);
            self.changes.push(Change {
                path: target.path.clone(),
                kind: ChangeKind::Renamed { from: source.path.clone() },
                before: Some(source.entry.clone()),
                after: Some(target.entry.clone()),
            });
            gone.insert(old);
            come.insert(new);
        }
        remove_indexes(&mut self.removed, &gone);
        remove_indexes(&mut self.created, &come);
    }
}

fn remove_indexes<T>(items: &mut Vec<T>, indexes: &BTreeSet<usize>) {
    let mut index = 0;
    items.retain(|_| {
        index += 1;
        !indexes.contains(&(index - 1))
    });
}

/// Returns the sets of names in which a change is.
fn changed_links(links: Vec<Vec<PathBuf>>, changes: &[Change]) -> Vec<Vec<PathBuf>> {
    let is_changed = |path: &PathBuf| {
        let first = changes.partition_point(|change| change.path < *path);
        changes[first..].iter().take_while(|change| change.path == *path).any(|change| change.after.is_some())
    };
    let mut links: Vec<Vec<PathBuf>> =
        links.into_iter().filter(|names| names.len() > 1 && names.iter().any(is_changed)).collect();
    links.iter_mut().for_each(|names| names.sort());
    links.sort();
    links
}

/// Returns what is different between two states of an entry, or `None`.
///
/// Times of directories, sizes of directories and numbers of names are not compared: other changes have them as a
/// consequence. A file whose digests are missing counts as modified, because its content was not compared.
pub(crate) fn difference(before: &Entry, after: &Entry) -> Option<ChangeKind> {
    if before.entry_type != after.entry_type {
        return Some(ChangeKind::Replaced);
    }
    let is_file = after.entry_type == EntryType::File;
    let is_equal = before.size == after.size
        && before.target == after.target
        && (!is_file || (before.digest.is_some() && before.digest == after.digest));
    if !is_equal {
        return Some(ChangeKind::Modified);
    }
    if (before.mode, before.uid, before.gid, &before.xattrs) != (after.mode, after.uid, after.gid, &after.xattrs) {
        return Some(ChangeKind::Attributes);
    }
    let has_time = after.entry_type != EntryType::Directory;
    (has_time && before.modified != after.modified).then_some(ChangeKind::Times)
}
