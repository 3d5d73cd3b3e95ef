//! Makes the entries of paths fewer: a directory instead of many paths in it, and no path inside a granted directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use modbox_policy::granted_host;
use modbox_vocabulary::Capability;

use super::model::{Entry, Reasons};

/// Maximum number of paths in one directory that stay single entries.
const MAX_SIBLINGS: usize = 8;

/// Replaces many paths of one directory by the directory, and removes entries that others include.
pub(super) fn reduce(entries: &mut BTreeMap<Entry, Reasons>) {
    widen(entries);
    drop_included(entries);
}

/// Returns the path of an entry that has the same path in the sandbox.
fn path_of(entry: &Entry) -> Option<&Path> {
    let (capability, text) = entry;
    let is_path = matches!(capability, Capability::Read | Capability::Write) && granted_host(text) == text;
    is_path.then(|| Path::new(text)).filter(|path| path.is_absolute())
}

fn widen(entries: &mut BTreeMap<Entry, Reasons>) {
    let mut folders: BTreeMap<(Capability, PathBuf), Vec<Entry>> = BTreeMap::new();
    for entry in entries.keys() {
        // A directory at the top, such as `/etc`, is never the answer.
        let folder = path_of(entry).and_then(Path::parent).filter(|folder| folder.components().count() > 2);
        if let Some(folder) = folder {
            folders.entry((entry.0, folder.to_owned())).or_default().push(entry.clone());
        }
    }
    for ((capability, folder), inner) in folders {
        let Some(text) = folder.to_str().filter(|_| inner.len() > MAX_SIBLINGS && folder.is_dir()) else { continue };
        let mut all = Reasons { widened: inner.len(), ..Reasons::default() };
        for reasons in inner.iter().filter_map(|entry| entries.remove(entry)) {
            merge(&mut all, reasons);
        }
        merge(entries.entry((capability, text.to_owned())).or_default(), all);
    }
}

fn drop_included(entries: &mut BTreeMap<Entry, Reasons>) {
    let all: Vec<Entry> = entries.keys().cloned().collect();
    for entry in &all {
        let outer = path_of(entry).and_then(|path| including(entries, entry, path));
        if let Some(outer) = outer
            && let Some(reasons) = entries.remove(entry)
        {
            merge(entries.entry(outer).or_default(), reasons);
        }
    }
}

/// Returns the entry of the innermost directory that includes a path of another entry.
fn including(entries: &BTreeMap<Entry, Reasons>, entry: &Entry, path: &Path) -> Option<Entry> {
    let around = path.ancestors().filter_map(Path::to_str);
    let both = around.flat_map(|outer| [Capability::Write, entry.0].map(|capability| (capability, outer.to_owned())));
    both.into_iter().find(|outer| outer != entry && entries.contains_key(outer))
}

fn merge(into: &mut Reasons, other: Reasons) {
    into.widened += other.widened;
    for (cause, found) in other.causes {
        into.causes.entry(cause).or_default().merge(found);
    }
}
