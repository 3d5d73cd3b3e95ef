//! Compares an overlay with the directory below it.
//!
//! The upper directory names most candidates. It does not name a file that was changed by another of its names; this file
//! finds those.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Stat;

use crate::changes::change_list::ChangeList;
use crate::changes::closed_modes::ClosedModes;
use crate::changes::entry_bound::EntryBound;
use crate::changes::entry_reader::FoundEntry;
use crate::changes::overlay_marks::OverlayMarks;
use crate::changes::scan::{self, Candidates};
use crate::changes::tree_comparer::{Comparer, Sides};
use crate::quota::ListBounds;
use crate::tree_root::TreeRoot;

/// A frozen overlay and the directory below it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrozenOverlay<'a> {
    /// The merged view.
    pub(crate) view: &'a TreeRoot,
    /// The directory with what was written.
    pub(crate) upper: &'a TreeRoot,
    /// The overlay's own directory.
    pub(crate) work: &'a TreeRoot,
    /// The real directory.
    pub(crate) real: &'a TreeRoot,
    /// The root of the view before the run.
    pub(crate) root: &'a FoundEntry,
    /// How the upper directory is marked.
    pub(crate) marks: OverlayMarks,
    /// Entries with another mode than the module left.
    pub(crate) closed: &'a ClosedModes,
}

/// Returns the changes of an overlay.
///
/// # Errors
///
/// The layer cannot be read. What cannot be read of the real directory is in the list.
pub(crate) fn changes(overlay: FrozenOverlay<'_>, bounds: ListBounds) -> io::Result<ChangeList> {
    let candidates = scan::candidates(overlay.upper, overlay.marks)?;
    let sides = Sides { view: overlay.view, old: overlay.real, root: overlay.root, closed: Some(overlay.closed) };
    Comparer::list(sides, &candidates, &BTreeMap::new(), bounds, |bound| {
        let is_needed = scan::has_linked_files(overlay.work)?;
        if is_needed { copied_names(overlay, &candidates, bound) } else { Ok(Vec::new()) }
    })
}

/// Returns the names in the view of files that were copied up by another name. The time of the status change, which a
/// module cannot choose, tells a copied file.
fn copied_names(
    overlay: FrozenOverlay<'_>,
    candidates: &Candidates,
    bound: &mut EntryBound,
) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut pending) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(directory) = pending.pop() {
        for name in overlay.view.names(&directory)? {
            if !bound.spend(&directory) {
                return Ok(found);
            }
            let path = directory.join(name);
            let Some(stat) = stat_of(overlay.view, &path)? else { continue };
            if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir() {
                pending.push(path);
                continue;
            }
            let old = candidates.old_of(&path).filter(|_| !candidates.others.contains_key(&path));
            let Some(old) = old else { continue };
            let changed = |stat: &Stat| (stat.st_ctime, stat.st_ctime_nsec);
            if stat_of(overlay.real, &old)?.as_ref().map(changed) != Some(changed(&stat)) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn stat_of(root: &TreeRoot, path: &Path) -> io::Result<Option<Stat>> {
    Ok(root.look(path)?.map(rustix::fs::fstat).transpose()?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;
    use tempfile::TempDir;

    use super::*;
    use crate::changes::change::{Entry, EntryType};
    use crate::changes::change_list::Incomplete;
    use crate::changes::entry_reader;
    use crate::quota::Quota;
    use crate::trees::tree_tests::{
        self, Edit, apply, copy, edit, edit_tree, make_tree, place, read_file, snapshot, words, writer,
    };
    use crate::views::mount::OverlayMount;

    const QUOTA: Quota = Quota { bytes: 64 << 20, files: 10_000 };

    struct Fixture {
        directory: TempDir,
        real: TreeRoot,
        root: FoundEntry,
        mount: OverlayMount,
    }

    impl Fixture {
        /// Makes a tree and an overlay over it. Returns `None` for ordinary users, because only root makes overlays.
        fn new() -> Option<Self> {
            let directory = tempfile::tempdir().unwrap();
            fs::create_dir(directory.path().join("tree")).unwrap();
            make_tree(&directory.path().join("tree"));
            Self::over(directory)
        }

        fn over(directory: TempDir) -> Option<Self> {
            if !rustix::process::geteuid().is_root() {
                return None;
            }
            let real = TreeRoot::open(&directory.path().join("tree")).unwrap();
            let mount = OverlayMount::new(&real, QUOTA, OverlayMarks::Trusted).unwrap();
            let root = entry_reader::read(&mount.view, Path::new("")).unwrap().unwrap();
            Some(Self { directory, real, root, mount })
        }

        fn tree(&self) -> PathBuf {
            self.directory.path().join("tree")
        }

        fn view(&self) -> PathBuf {
            place(&self.mount.view)
        }

        fn changes_within(&self, bounds: ListBounds) -> ChangeList {
            self.mount.freeze().unwrap();
            let overlay = FrozenOverlay {
                view: &self.mount.view,
                upper: &self.mount.upper,
                work: &self.mount.work,
                real: &self.real,
                root: &self.root,
                marks: OverlayMarks::Trusted,
                closed: &ClosedModes::default(),
            };
            changes(overlay, bounds).unwrap()
        }

        fn changes(&self) -> ChangeList {
            self.changes_within(ListBounds::default())
        }
    }

    #[test]
    fn each_sort_of_change_is_named() {
        let Some(fixture) = Fixture::new() else { return };
        let view = fixture.view();
        fs::write(view.join("a/c"), "other").unwrap();
        fs::set_permissions(view.join("a/a/b"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(view.join("b/c"), view.join("a/moved")).unwrap();
        fs::remove_file(view.join("a/moved/c")).unwrap();
        fs::write(view.join("a/moved/new"), "new").unwrap();
        fs::rename(view.join("a/a/a"), view.join("b/name")).unwrap();
        fs::remove_file(view.join("c")).unwrap();
        fs::create_dir(view.join("c")).unwrap();
        fs::File::open(view.join("a/b/a")).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        let list = fixture.changes();
        let expected = [
            "attributes a/a/b",
            "times a/b/a",
            "modified a/c",
            "renamed b/c a/moved",
            "created a/moved/new",
            "removed b/c/c 0",
            "renamed a/a/a b/name",
            "replaced c",
        ];
        assert_eq!(words(&list), expected);
        assert!(list.is_whole() && list.is_changed() && list.links.is_empty());
        // A file that was renamed with its content does not count as new bytes.
        assert_eq!(list.totals.bytes, ["other", "new"].concat().len() as u64);
        let is_unread = |old: &Entry| old.entry_type == EntryType::File && old.digest.is_none();
        assert!(!list.changes.iter().filter_map(|change| change.before.as_ref()).any(is_unread), "{list:?}");
    }

    #[test]
    fn a_large_file_that_was_removed_is_not_read() {
        let Some(fixture) = Fixture::new() else { return };
        fs::remove_file(fixture.view().join("a/c")).unwrap();
        let list = fixture.changes_within(ListBounds { read_bytes: 0, ..ListBounds::default() });
        assert!(list.is_whole(), "{list:?}");
    }

    #[test]
    fn what_is_written_with_equal_bytes_is_not_a_change() {
        let Some(fixture) = Fixture::new() else { return };
        let view = fixture.view();
        let before = fs::metadata(view.join("a/c")).unwrap().modified().unwrap();
        let bytes = read_file(&view.join("a/c"));
        fs::write(view.join("a/c"), bytes).unwrap();
        writer(&view.join("a/c")).set_modified(before).unwrap();
        fs::write(view.join("a/new"), "").unwrap();
        fs::remove_file(view.join("a/new")).unwrap();
        fs::rename(view.join("b"), view.join("d")).unwrap();
        fs::rename(view.join("d"), view.join("b")).unwrap();
        assert_eq!(fixture.changes(), ChangeList::default());
    }

    #[test]
    fn a_frozen_layer_is_read_only_and_an_open_file_prevents_the_freeze() {
        let Some(fixture) = Fixture::new() else { return };
        let open = writer(&fixture.view().join("a/c"));
        assert_eq!(fixture.mount.freeze().unwrap_err().raw_os_error(), Some(rustix::io::Errno::BUSY.raw_os_error()));
        drop(open);
        fixture.mount.freeze().unwrap();
        let error = fs::write(fixture.view().join("a/c"), "").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ReadOnlyFilesystem);
    }

    #[test]
    fn a_layer_ends_at_its_quota() {
        let Some(fixture) = Fixture::new() else { return };
        let error = fs::write(fixture.view().join("large"), vec![1; 65 << 20]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_module_cannot_forge_the_marks_of_an_overlay() {
        let Some(fixture) = Fixture::new() else { return };
        let flags = rustix::fs::XattrFlags::empty();
        for (name, value) in [("opaque", "y"), ("redirect", "/../../etc"), ("origin", "")] {
            let name = format!("trusted.overlay.{name}");
            rustix::fs::lsetxattr(fixture.view().join("a"), &*name, value.as_bytes(), flags).unwrap();
        }
        assert_eq!(words(&fixture.changes()), ["attributes a"]);
    }

    #[test]
    fn a_file_with_names_outside_is_incomplete_only_if_it_is_changed() {
        for is_changed in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            fs::create_dir(directory.path().join("tree")).unwrap();
            make_tree(&directory.path().join("tree"));
            fs::hard_link(directory.path().join("tree/a/c"), directory.path().join("outside")).unwrap();
            let Some(fixture) = Fixture::over(directory) else { return };
            if is_changed {
                fs::write(fixture.view().join("a/c"), "other").unwrap();
            } else {
                fs::hard_link(fixture.view().join("a/c"), fixture.view().join("a/second")).unwrap();
            }
            let outside = Incomplete::HardLink { path: "a/c".into(), others: 1 };
            assert_eq!(fixture.changes().incomplete, Vec::from_iter(is_changed.then_some(outside)));
        }
    }

    #[test]
    fn a_file_that_is_written_by_one_name_changes_by_all() {
        let Some(fixture) = Fixture::new() else { return };
        fs::write(fixture.view().join("b/a"), "other").unwrap();
        let list = fixture.changes();
        assert_eq!(words(&list), ["modified a/b/c", "modified b/a"]);
        assert_eq!(list.links, [[PathBuf::from("a/b/c"), PathBuf::from("b/a")]]);
    }

    #[test]
    fn bounds_cut_the_list_and_not_the_totals() {
        let Some(fixture) = Fixture::new() else { return };
        for number in 0..20 {
            fs::write(fixture.view().join(format!("n{number}")), "x").unwrap();
        }
        fs::write(fixture.view().join("a/c"), "xyz").unwrap();
        let list = fixture.changes_within(ListBounds { changes: 5, read_bytes: 10, entries: 3 });
        assert_eq!((list.changes.len(), list.cut, list.totals.created, list.totals.modified), (5, 16, 20, 1));
        assert!(list.incomplete.iter().any(|part| matches!(part, Incomplete::Uncompared { .. })), "{list:?}");
        assert!(!list.is_whole());
    }

    #[test]
    fn odd_names_and_special_files_are_listed() {
        use std::os::unix::ffi::OsStrExt as _;
        let Some(fixture) = Fixture::new() else { return };
        let name = std::ffi::OsStr::from_bytes(b"a\n\xff");
        fs::write(fixture.view().join(name), "").unwrap();
        symlink("/", fixture.view().join("d")).unwrap();
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, fixture.view().join("e"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let list = fixture.changes();
        assert_eq!(list.changes[0].path.as_os_str(), name);
        assert_eq!(words(&list)[1..], ["created d", "created e"]);
        assert_eq!(list.changes[2].after.as_ref().unwrap().target, Some("fifo".into()));
    }

    #[test]
    fn changes_applied_to_a_copy_equal_a_direct_edit() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
        let edits = proptest::collection::vec(edit(), 1..12);
        TestRunner::new(config)
            .run(&edits, |edits| {
                check(&edits);
                Ok(())
            })
            .unwrap();
    }

    /// Does the edits in a layer and directly, and compares.
    fn check(edits: &[Edit]) {
        let fixture = Fixture::new().unwrap();
        let tree = fixture.tree();
        let untouched = snapshot(&tree, true, true);
        let (direct, applied) = (fixture.directory.path().join("direct"), fixture.directory.path().join("applied"));
        copy(&tree, &direct);
        copy(&tree, &applied);
        for edit in edits {
            assert_eq!(edit_tree(&fixture.view(), edit), edit_tree(&direct, edit), "{edit:?}");
        }
        let list = fixture.changes();
        assert_eq!(snapshot(&tree, true, true), untouched);
        apply(&list, &fixture.view(), &applied);
        assert_eq!(snapshot(&applied, false, false), snapshot(&direct, false, false), "{:#?}", words(&list));
        assert_eq!(snapshot(&applied, false, true), snapshot(&fixture.view(), false, true), "{:#?}", words(&list));
        assert!(tree_tests::tree(&tree).len() == untouched.len() - 1);
    }
}
