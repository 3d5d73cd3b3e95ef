//! A comparison of two trees that is independent of the program's own, and a copy of a tree with all attributes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use modbox_overlay::change::{Change, ChangeKind, Entry, EntryType};
use rustix::fs::XattrFlags;

/// Returns the state of an entry.
pub(crate) fn read_entry(path: &Path) -> Option<Entry> {
    let stat = path.symlink_metadata().ok()?;
    let entry_type = match stat.file_type() {
        kind if kind.is_file() => EntryType::File,
        kind if kind.is_dir() => EntryType::Directory,
        kind if kind.is_symlink() => EntryType::Symlink,
        _ => EntryType::Special,
    };
    let is_plain = matches!(entry_type, EntryType::File | EntryType::Directory);
    Some(Entry {
        entry_type,
        mode: stat.mode() & 0o7777,
        uid: stat.uid(),
        gid: stat.gid(),
        size: if entry_type == EntryType::File { stat.size() } else { 0 },
        modified: i128::from(stat.mtime()) * 1_000_000_000 + i128::from(stat.mtime_nsec()),
        target: std::fs::read_link(path).ok(),
        digest: None,
        xattrs: if is_plain { xattrs(path) } else { BTreeMap::new() },
        links: stat.nlink(),
    })
}

fn xattrs(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut list = vec![0; 4096];
    let length = rustix::fs::listxattr(path, &mut list[..]).unwrap_or(0);
    let names = list[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let names = names.map(|name| String::from_utf8(name.to_vec()).unwrap());
    let value = |name: String| {
        let mut value = vec![0; 4096];
        let length = rustix::fs::getxattr(path, name.as_str(), &mut value[..]).unwrap();
        value.truncate(length);
        (name, value)
    };
    names.map(value).collect()
}

/// Returns what is different in `view`.
pub(crate) fn difference(real: &Path, view: &Path) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(real, view, &PathBuf::new(), &mut changes);
    changes
}

fn compare(real: &Path, view: &Path, path: &Path, changes: &mut Vec<Change>) {
    let (old, new) = (real.join(path), view.join(path));
    let (before, after) = (read_entry(&old), read_entry(&new));
    let is_directory = |entry: &Option<Entry>| entry.as_ref().is_some_and(|e| e.entry_type == EntryType::Directory);
    let kind = kind(&old, &new, before.as_ref(), after.as_ref());
    let goes_below = is_directory(&after);
    if let Some(kind) = kind {
        changes.push(Change { path: path.to_path_buf(), kind, before, after });
    }
    if goes_below {
        let names: BTreeSet<OsString> = names(&old).into_iter().chain(names(&new)).collect();
        names.into_iter().for_each(|name| compare(real, view, &path.join(name), changes));
    }
}

fn names(path: &Path) -> Vec<OsString> {
    if !path.symlink_metadata().is_ok_and(|stat| stat.is_dir()) {
        return Vec::new();
    }
    std::fs::read_dir(path).unwrap().flatten().map(|entry| entry.file_name()).collect()
}

fn kind(old: &Path, new: &Path, before: Option<&Entry>, after: Option<&Entry>) -> Option<ChangeKind> {
    let (before, after) = match (before, after) {
        (None, None) => return None,
        (None, Some(_)) => return Some(ChangeKind::Created),
        (Some(_), None) => return Some(ChangeKind::Removed { entries: 0 }),
        (Some(before), Some(after)) => (before, after),
    };
    let attributes = |entry: &Entry| (entry.mode, entry.uid, entry.gid, entry.xattrs.clone());
    let is_file = after.entry_type == EntryType::File;
    if before.entry_type != after.entry_type {
        Some(ChangeKind::Replaced)
    } else if before.target != after.target || is_file && std::fs::read(old).unwrap() != std::fs::read(new).unwrap() {
        Some(ChangeKind::Modified)
    } else if attributes(before) != attributes(after) {
        Some(ChangeKind::Attributes)
    } else if after.entry_type != EntryType::Directory && before.modified != after.modified {
        Some(ChangeKind::Times)
    } else {
        None
    }
}

/// Copies a tree with modes, owners, attributes and times of files.
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    let entry = read_entry(from).unwrap();
    match entry.entry_type {
        EntryType::Directory => {
            std::fs::create_dir(to).unwrap();
            names(from).into_iter().for_each(|name| copy_tree(&from.join(&name), &to.join(&name)));
        }
        EntryType::Symlink => symlink(entry.target.as_ref().unwrap(), to).unwrap(),
        _ => std::fs::write(to, std::fs::read(from).unwrap()).unwrap(),
    }
    lchown(to, Some(entry.uid), Some(entry.gid)).unwrap();
    let time = rustix::fs::Timespec {
        tv_sec: i64::try_from(entry.modified.div_euclid(1_000_000_000)).unwrap(),
        tv_nsec: i64::try_from(entry.modified.rem_euclid(1_000_000_000)).unwrap(),
    };
    let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
    if entry.entry_type != EntryType::Symlink {
        for (name, value) in &entry.xattrs {
            rustix::fs::setxattr(to, name.as_str(), value, XattrFlags::empty()).unwrap();
        }
        std::fs::set_permissions(to, PermissionsExt::from_mode(entry.mode)).unwrap();
    }
    rustix::fs::utimensat(rustix::fs::CWD, to, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
}
