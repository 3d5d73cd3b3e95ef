//! Makes the list of changes that people and programs read: absolute paths, words, and bounded text differences.
//!
//! What leaves this file is masked: lines of a file that other users may not read, or that a run under `no_log` may have
//! written, are counted and not shown, and secrets are replaced. This file compares no trees.

use std::io;
use std::path::{Path, PathBuf};

use modbox_overlay::change::{Change, ChangeKind, Entry, EntryType};
use modbox_overlay::change_list::{ChangeList, Incomplete, Totals};
use modbox_overlay::layers::Layer;
use modbox_overlay::text_diff::{self, ContentDiff, DiffBounds, Visibility};

use crate::layered::changes::hidden_content::HiddenContent;
use crate::reports::parts::effect_report::{
    LineCounts, Remark, ShownChange, ShownContent, ShownEntry, ShownKind, ShownType,
};

/// Maximum number of changes that are shown. Totals count all of them.
pub(crate) const MAX_CHANGES: usize = 1000;

/// Maximum bytes of all text differences together.
const MAX_TEXT: usize = 1 << 20;

/// Maximum number of remarks about what could not be seen.
const MAX_REMARKS: usize = 100;

/// Changes as they are shown.
#[derive(Debug, Default)]
pub(crate) struct ShownChanges {
    pub(crate) totals: Totals,
    pub(crate) changes: Vec<ShownChange>,
    pub(crate) cut: u64,
    pub(crate) links: Vec<Vec<String>>,
    pub(crate) incomplete: Vec<Remark>,
}

/// Returns the content of a changed entry before and after, as [`Layer::contents`] does.
type ReadContents<'a> = &'a dyn Fn(&Change, u64) -> io::Result<[Vec<u8>; 2]>;

/// Tree that was changed.
#[derive(Clone, Copy)]
pub(crate) struct ChangedTree<'a> {
    /// Path on the machine of the granted directory or name.
    pub(crate) root: &'a Path,
    /// Reads contents of its entries.
    pub(crate) contents: ReadContents<'a>,
}

/// What may be shown of contents.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shows<'a> {
    /// Whether the lines of all files are shown.
    pub(crate) all_lines: bool,
    /// What is not shown of any file.
    pub(crate) hidden: &'a HiddenContent,
}

impl ShownChanges {
    pub(crate) fn add(&mut self, layer: &Layer, list: &ChangeList, shows: Shows<'_>) {
        let contents = |change: &Change, bound| layer.contents(change, bound);
        self.add_tree(ChangedTree { root: layer.path(), contents: &contents }, list, shows);
    }

    pub(crate) fn add_tree(&mut self, tree: ChangedTree<'_>, list: &ChangeList, shows: Shows<'_>) {
        self.totals = self.totals.plus(&list.totals);
        let shown = MAX_CHANGES.saturating_sub(self.changes.len());
        self.cut += list.cut + list.changes.len().saturating_sub(shown) as u64;
        for change in list.changes.iter().take(shown) {
            let shown = self.shown(tree, change, shows);
            self.changes.push(shown);
        }
        let left = MAX_CHANGES.saturating_sub(self.links.iter().map(Vec::len).sum());
        let mut listed = 0;
        let sets = list.links.iter().take_while(|set| {
            listed += set.len();
            listed <= left
        });
        let all = |set: &Vec<PathBuf>| set.iter().map(|path| shows.path(tree.root, path)).collect();
        self.links.extend(sets.map(all));
        let left = MAX_REMARKS.saturating_sub(self.incomplete.len());
        self.incomplete.extend(list.incomplete.iter().take(left).map(|part| remark(tree.root, part, shows)));
    }

    fn shown(&self, tree: ChangedTree<'_>, change: &Change, shows: Shows<'_>) -> ShownChange {
        let (kind, from, entries) = match &change.kind {
            ChangeKind::Created => (ShownKind::Created, None, None),
            ChangeKind::Removed { entries: 0 } => (ShownKind::Removed, None, None),
            ChangeKind::Removed { entries } => (ShownKind::Removed, None, Some(*entries)),
            ChangeKind::Modified => (ShownKind::Modified, None, None),
            ChangeKind::Replaced => (ShownKind::Replaced, None, None),
            ChangeKind::Renamed { from } => (ShownKind::Renamed, Some(shows.path(tree.root, from)), None),
            ChangeKind::Attributes => (ShownKind::Attributes, None, None),
            ChangeKind::Times => (ShownKind::Times, None, None),
        };
        let path = change.path_below(tree.root);
        let mut shown = ShownChange {
            path: shows.path(tree.root, &change.path),
            kind,
            from,
            entries,
            before: change.before.as_ref().map(|state| entry(state, &path, shows)),
            after: change.after.as_ref().map(|state| entry(state, &path, shows)),
            content: None,
            diff: None,
            lines: None,
        };
        if digest(change.before.as_ref()) != digest(change.after.as_ref()) {
            self.add_content(&mut shown, tree, change, shows);
        }
        shown
    }

    fn add_content(&self, shown: &mut ShownChange, tree: ChangedTree<'_>, change: &Change, shows: Shows<'_>) {
        let used: usize = self.changes.iter().filter_map(|change| change.diff.as_ref()).map(String::len).sum();
        let mut bounds = DiffBounds::default();
        bounds.text = bounds.text.min(MAX_TEXT.saturating_sub(used));
        let Ok([before, after]) = (tree.contents)(change, bounds.content as u64) else {
            shown.content = Some(ShownContent::Unread);
            return;
        };
        let is_hidden = shows.hidden.hides(&change.path_below(tree.root));
        if is_hidden {
            // The digest of a short secret tells it to those who try all of them.
            [&mut shown.before, &mut shown.after].into_iter().flatten().for_each(|entry| entry.sha256 = None);
        }
        let modes = [&change.before, &change.after].into_iter().flatten().map(|entry| entry.mode);
        let visibility = match is_hidden {
            true => Visibility::Hidden,
            false => Visibility::of_modes(modes, shows.all_lines),
        };
        let mask = |text: &str| shows.hidden.lines(text);
        let count = |added, removed| Some(LineCounts { added, removed });
        match text_diff::compare(&before, &after, visibility, bounds, mask) {
            ContentDiff::Same => {}
            ContentDiff::Text { diff, added, removed } => {
                (shown.content, shown.diff, shown.lines) =
                    (Some(ShownContent::Text), Some(diff), count(added, removed));
            }
            ContentDiff::Secret { added, removed } => {
                let content = if is_hidden { ShownContent::NoLog } else { ShownContent::Secret };
                (shown.content, shown.lines) = (Some(content), count(added, removed));
            }
            ContentDiff::Binary => shown.content = Some(ShownContent::Binary),
            ContentDiff::TooLong => shown.content = Some(ShownContent::TooLong),
        }
    }
}

fn digest(entry: Option<&Entry>) -> Option<[u8; 32]> {
    entry.and_then(|entry| entry.digest)
}

fn whole(root: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { root.to_owned() } else { root.join(path) }
}

impl Shows<'_> {
    /// Returns the path of a file below the top of a layer.
    fn path(self, root: &Path, path: &Path) -> String {
        self.hidden.path(&whole(root, path))
    }
}

fn entry(entry: &Entry, path: &Path, shows: Shows<'_>) -> ShownEntry {
    let masked = |text: &Path| shows.hidden.of_file(path, text);
    let entry_type = match entry.entry_type {
        EntryType::File => ShownType::File,
        EntryType::Directory => ShownType::Directory,
        EntryType::Symlink => ShownType::Link,
        EntryType::Special => ShownType::Special,
    };
    ShownEntry {
        entry_type,
        mode: format!("{:04o}", entry.mode),
        uid: entry.uid,
        gid: entry.gid,
        size: entry.size,
        modified_ns: entry.modified.to_string(),
        target: entry.target.as_ref().map(|target: &PathBuf| masked(target)),
        sha256: entry.digest.map(|digest| digest.iter().map(|byte| format!("{byte:02x}")).collect()),
        xattrs: entry.xattrs.keys().map(|name| masked(Path::new(name))).collect(),
    }
}

fn remark(root: &Path, part: &Incomplete, shows: Shows<'_>) -> Remark {
    let why = match part {
        Incomplete::HardLink { others, .. } => {
            format!("it has {others} more names outside the grant, which a direct run would change, too")
        }
        Incomplete::Unread { cause, .. } => format!("it could not be read: {cause}"),
        Incomplete::Uncompared { .. } => "its content was not compared: there is too much to read".to_owned(),
        Incomplete::Unlisted { .. } => "entries were not looked at: there are too many".to_owned(),
        Incomplete::ForeignOwner { .. } => "its owner or an attribute could not be simulated".to_owned(),
        Incomplete::Unstable { .. } => "another process changed it during the run".to_owned(),
    };
    Remark { path: shows.path(root, part.path()), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_different() {
        let hidden = HiddenContent::default();
        let shows = Shows { all_lines: false, hidden: &hidden };
        assert_eq!(shows.path(Path::new("/srv"), Path::new("")), "/srv");
        assert_eq!(shows.path(Path::new("/srv"), Path::new("a")), "/srv/a");
    }

    #[test]
    fn remarks_name_the_path_and_the_reason() {
        let part = Incomplete::HardLink { path: "a".into(), others: 2 };
        let hidden = HiddenContent::default();
        let shown = remark(Path::new("/srv"), &part, Shows { all_lines: false, hidden: &hidden });
        assert_eq!(shown.path, "/srv/a");
        assert!(shown.why.contains("2 more names"), "{}", shown.why);
    }
}
