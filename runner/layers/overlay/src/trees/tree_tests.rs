//! Trees for tests: edits, snapshots, and an applier of lists of changes that shares no code with the comparison.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use proptest::prelude::*;
use rustix::fs::{AtFlags, CWD, RenameFlags, Timespec, Timestamps, XattrFlags};

use crate::changes::change::{Change, ChangeKind, EntryType};
use crate::changes::change_list::ChangeList;

/// What a test does to a tree.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Write(PathBuf, u8, usize),
    Append(PathBuf, u8),
    Truncate(PathBuf),
    /// Other bytes, of the same length, at the same time.
    Disguise(PathBuf),
    Replace(PathBuf, u8),
    Rename(PathBuf, PathBuf),
    Exchange(PathBuf, PathBuf),
    Remove(PathBuf),
    MakeAgain(PathBuf),
    MakeDirectory(PathBuf),
    Mode(PathBuf, u32),
    Owner(PathBuf, u32),
    Xattr(PathBuf, u8),
    Symlink(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Touch(PathBuf, i64),
}

fn path() -> impl Strategy<Value = PathBuf> {
    proptest::collection::vec(prop_oneof![Just("a"), Just("b"), Just("c")], 1..4)
        .prop_map(|parts| parts.iter().collect())
}

pub(crate) fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (path(), any::<u8>(), 0..9000_usize).prop_map(|(path, byte, size)| Edit::Write(path, byte, size)),
        1 => (path(), any::<u8>()).prop_map(|(path, byte)| Edit::Append(path, byte)),
        1 => path().prop_map(Edit::Truncate),
        2 => path().prop_map(Edit::Disguise),
        1 => (path(), any::<u8>()).prop_map(|(path, byte)| Edit::Replace(path, byte)),
        5 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        2 => (path(), path()).prop_map(|(from, to)| Edit::Exchange(from, to)),
        2 => path().prop_map(Edit::Remove),
        2 => path().prop_map(Edit::MakeAgain),
        4 => path().prop_map(Edit::MakeDirectory),
        2 => (path(), prop_oneof![Just(0o600), Just(0o755), Just(0o711)]).prop_map(|(path, mode)| Edit::Mode(path, mode)),
        1 => (path(), 0..3_u32).prop_map(|(path, owner)| Edit::Owner(path, owner)),
        1 => (path(), any::<u8>()).prop_map(|(path, byte)| Edit::Xattr(path, byte)),
        2 => (path(), path()).prop_map(|(path, target)| Edit::Symlink(path, target)),
        3 => (path(), path()).prop_map(|(from, to)| Edit::Link(from, to)),
        1 => (path(), 1..3_i64).prop_map(|(path, time)| Edit::Touch(path, time)),
    ]
}

/// Does an edit and returns whether it succeeded.
pub(crate) fn edit_tree(root: &Path, edit: &Edit) -> bool {
    let at = |path: &PathBuf| root.join(path);
    match edit {
        Edit::Write(path, byte, size) => is_plain(&at(path)) && fs::write(at(path), vec![*byte; *size]).is_ok(),
        Edit::Append(path, byte) => {
            let opened = fs::OpenOptions::new().append(true).open(at(path));
            is_plain(&at(path)) && opened.and_then(|mut file| file.write_all(&[*byte])).is_ok()
        }
        Edit::Truncate(path) => {
            is_plain(&at(path)) && fs::OpenOptions::new().write(true).open(at(path)).and_then(|f| f.set_len(1)).is_ok()
        }
        Edit::Disguise(path) => disguise(&at(path)),
        Edit::Replace(path, byte) => {
            let new = root.join("new");
            fs::write(&new, [*byte; 7]).unwrap();
            fs::rename(&new, at(path)).inspect_err(|_| fs::remove_file(&new).unwrap()).is_ok()
        }
        Edit::Rename(from, to) => fs::rename(at(from), at(to)).is_ok(),
        Edit::Exchange(from, to) => {
            rustix::fs::renameat_with(CWD, at(from), CWD, at(to), RenameFlags::EXCHANGE).is_ok()
        }
        Edit::Remove(path) => remove(&at(path)),
        Edit::MakeAgain(path) => {
            at(path).is_dir() && !at(path).is_symlink() && remove(&at(path)) && fs::create_dir(at(path)).is_ok()
        }
        Edit::MakeDirectory(path) => fs::create_dir(at(path)).is_ok(),
        Edit::Mode(path, mode) => {
            // An ordinary user cannot look into a closed directory.
            let mode = if at(path).is_dir() { mode | 0o700 } else { *mode };
            !at(path).is_symlink() && fs::set_permissions(at(path), fs::Permissions::from_mode(mode)).is_ok()
        }
        Edit::Owner(path, owner) => std::os::unix::fs::lchown(at(path), Some(*owner), Some(*owner)).is_ok(),
        Edit::Xattr(path, byte) => rustix::fs::lsetxattr(at(path), "user.test", &[*byte], XattrFlags::empty()).is_ok(),
        Edit::Symlink(path, target) => symlink(target, at(path)).is_ok(),
        Edit::Link(from, to) => fs::hard_link(at(from), at(to)).is_ok(),
        Edit::Touch(path, time) => {
            let time = Timespec { tv_sec: *time, tv_nsec: 5 };
            set_time(&at(path), time)
        }
    }
}

fn is_plain(path: &Path) -> bool {
    !path.is_symlink()
}

fn disguise(path: &Path) -> bool {
    let Ok(metadata) = path.symlink_metadata() else { return false };
    if !metadata.is_file() || metadata.len() == 0 {
        return false;
    }
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all(b"!").unwrap();
    drop(file);
    set_time(path, Timespec { tv_sec: metadata.mtime(), tv_nsec: metadata.mtime_nsec() })
}

fn set_time(path: &Path, time: Timespec) -> bool {
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

fn remove(path: &Path) -> bool {
    let Ok(metadata) = path.symlink_metadata() else { return false };
    if metadata.is_dir() { fs::remove_dir_all(path).is_ok() } else { fs::remove_file(path).is_ok() }
}

/// Makes a tree with files of several sorts.
pub(crate) fn make_tree(root: &Path) {
    for directory in ["a", "a/a", "a/b", "b", "b/c"] {
        fs::create_dir(root.join(directory)).unwrap();
    }
    for (index, file) in ["a/c", "a/a/a", "a/a/b", "a/b/a", "b/a", "b/c/c", "b/c/b"].iter().enumerate() {
        fs::write(root.join(file), vec![b'0' + u8::try_from(index).unwrap(); 1000 * index + 3]).unwrap();
    }
    symlink("a/c", root.join("c")).unwrap();
    fs::hard_link(root.join("b/a"), root.join("a/b/c")).unwrap();
    fs::set_permissions(root.join("a/a/b"), fs::Permissions::from_mode(0o640)).unwrap();
    for path in tree(root) {
        set_time(&root.join(path), Timespec { tv_sec: 1_000_000, tv_nsec: 77 });
    }
}

/// Returns the paths of a tree, parents first, without its root.
pub(crate) fn tree(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                pending.push(path.clone());
            }
            found.push(path.strip_prefix(root).unwrap().to_owned());
        }
    }
    found.sort();
    found
}

/// Returns all that a run can change of a tree. `exact` adds what only the same tree has.
pub(crate) fn snapshot(root: &Path, exact: bool, times: bool) -> BTreeMap<PathBuf, String> {
    let mut first_names: BTreeMap<(u64, u64), PathBuf> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for path in std::iter::once(PathBuf::new()).chain(tree(root)) {
        let full = if path.as_os_str().is_empty() { root.to_owned() } else { root.join(&path) };
        let stat = if path.as_os_str().is_empty() { fs::metadata(&full) } else { full.symlink_metadata() }.unwrap();
        let content = if stat.is_file() {
            let first = first_names.entry((stat.dev(), stat.ino())).or_insert_with(|| path.clone());
            format!("{:?} {first:?}", blake(&read_file(&full)))
        } else if stat.is_symlink() {
            format!("{:?}", fs::read_link(&full).unwrap())
        } else {
            "directory".to_owned()
        };
        let mut value = [0; 64];
        let length = rustix::fs::lgetxattr(&full, "user.test", &mut value[..]).unwrap_or(0);
        let mut text = format!("{content} {:o} {}:{} {:?}", stat.mode(), stat.uid(), stat.gid(), &value[..length]);
        if exact {
            text += &format!(" {}:{} {}.{}", stat.dev(), stat.ino(), stat.ctime(), stat.ctime_nsec());
        }
        if exact || (times && !stat.is_dir()) {
            text += &format!(" {}.{}", stat.mtime(), stat.mtime_nsec());
        }
        found.insert(path, text);
    }
    found
}

fn blake(bytes: &[u8]) -> (usize, u64) {
    use std::hash::{Hash as _, Hasher as _};
    let mut hasher = std::hash::DefaultHasher::new();
    bytes.hash(&mut hasher);
    (bytes.len(), hasher.finish())
}

/// Returns the path of an open directory.
pub(crate) fn place(directory: impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd()).into()
}

/// Makes a tree equal to a changed one, of a list of changes and the content of the changed files.
pub(crate) fn apply(list: &ChangeList, view: &Path, root: &Path) {
    assert!(list.is_whole(), "{list:?}");
    let outside = root.with_extension("moved");
    fs::create_dir(&outside).unwrap();
    let old_path = |change: &Change| match &change.kind {
        ChangeKind::Renamed { from } => Some(from.clone()),
        ChangeKind::Removed { .. } => Some(change.path.clone()),
        _ => None,
    };
    let mut taken: Vec<(PathBuf, &Change)> =
        list.changes.iter().filter_map(|change| Some((old_path(change)?, change))).collect();
    taken.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
    for (number, (path, change)) in taken.iter().enumerate() {
        let path = root.join(path);
        let ChangeKind::Removed { entries } = change.kind else {
            fs::rename(path, outside.join(number.to_string())).unwrap();
            continue;
        };
        let below = if path.is_symlink() || !path.is_dir() { 0 } else { tree(&path).len() };
        assert!(remove(&path), "{change:?}");
        assert_eq!(below as u64, entries, "{change:?}");
    }
    for change in &list.changes {
        let Some(after) = &change.after else { continue };
        let path = if change.path.as_os_str().is_empty() { root.to_owned() } else { root.join(&change.path) };
        if let Some(number) = taken.iter().position(|(_, taken)| std::ptr::eq(*taken, change)) {
            assert!(path.symlink_metadata().is_err(), "{change:?}");
            fs::rename(outside.join(number.to_string()), &path).unwrap();
        }
        let is_attributes = matches!(change.kind, ChangeKind::Attributes | ChangeKind::Times);
        if change.kind == ChangeKind::Created {
            assert!(path.symlink_metadata().is_err(), "{change:?}");
        }
        if after.entry_type == EntryType::Directory {
            if change.kind == ChangeKind::Replaced {
                assert!(remove(&path));
            }
            if matches!(change.kind, ChangeKind::Replaced | ChangeKind::Created) {
                fs::create_dir(&path).unwrap();
            }
        } else if !is_attributes {
            remove(&path);
            match after.entry_type {
                EntryType::File => fs::write(&path, read_file(&view.join(&change.path))).unwrap(),
                EntryType::Symlink => symlink(after.target.as_ref().unwrap(), &path).unwrap(),
                _ => panic!("{change:?}"),
            }
        } else if change.kind == ChangeKind::Attributes {
            assert_eq!(after.digest, change.before.as_ref().unwrap().digest);
        }
        std::os::unix::fs::lchown(&path, Some(after.uid), Some(after.gid)).unwrap();
        if after.entry_type != EntryType::Symlink {
            fs::set_permissions(&path, fs::Permissions::from_mode(after.mode)).unwrap();
        }
        for (name, value) in &after.xattrs {
            rustix::fs::lsetxattr(&path, name, value, XattrFlags::empty()).unwrap();
        }
        let time = Timespec {
            tv_sec: i64::try_from(after.modified.div_euclid(1_000_000_000)).unwrap(),
            tv_nsec: i64::try_from(after.modified.rem_euclid(1_000_000_000)).unwrap(),
        };
        assert!(set_time(&path, time));
    }
    for names in &list.links {
        let source = names.iter().find(|name| list.changes.iter().any(|c| c.path == **name && c.after.is_some()));
        for name in names.iter().filter(|name| Some(*name) != source) {
            fs::remove_file(root.join(name)).unwrap();
            fs::hard_link(root.join(source.unwrap()), root.join(name)).unwrap();
        }
    }
    fs::remove_dir(&outside).unwrap();
}

/// Held for reading while a test starts a process, and for writing by tests that ask whether a mount is in use: a new process has the
/// descriptors of all tests until it begins its program.
pub(crate) static STARTS: RwLock<()> = RwLock::new(());

/// Copies a tree with `cp -a`.
#[expect(clippy::disallowed_methods, reason = "an independent copier")]
pub(crate) fn copy(from: &Path, to: &Path) {
    let _starts = STARTS.read().unwrap_or_else(PoisonError::into_inner);
    let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

/// Returns kinds and paths of a list, for comparisons with what a test expects.
pub(crate) fn words(list: &ChangeList) -> Vec<String> {
    let word = |change: &Change| match &change.kind {
        ChangeKind::Renamed { from } => format!("renamed {} {}", from.display(), change.path.display()),
        ChangeKind::Removed { entries } => format!("removed {} {entries}", change.path.display()),
        kind => format!("{} {}", format!("{kind:?}").to_lowercase(), change.path.display()),
    };
    list.changes.iter().map(word).collect()
}

/// Opens a file for writing.
pub(crate) fn writer(path: &Path) -> File {
    fs::OpenOptions::new().write(true).open(path).unwrap()
}

/// Returns the content of a file.
pub(crate) fn read_file(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    File::open(path).unwrap().read_to_end(&mut content).unwrap();
    content
}
