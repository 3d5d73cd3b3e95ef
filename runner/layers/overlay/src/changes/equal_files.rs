//! Renames of files that no number of an inode shows, by what the files are.
//!
//! In an overlay of an ordinary user, a file that is renamed gets a new number. It is told as renamed only if no other file
//! can be meant: the old and the new one have the same bytes, attributes and modification time, and no other removed or
//! created file has them. An empty file is never meant: many are equal. This file is pure.

use std::collections::BTreeMap;

use crate::changes::change::{Digest, Entry, EntryType};

/// What a file is beside its name.
type Likeness<'a> = (Digest, u64, i128, (u32, u32, u32), &'a BTreeMap<String, Vec<u8>>);

/// Returns the indexes of files that were renamed: of the removed and of the created one.
pub(crate) fn renamed<'a>(
    removed: impl Iterator<Item = &'a Entry>,
    created: impl Iterator<Item = &'a Entry>,
) -> Vec<(usize, usize)> {
    let (old, new) = (unique(removed), unique(created));
    let pair = |(likeness, old): (&Likeness<'_>, &Option<usize>)| Some(((*old)?, (*new.get(likeness)?)?));
    old.iter().filter_map(pair).collect()
}

/// Returns the index of each file with a likeness, or `None` for one that several have.
fn unique<'a>(entries: impl Iterator<Item = &'a Entry>) -> BTreeMap<Likeness<'a>, Option<usize>> {
    let mut found = BTreeMap::new();
    for (index, entry) in entries.enumerate() {
        if let Some(likeness) = likeness(entry) {
            found.entry(likeness).and_modify(|index| *index = None).or_insert(Some(index));
        }
    }
    found
}

fn likeness(entry: &Entry) -> Option<Likeness<'_>> {
    let digest = entry.digest.filter(|_| entry.entry_type == EntryType::File && entry.size > 0 && entry.links == 1)?;
    Some((digest, entry.size, entry.modified, (entry.mode, entry.uid, entry.gid), &entry.xattrs))
}
