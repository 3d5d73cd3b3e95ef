//! Bounded copies of trees, where an overlay is not exact or cannot be made.
//!
//! The copy is recorded as it was made: a user who may not give files away gets files of their own, and only what the
//! module does with them is a change. This file does not decide when a tree is copied.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::Bound;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, StatxFlags};

use crate::changes::change::{Change, ChangeKind, Entry, EntryType};
use crate::changes::change_list::{ChangeList, Incomplete};
use crate::changes::closed_modes::ClosedModes;
use crate::changes::entry_flags::{self, FOLDED_CASE};
use crate::changes::entry_reader::{self, FileId, FoundEntry};
use crate::changes::old_tree::OldTree;
use crate::changes::scan::{Candidates, UpperDirectory};
use crate::changes::tree_comparer::{Comparer, Sides};
use crate::error::LayerError;
use crate::quota::{ListBounds, Quota};
use crate::tree_root::TreeRoot;
use crate::trees::file_copy;

/// How much longer files may be than their blocks, because holes are read too.
const HOLES: u64 = 8;

/// What tells a file from a later one with the same inode: the type and the time of its birth, if the file system has it.
type Identity = (FileId, u16, Option<(i64, u32)>);

/// The state of a copy when it was made.
#[derive(Debug, Default)]
pub(crate) struct CopyRecord {
    entries: BTreeMap<PathBuf, FoundEntry>,
    /// Paths by identity; of a file with several names, one of them.
    paths: BTreeMap<Identity, PathBuf>,
    /// Numbers of names outside the tree.
    outside: BTreeMap<FileId, u64>,
    /// The real states of entries whose owner or attributes could not be copied.
    inexact: BTreeMap<PathBuf, Entry>,
}

impl OldTree for CopyRecord {
    fn read(&self, path: &Path) -> io::Result<Option<FoundEntry>> {
        Ok(self.entries.get(path).cloned())
    }

    fn names_in(&self, path: &Path) -> io::Result<Vec<OsString>> {
        // The order of paths is that of their parts, so all paths below a directory follow it.
        let below = self.entries.range::<Path, _>((Bound::Excluded(path), Bound::Unbounded));
        let below = below.map(|(entry, _)| entry).take_while(|entry| entry.starts_with(path));
        Ok(below
            .filter(|entry| entry.parent() == Some(path))
            .filter_map(|entry| entry.file_name())
            .map(OsStr::to_owned)
            .collect())
    }

    fn content(&self) -> Option<&TreeRoot> {
        None
    }
}

#[derive(Debug)]
pub(crate) struct TreeCopy {
    /// The copy.
    pub(crate) view: TreeRoot,
    record: CopyRecord,
    closed: ClosedModes,
}

impl TreeCopy {
    /// Copies a whole tree into an empty directory. `path` names the tree in errors.
    ///
    /// # Errors
    ///
    /// A part of the tree cannot be read or made, or the tree is larger than the quota.
    pub(crate) fn new(from: &TreeRoot, view: TreeRoot, quota: Quota, path: &Path) -> Result<Self, LayerError> {
        Copier::new(from, view, quota, path).copy(None)
    }

    /// Copies one entry of a directory, if it exists, into an empty directory.
    ///
    /// # Errors
    ///
    /// The same.
    pub(crate) fn of_name(
        from: &TreeRoot,
        name: &OsStr,
        view: TreeRoot,
        quota: Quota,
        path: &Path,
    ) -> Result<Self, LayerError> {
        Copier::new(from, view, quota, path).copy(Some(name))
    }

    /// Returns an entry whose owner or attributes this user could not give to its copy.
    pub(crate) fn inexact(&self) -> Option<&Path> {
        self.record.inexact.keys().next().map(PathBuf::as_path)
    }

    /// Returns the changes of a copy that is not written any more.
    ///
    /// # Errors
    ///
    /// The copy cannot be read.
    pub(crate) fn changes(&self, bounds: ListBounds) -> io::Result<ChangeList> {
        let candidates = self.candidates()?;
        let Some(root) = self.record.entries.get(Path::new("")) else {
            return Err(io::Error::other("the copy has no record"));
        };
        let sides = Sides { view: &self.view, old: &self.record, root, closed: Some(&self.closed) };
        let mut list = Comparer::list(sides, &candidates, &self.record.outside, bounds, |_| Ok(Vec::new()))?;
        let touched = list.changes.iter().flat_map(touched);
        let foreign = touched.filter(|path| self.record.inexact.contains_key(*path));
        let foreign: BTreeSet<Incomplete> =
            foreign.map(|path| Incomplete::ForeignOwner { path: path.to_owned() }).collect();
        list.incomplete.extend(foreign);
        self.tell_real_owners(&mut list);
        Ok(list)
    }

    /// Puts the real owners and attributes into the states of removed entries. Who may write a directory may remove what
    /// belongs to others, so nothing else says that such an entry could not be copied exactly.
    fn tell_real_owners(&self, list: &mut ChangeList) {
        for change in list.changes.iter_mut().filter(|change| matches!(change.kind, ChangeKind::Removed { .. })) {
            if let (Some(before), Some(real)) = (&mut change.before, self.record.inexact.get(&change.path)) {
                *before = Entry { digest: before.digest, links: before.links, ..real.clone() };
            }
        }
    }

    /// Walks the copy and finds where each old entry is now.
    fn candidates(&self) -> io::Result<Candidates> {
        let mut found = Candidates::default();
        found.directories.insert(PathBuf::new(), UpperDirectory { merged: Some(PathBuf::new()) });
        let mut pending = vec![PathBuf::new()];
        self.closed.open(&self.view)?;
        while let Some(directory) = pending.pop() {
            let merged = found.directories.get(&directory).and_then(|directory| directory.merged.clone());
            let names = self.view.names(&directory)?;
            if let Some(merged) = &merged {
                let gone = self.record.names_in(merged)?.into_iter().filter(|name| names.binary_search(name).is_err());
                found.hidden.extend(gone.map(|name| merged.join(name)));
            }
            for name in names {
                let path = directory.join(&name);
                let gone = || io::Error::other("an entry of the copy disappeared");
                let opened = self.view.look(&path)?.ok_or_else(gone)?;
                self.closed.open(&opened)?;
                let (identity, is_directory) = identity(&opened)?;
                let old = self.record.paths.get(&identity);
                if !is_directory {
                    found.others.insert(path, old.is_some());
                    continue;
                }
                if let Some(old) =
                    old.filter(|old| merged.as_ref().map(|merged| merged.join(&name)).as_ref() != Some(*old))
                {
                    found.moved.insert(old.clone());
                }
                found.directories.insert(path.clone(), UpperDirectory { merged: old.cloned() });
                pending.push(path);
            }
        }
        Ok(found)
    }
}

/// Returns the entries whose owners and modes decide whether a change is allowed: the entry if it is written, and its
/// directory if a name is made or removed.
fn touched(change: &Change) -> impl Iterator<Item = &Path> {
    let (entry, names) = match &change.kind {
        ChangeKind::Created | ChangeKind::Removed { .. } => (None, [change.path.parent(), None]),
        ChangeKind::Renamed { from } => (Some(from.as_path()), [change.path.parent(), from.parent()]),
        _ => (Some(change.path.as_path()), [None, None]),
    };
    entry.into_iter().chain(names.into_iter().flatten())
}

/// Returns the identity of an open entry, and whether it is a directory.
fn identity(opened: &OwnedFd) -> io::Result<(Identity, bool)> {
    let stat = rustix::fs::fstat(opened)?;
    let file_type = FileType::from_raw_mode(stat.st_mode);
    let birth = rustix::fs::statx(opened, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok();
    let birth = birth.filter(|found| found.stx_mask & StatxFlags::BTIME.bits() != 0);
    let birth = birth.map(|found| (found.stx_btime.tv_sec, found.stx_btime.tv_nsec));
    let format = u16::try_from(file_type.as_raw_mode() >> 12).unwrap_or(0);
    Ok((((stat.st_dev, stat.st_ino), format, birth), file_type.is_dir()))
}

struct Copier<'a> {
    from: &'a TreeRoot,
    view: TreeRoot,
    path: &'a Path,
    quota: Quota,
    /// Number of bytes that may still be read, with those of holes.
    read_bytes: u64,
    record: CopyRecord,
    /// Where the first name of each file with several was copied to, with the number of names not found yet.
    linked: BTreeMap<FileId, (PathBuf, u64)>,
}

impl<'a> Copier<'a> {
    fn new(from: &'a TreeRoot, view: TreeRoot, quota: Quota, path: &'a Path) -> Self {
        let read_bytes = quota.bytes.saturating_mul(HOLES);
        Self { from, view, path, quota, read_bytes, record: CopyRecord::default(), linked: BTreeMap::new() }
    }

    /// Copies everything, or the entry of one name.
    fn copy(mut self, name: Option<&OsStr>) -> Result<TreeCopy, LayerError> {
        let mut directories = vec![PathBuf::new()];
        let mut next = 0;
        while let Some(directory) = directories.get(next).cloned() {
            next += 1;
            self.refuse_folded_case(&directory)?;
            let names = match name {
                Some(name) => vec![name.to_owned()],
                None => self.from.names(&directory).map_err(|cause| self.failed(&directory, cause))?,
            };
            for name in names {
                let path = directory.join(name);
                let is_directory = self.copy_entry(&path).map_err(|cause| self.failed(&path, cause))?;
                if is_directory {
                    directories.push(path);
                }
            }
            if name.is_some() {
                break;
            }
        }
        // After what was made in them, which changes their times, and the deepest first: a mode can close a directory.
        for directory in directories.iter().rev() {
            self.finish_directory(directory).map_err(|cause| self.failed(directory, cause))?;
        }
        self.record_links();
        Ok(TreeCopy { view: self.view, record: self.record, closed: ClosedModes::default() })
    }

    /// Refuses a directory in which a module finds names that its copy does not have.
    fn refuse_folded_case(&self, path: &Path) -> Result<(), LayerError> {
        let directory = self.from.open_directory(path).map_err(|cause| self.failed(path, cause))?;
        if entry_flags::folds_case(directory).map_err(|cause| self.failed(path, cause))? {
            let (path, reason) = (self.path.join(path), FOLDED_CASE.to_owned());
            return Err(LayerError::Unfit { path, reason, remedy: "grant the directories beside it" });
        }
        Ok(())
    }

    /// Copies an entry. Returns whether it is a directory.
    fn copy_entry(&mut self, path: &Path) -> io::Result<bool> {
        let Some((found, stat)) = file_copy::look(self.from, path)? else { return Ok(false) };
        let is_directory = found.entry.entry_type == EntryType::Directory;
        if let Some((first, rest)) = self.linked.get_mut(&found.id).filter(|_| !is_directory) {
            rustix::fs::linkat(&self.view, &*first, &self.view, path, AtFlags::empty())?;
            *rest = rest.saturating_sub(1);
        } else {
            let full =
                || io::Error::new(io::ErrorKind::QuotaExceeded, "with it, the copy is larger than a layer may be");
            let blocks = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
            let bytes = if is_directory { 0 } else { found.entry.size.min(blocks) };
            self.quota.bytes = self.quota.bytes.checked_sub(bytes).ok_or_else(full)?;
            self.read_bytes = self.read_bytes.checked_sub(found.entry.size).ok_or_else(full)?;
            self.quota.files = self.quota.files.checked_sub(1).ok_or_else(full)?;
            file_copy::copy(self.from, &self.view, path, &found, &stat)?;
            if found.entry.links > 1 && !is_directory {
                self.linked.insert(found.id, (path.to_owned(), found.entry.links - 1));
            }
        }
        if !is_directory {
            self.record_entry(path, &found)?;
        }
        Ok(is_directory)
    }

    fn finish_directory(&mut self, path: &Path) -> io::Result<()> {
        let gone = || io::Error::new(io::ErrorKind::InvalidData, "it was changed while it was copied");
        let (found, stat) = file_copy::look(self.from, path)?.ok_or_else(gone)?;
        file_copy::describe(&self.view, path, &found, &stat)?;
        self.record_entry(path, &found)
    }

    /// Records the state of a copied entry.
    fn record_entry(&mut self, path: &Path, original: &FoundEntry) -> io::Result<()> {
        let gone = || io::Error::other("an entry of the copy disappeared");
        let opened = self.view.look(path)?.ok_or_else(gone)?;
        let mut copy = entry_reader::read_opened(&opened, &rustix::fs::fstat(&opened)?)?;
        if copy.entry.entry_type == EntryType::File {
            copy.entry.digest = Some(entry_reader::digest(&self.view, path, &copy)?);
        }
        if file_copy::is_inexact(original, &copy) {
            self.record.inexact.insert(path.to_owned(), original.entry.clone());
        }
        let (identity, _) = identity(&opened)?;
        self.record.paths.entry(identity).or_insert_with(|| path.to_owned());
        self.record.entries.insert(path.to_owned(), copy);
        Ok(())
    }

    /// Records the names of files outside the tree, and the number of those inside, which is known only now.
    fn record_links(&mut self) {
        let mut names: BTreeMap<FileId, u64> = BTreeMap::new();
        let files = || |entry: &&mut FoundEntry| entry.entry.entry_type != EntryType::Directory;
        for found in self.record.entries.values_mut().filter(files()) {
            *names.entry(found.id).or_default() += 1;
        }
        for found in self.record.entries.values_mut().filter(files()) {
            found.entry.links = names.get(&found.id).copied().unwrap_or(1);
        }
        for (path, rest) in self.linked.values().filter(|(_, rest)| *rest > 0) {
            if let Some(found) = self.record.entries.get(path) {
                self.record.outside.insert(found.id, *rest);
            }
        }
    }

    fn failed(&self, path: &Path, cause: io::Error) -> LayerError {
        LayerError::Copy { path: self.path.join(path), cause }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;
    use tempfile::TempDir;

    use super::*;
    use crate::trees::tree_tests::{Edit, apply, copy, edit, edit_tree, make_tree, place, snapshot, words};

    const QUOTA: Quota = Quota { bytes: 64 << 20, files: 10_000 };

    fn fixture() -> (TempDir, TreeRoot) {
        let directory = tempfile::tempdir().unwrap();
        for name in ["tree", "copy"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        make_tree(&directory.path().join("tree"));
        let real = TreeRoot::open(&directory.path().join("tree")).unwrap();
        (directory, real)
    }

    fn copied(directory: &TempDir, real: &TreeRoot, quota: Quota) -> Result<TreeCopy, LayerError> {
        let view = TreeRoot::open(&directory.path().join("copy")).unwrap();
        TreeCopy::new(real, view, quota, &directory.path().join("tree"))
    }

    #[test]
    fn an_untouched_copy_has_no_changes_and_is_equal() {
        let (directory, real) = fixture();
        let sparse = fs::File::create(directory.path().join("tree/sparse")).unwrap();
        sparse.set_len(48 << 20).unwrap();
        let untouched = snapshot(&directory.path().join("tree"), true, true);
        let copied = copied(&directory, &real, QUOTA).unwrap();
        assert_eq!(copied.changes(ListBounds::default()).unwrap(), ChangeList::default());
        assert_eq!(snapshot(&directory.path().join("tree"), true, true), untouched);
        assert!(fs::metadata(directory.path().join("copy/sparse")).unwrap().blocks() < 100);
        fs::remove_file(directory.path().join("copy/sparse")).unwrap();
        fs::remove_file(directory.path().join("tree/sparse")).unwrap();
        let trees = ["tree", "copy"].map(|name| snapshot(&directory.path().join(name), false, true));
        assert_eq!(trees[0], trees[1]);
    }

    #[test]
    fn a_change_of_an_immutable_file_is_not_told_as_possible() {
        let (directory, real) = fixture();
        let opened = fs::File::open(directory.path().join("tree/a/c")).unwrap();
        let Ok(flags) = rustix::fs::ioctl_getflags(&opened) else { return };
        if rustix::fs::ioctl_setflags(&opened, flags | rustix::fs::IFlags::IMMUTABLE).is_err() {
            return;
        }
        let copied = copied(&directory, &real, QUOTA).unwrap();
        rustix::fs::ioctl_setflags(&opened, flags).unwrap();
        fs::write(place(&copied.view).join("a/c"), "new").unwrap();
        let list = copied.changes(ListBounds::default()).unwrap();
        assert_eq!(words(&list), ["modified a/c"]);
        assert_eq!(list.incomplete, [Incomplete::ForeignOwner { path: "a/c".into() }]);
    }

    #[test]
    fn a_tree_beyond_the_quota_is_refused_by_name() {
        let (directory, real) = fixture();
        let error = copied(&directory, &real, Quota { bytes: 64 << 20, files: 3 }).unwrap_err().to_string();
        assert!(
            error.contains("larger than a layer may be; grant less, or raise --max-disk") && error.contains("/tree/"),
            "{error}"
        );
    }

    #[test]
    fn a_file_with_names_outside_is_incomplete_if_it_is_written() {
        let (directory, real) = fixture();
        fs::hard_link(directory.path().join("tree/a/c"), directory.path().join("outside")).unwrap();
        let copied = copied(&directory, &real, QUOTA).unwrap();
        fs::write(place(&copied.view).join("a/c"), "other").unwrap();
        let list = copied.changes(ListBounds::default()).unwrap();
        assert_eq!(words(&list), ["modified a/c"]);
        assert_eq!(list.incomplete, [Incomplete::HardLink { path: "a/c".into(), others: 1 }]);
    }

    #[test]
    fn a_removed_entry_is_told_with_its_real_owner() {
        let (directory, real) = fixture();
        let mut copied = copied(&directory, &real, QUOTA).unwrap();
        let path = PathBuf::from("a/c");
        let of_copy = copied.record.entries[&path].entry.clone();
        let foreign = Entry { uid: of_copy.uid + 1, digest: None, ..of_copy.clone() };
        copied.record.inexact.insert(path.clone(), foreign.clone());
        fs::remove_file(place(&copied.view).join(&path)).unwrap();
        let list = copied.changes(ListBounds::default()).unwrap();
        assert_eq!(words(&list), ["removed a/c 0"]);
        assert_eq!(list.changes[0].before, Some(Entry { digest: of_copy.digest, ..foreign }));
        assert_eq!(list.incomplete, []);
    }

    #[test]
    fn changes_of_a_copy_applied_to_another_equal_a_direct_edit() {
        let config = ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() };
        let edits = proptest::collection::vec(edit(), 1..12);
        TestRunner::new(config)
            .run(&edits, |edits| {
                check(&edits);
                Ok(())
            })
            .unwrap();
    }

    /// Does the edits in a copy and directly, and compares.
    fn check(edits: &[Edit]) {
        let (directory, real) = fixture();
        let at = |name: &str| directory.path().join(name);
        let untouched = snapshot(&at("tree"), true, true);
        copy(&at("tree"), &at("direct"));
        copy(&at("tree"), &at("applied"));
        let copied = copied(&directory, &real, QUOTA).unwrap();
        for edit in edits {
            assert_eq!(edit_tree(&at("copy"), edit), edit_tree(&at("direct"), edit), "{edit:?}");
        }
        let list = copied.changes(ListBounds::default()).unwrap();
        assert_eq!(snapshot(&at("tree"), true, true), untouched);
        apply(&list, &at("copy"), &at("applied"));
        assert_eq!(
            snapshot(&at("applied"), false, false),
            snapshot(&at("direct"), false, false),
            "{:#?}",
            words(&list)
        );
        assert_eq!(snapshot(&at("applied"), false, true), snapshot(&at("copy"), false, true), "{:#?}", words(&list));
    }
}
