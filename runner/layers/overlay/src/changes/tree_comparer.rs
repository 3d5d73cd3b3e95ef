//! Compares an old tree with the new state of its candidates.
//!
//! The new state is read through the view, as the module saw it. The old state is that of the real directory, or of a
//! copy as it was made. Which paths are compared is decided by `scan` or by `tree_copy`, and what counts as a change by
//! `comparison`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::changes::change::EntryType;
use crate::changes::change_list::{ChangeList, Incomplete};
use crate::changes::closed_modes::ClosedModes;
use crate::changes::comparison::{Findings, LoneEntry, RemovedEntry, difference};
use crate::changes::content_reader::ContentReader;
use crate::changes::entry_bound::EntryBound;
use crate::changes::entry_flags::EntryFlags;
use crate::changes::entry_reader::{self, FileId, FoundEntry};
use crate::changes::old_tree::OldTree;
use crate::changes::scan::Candidates;
use crate::quota::ListBounds;
use crate::tree_root::TreeRoot;

/// The trees that are compared.
#[derive(Debug)]
pub(crate) struct Sides<'a, O> {
    /// The new tree.
    pub(crate) view: &'a TreeRoot,
    /// The old tree.
    pub(crate) old: &'a O,
    /// The root of the view before the run.
    pub(crate) root: &'a FoundEntry,
    /// Entries of the new tree with another mode than the module left.
    pub(crate) closed: Option<&'a ClosedModes>,
}

/// Comparison of one tree.
#[derive(Debug)]
pub(crate) struct Comparer<'a, O> {
    sides: Sides<'a, O>,
    candidates: &'a Candidates,
    findings: Findings,
    content: ContentReader,
    bound: EntryBound,
    /// Names after the run of files with several, and the number of names.
    names: BTreeMap<FileId, (u64, Vec<PathBuf>)>,
    /// Old entries that are not visible any more.
    removed: Vec<(PathBuf, FoundEntry)>,
    /// Numbers of names outside the tree, if the new tree does not count them.
    outside: &'a BTreeMap<FileId, u64>,
}

impl<O: OldTree> Comparer<'_, O> {
    /// Compares all candidates, and other entries that are not directories and that `other_names` returns.
    ///
    /// # Errors
    ///
    /// The new tree cannot be read. What cannot be read of the old one is in the list.
    pub(crate) fn list(
        sides: Sides<'_, O>,
        candidates: &Candidates,
        outside: &BTreeMap<FileId, u64>,
        bounds: ListBounds,
        other_names: impl FnOnce(&mut EntryBound) -> io::Result<Vec<PathBuf>>,
    ) -> io::Result<ChangeList> {
        let mut comparer = Comparer {
            sides,
            candidates,
            outside,
            findings: Findings { finds_equal: candidates.has_new_numbers(), ..Findings::default() },
            content: ContentReader::new(bounds.read_bytes),
            bound: EntryBound::new(bounds.entries),
            names: BTreeMap::new(),
            removed: Vec::new(),
        };
        comparer.compare_root()?;
        for (path, directory) in candidates.directories.iter().skip(1) {
            comparer.compare_directory(path, directory.merged.as_deref())?;
        }
        for (path, copied) in &candidates.others {
            comparer.compare_other(path, *copied)?;
        }
        for path in other_names(&mut comparer.bound)? {
            comparer.compare_other(&path, false)?;
        }
        comparer.join_names();
        comparer.add_hidden();
        let Comparer { mut findings, content, bound, .. } = comparer;
        findings.incomplete.extend(content.into_incomplete());
        findings.incomplete.extend(bound.into_incomplete());
        Ok(findings.into_list(bounds.changes))
    }

    fn compare_root(&mut self) -> io::Result<()> {
        let after = self.after(Path::new(""))?;
        self.compare_flags(Path::new(""), Some(self.sides.root), &after);
        self.findings.compare(PathBuf::new(), None, self.sides.root.entry.clone(), after.entry);
        Ok(())
    }

    /// Compares a directory of the upper directory. `merged` is the old directory that is visible in it.
    fn compare_directory(&mut self, path: &Path, merged: Option<&Path>) -> io::Result<()> {
        let natural = self.natural(path);
        let old =
            merged.map(Path::to_owned).or_else(|| natural.clone().filter(|old| !self.candidates.moved.contains(old)));
        let before = old.as_deref().and_then(|old| self.before(old));
        let after = self.after(path)?;
        self.compare_flags(path, before.as_ref(), &after);
        let Some(before) = before else {
            self.findings.created.push(LoneEntry { path: path.to_owned(), entry: after.entry, inode: None });
            return Ok(());
        };
        let from = merged.filter(|merged| natural.as_deref() != Some(merged)).map(Path::to_owned);
        // A directory that was moved to the place of another one.
        let replaced = natural.filter(|old| from.is_some() && !self.candidates.moved.contains(old));
        if let Some((old, before)) = replaced.and_then(|old| self.before(&old).map(|before| (old, before))) {
            self.removed.push((old, before));
        }
        let was_directory = before.entry.entry_type == EntryType::Directory;
        self.findings.compare(path.to_owned(), from, before.entry, after.entry);
        match old {
            // What was in the directory before it was emptied.
            Some(old) if merged.is_none() && was_directory => self.compare_emptied(path, &old),
            _ => Ok(()),
        }
    }

    /// Adds the entries of an old directory that do not exist in the opaque one at its place.
    fn compare_emptied(&mut self, path: &Path, old: &Path) -> io::Result<()> {
        let names = match self.sides.old.names_in(old) {
            Ok(names) => names,
            Err(error) => {
                self.unread(old, &error);
                return Ok(());
            }
        };
        for name in names {
            if !self.bound.spend(old) {
                return Ok(());
            }
            let old = old.join(&name);
            if self.sides.view.look(&path.join(&name))?.is_none() && !self.candidates.moved.contains(&old) {
                let before = self.before(&old);
                self.removed.extend(before.map(|before| (old, before)));
            }
        }
        Ok(())
    }

    fn compare_other(&mut self, path: &Path, copied: bool) -> io::Result<()> {
        let mut after = self.after(path)?;
        let id = self.identity(path, &after);
        let links = after.entry.links.saturating_add(self.outside.get(&id).copied().unwrap_or(0));
        if links > 1 {
            let names = self.names.entry(id).or_insert_with(|| (links, Vec::new()));
            names.1.push(path.to_owned());
        }
        let old = self.natural(path).filter(|old| !self.candidates.moved.contains(old));
        let before = old.as_deref().and_then(|old| Some((old, self.before(old)?)));
        self.compare_flags(path, before.as_ref().map(|(_, before)| before), &after);
        let Some((old, mut before)) = before else {
            self.content.fill(Some(self.sides.view), path, &mut after);
            let inode = copied.then_some(after.id.1);
            self.findings.created.push(LoneEntry { path: path.to_owned(), entry: after.entry, inode });
            return Ok(());
        };
        self.content.fill_both((self.sides.old.content(), old, &mut before), (Some(self.sides.view), path, &mut after));
        self.findings.compare(path.to_owned(), None, before.entry, after.entry);
        Ok(())
    }

    /// Notes an entry whose flags are not those of before. A commit does not set them, and a copy up loses them.
    fn compare_flags(&mut self, path: &Path, before: Option<&FoundEntry>, after: &FoundEntry) {
        if before.map_or_else(EntryFlags::default, |before| before.flags) != after.flags {
            self.findings.incomplete.push(Incomplete::ForeignOwner { path: path.to_owned() });
        }
    }

    /// Joins the names of each file, and notes changed files that have names outside.
    fn join_names(&mut self) {
        let changed: BTreeSet<&Path> = self
            .findings
            .changes
            .iter()
            .filter(|change| {
                change.before.as_ref().zip(change.after.as_ref()).is_some_and(|(b, a)| difference(b, a).is_some())
            })
            .map(|change| change.path.as_path())
            .collect();
        let mut incomplete = Vec::new();
        for (links, names) in self.names.values() {
            let others = links.saturating_sub(names.len() as u64);
            if others == 0 {
                continue;
            }
            incomplete.extend(
                names
                    .iter()
                    .filter(|path| changed.contains(path.as_path()))
                    .map(|path| Incomplete::HardLink { path: path.clone(), others }),
            );
        }
        self.findings.incomplete.extend(incomplete);
        self.findings.links = self.names.values().map(|(_, names)| names.clone()).collect();
    }

    /// Adds the entries that are hidden, with the number of entries below them.
    fn add_hidden(&mut self) {
        let hidden: Vec<&PathBuf> =
            self.candidates.hidden.iter().filter(|old| !self.candidates.moved.contains(*old)).collect();
        for old in hidden {
            let before = self.before(old);
            self.removed.extend(before.map(|before| (old.clone(), before)));
        }
        let wanted: BTreeSet<u64> = self.findings.created.iter().filter_map(|lone| lone.inode).collect();
        for (path, mut found) in std::mem::take(&mut self.removed) {
            let (mut below, mut renamed) = (0, Vec::new());
            let old = self.sides.old.content();
            if wanted.contains(&found.id.1) {
                self.content.fill(old, &path, &mut found);
            } else {
                self.content.fill_removed(old, &path, &mut found);
            }
            if found.entry.entry_type == EntryType::Directory {
                (below, renamed) = self.below(&path, &wanted);
            }
            let lone = LoneEntry { path, inode: Some(found.id.1), entry: found.entry };
            self.findings.removed.push(RemovedEntry { lone, below, wanted: renamed });
        }
    }

    /// Counts the entries below an old directory, and returns those with wanted inodes.
    fn below(&mut self, directory: &Path, wanted: &BTreeSet<u64>) -> (u64, Vec<LoneEntry>) {
        let (mut count, mut found, mut pending) = (0_u64, Vec::new(), vec![directory.to_owned()]);
        while let Some(directory) = pending.pop() {
            let names = match self.sides.old.names_in(&directory) {
                Ok(names) => names,
                Err(error) => {
                    self.unread(&directory, &error);
                    continue;
                }
            };
            for name in names {
                let path = directory.join(name);
                if self.candidates.moved.contains(&path) {
                    continue;
                }
                if !self.bound.spend(&directory) {
                    return (count, found);
                }
                count += 1;
                let Some(mut before) = self.before(&path) else { continue };
                if before.entry.entry_type == EntryType::Directory {
                    pending.push(path);
                } else if wanted.contains(&before.id.1) {
                    self.content.fill(self.sides.old.content(), &path, &mut before);
                    found.push(LoneEntry { path, inode: Some(before.id.1), entry: before.entry });
                }
            }
        }
        (count, found)
    }

    /// Returns the old path that has the same name in the same directory.
    fn natural(&self, path: &Path) -> Option<PathBuf> {
        let parent = path.parent()?;
        let name = path.file_name()?;
        let old = match self.candidates.directories.get(parent) {
            // In a new directory at the place of an old one, the old entries count as the same.
            Some(directory) if directory.merged.is_none() => {
                self.natural(parent).filter(|old| !self.candidates.moved.contains(old))?
            }
            _ => self.candidates.old_of(parent)?,
        };
        Some(old.join(name))
    }

    fn after(&self, path: &Path) -> io::Result<FoundEntry> {
        let gone = || io::Error::other("an entry of the frozen layer disappeared");
        let mut found = entry_reader::read(self.sides.view, path)?.ok_or_else(gone)?;
        if let Some(closed) = self.sides.closed {
            found.entry.mode = closed.left(self.identity(path, &found), found.entry.mode);
        }
        Ok(found)
    }

    /// Returns the identity of an entry of the new tree.
    fn identity(&self, path: &Path, found: &FoundEntry) -> FileId {
        self.candidates.identities.get(path).copied().unwrap_or(found.id)
    }

    fn before(&mut self, old: &Path) -> Option<FoundEntry> {
        match self.sides.old.read(old) {
            Ok(found) => found,
            Err(error) => {
                self.unread(old, &error);
                None
            }
        }
    }

    fn unread(&mut self, path: &Path, error: &io::Error) {
        let unread = Incomplete::Unread { path: path.to_owned(), cause: error.to_string() };
        self.findings.incomplete.push(unread);
    }
}
