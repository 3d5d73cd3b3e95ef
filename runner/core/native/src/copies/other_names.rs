//! Other names of a file whose copy a module has had: hard links that the module saw as well.
//!
//! Linux shows a change of a file under all of its names at once. A module with a copy sees it under one name alone, and behind the
//! others the machine's file, or another copy. So what it did after that can differ from what it would have done: `archive` of
//! community.general, for example, empties a source that is another name of the archive before it packs it. Such a run must not be
//! a success.
//!
//! Only files that have several names are looked for, and only after the module has changed one in its place. The library that
//! every module may read is searched only for a file that lies in it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use modbox_policy::{Access, PathGrant, Shape, path_option};
use modbox_vocabulary::{FileFingerprint, LostChange};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};

use crate::rooms::base;

/// Maximum number of entries that are looked at for one file: a search of about a second.
const MAX_ENTRIES: usize = 200_000;

/// Result of a search.
#[derive(Debug, PartialEq, Eq)]
enum OtherName {
    /// The module saw no other name.
    None,
    /// The module saw this one. `is_copy` says whether it saw a copy of it, too.
    Shown { path: PathBuf, is_copy: bool },
    /// The module may see more entries than are searched.
    Unknown,
}

/// Returns the loss of a change that a module made in the copy of `own`, which is a name of `file`, if it saw another name of it.
pub(crate) fn loss_of_change(grants: &[PathGrant], own: &Path, file: &FileFingerprint) -> Option<LostChange> {
    let (why, other) = match find(grants, own, file) {
        OtherName::None => return None,
        OtherName::Shown { path, is_copy } => {
            let why =
                format!("`{}` is another name of the same file, which the module saw as it was before", path.display());
            (why, is_copy.then_some(path))
        }
        OtherName::Unknown => (
            "it has other names (hard links), and the module may use too many files to find out whether it saw one"
                .to_owned(),
            None,
        ),
    };
    Some(lost(own, other.as_deref(), &why))
}

/// Returns the loss of two changes of one file, of which the module has had two copies.
pub(crate) fn loss_of_both(first: &Path, second: &Path) -> LostChange {
    let why = format!("the module has changed it and `{}`, which are two names of one file", first.display());
    lost(second, Some(first), &why)
}

/// Returns the loss of a run whose copy of `own` stayed as it was while the file has changed, if the module may have changed the
/// file under another name: what it read from the copy may then have been wrong.
pub(crate) fn loss_of_sight(grants: &[PathGrant], own: &Path, file: &FileFingerprint) -> Option<LostChange> {
    let written = grants.iter().filter(|grant| grant.shape == Shape::Directory && grant.access == Access::Write);
    let other = match search(written.map(|grant| grant.host.clone()).collect(), own, file) {
        OtherName::None => return None,
        OtherName::Shown { path, .. } => format!("`{}`", path.display()),
        OtherName::Unknown => "another name".to_owned(),
    };
    let why =
        format!("it has changed, which the module may have done as {other}, and the module saw it as it was before");
    Some(lost(own, None, &why))
}

/// Returns a loss that the directory around a path would have prevented, and that around the other one if the module had a copy
/// of it.
fn lost(path: &Path, other: Option<&Path>, why: &str) -> LostChange {
    let around = |path: &Path| path_option(Access::Write, path.parent().unwrap_or(path));
    let mut options: Vec<String> = [path].into_iter().chain(other).map(around).collect();
    options.dedup();
    let allow = options.join(" ");
    LostChange { path: path.display().to_string(), reason: format!("{why}; allow it with `{allow}`"), allow }
}

/// Looks for another name of `file` than `own` in what the module may use. Directories that this user cannot list are passed over:
/// the module cannot list them either.
fn find(grants: &[PathGrant], own: &Path, file: &FileFingerprint) -> OtherName {
    for grant in grants.iter().filter(|grant| grant.shape == Shape::Name && grant.host != own) {
        if rustix::fs::lstat(&grant.host).is_ok_and(|stat| is_it(&stat, file)) {
            return OtherName::Shown { path: grant.host.clone(), is_copy: grant.access == Access::Write };
        }
    }
    let granted = grants.iter().filter(|grant| grant.shape == Shape::Directory).map(|grant| grant.host.clone());
    let of_base = base::paths().filter(|base| own.starts_with(base)).map(PathBuf::from);
    search(granted.chain(of_base).collect(), own, file)
}

fn search(mut waiting: Vec<PathBuf>, own: &Path, file: &FileFingerprint) -> OtherName {
    let mut left = MAX_ENTRIES;
    while let Some(directory) = waiting.pop() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(opened) = rustix::fs::open(&directory, flags, Mode::empty()) else { continue };
        // No other file system has a name of the file.
        if !rustix::fs::fstat(&opened).is_ok_and(|stat| stat.st_dev == file.device) {
            continue;
        }
        let Ok(entries) = Dir::read_from(&opened) else { continue };
        for entry in entries.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let Some(rest) = left.checked_sub(1) else { return OtherName::Unknown };
            left = rest;
            let Ok(stat) = rustix::fs::statat(&opened, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let path = directory.join(name);
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                waiting.push(path);
            } else if is_it(&stat, file) && path != own {
                return OtherName::Shown { path, is_copy: false };
            }
        }
    }
    OtherName::None
}

fn is_it(stat: &Stat, file: &FileFingerprint) -> bool {
    (stat.st_dev, stat.st_ino) == (file.device, file.inode)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use modbox_vocabulary::GrantSource;

    use super::*;

    fn grant(host: &Path, shape: Shape, access: Access) -> PathGrant {
        let guest = host.display().to_string();
        PathGrant { host: host.to_owned(), shape, guest, access, source: GrantSource::named("") }
    }

    #[test]
    fn names_are_found_where_the_module_sees_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (own, other, directory) = (root.join("own"), root.join("below/deep/other"), root.join("below"));
        fs::create_dir_all(other.parent().unwrap()).unwrap();
        fs::create_dir(root.join("beside")).unwrap();
        fs::write(&own, "").unwrap();
        fs::hard_link(&own, &other).unwrap();
        let file = FileFingerprint::from(&fs::symlink_metadata(&own).unwrap());
        let itself = grant(&own, Shape::Name, Access::Write);
        let found = |more: PathGrant| find(&[itself.clone(), more], &own, &file);
        let shown = |is_copy| OtherName::Shown { path: other.clone(), is_copy };
        assert_eq!(found(grant(&root.join("beside"), Shape::Directory, Access::Write)), OtherName::None);
        assert_eq!(found(grant(&root.join("gone"), Shape::Name, Access::Read)), OtherName::None);
        assert_eq!(found(grant(&directory, Shape::Directory, Access::Read)), shown(false));
        assert_eq!(found(grant(&other, Shape::Name, Access::Read)), shown(false));
        assert_eq!(found(grant(&other, Shape::Name, Access::Write)), shown(true));
        let loss =
            |more: &PathGrant| loss_of_change(&[itself.clone(), more.clone()], &own, &file).map(|lost| lost.allow);
        let (option, both) = (path_option(Access::Write, &root), grant(&other, Shape::Name, Access::Write));
        assert_eq!(loss(&grant(&directory, Shape::Directory, Access::Read)), Some(option.clone()));
        let deep = path_option(Access::Write, other.parent().unwrap());
        assert_eq!(loss(&both), Some(format!("{option} {deep}")));
        assert_eq!(loss_of_both(&own, &root.join("a")).allow, option);
        for (access, expect) in [(Access::Read, false), (Access::Write, true)] {
            let sight = loss_of_sight(&[grant(&directory, Shape::Directory, access)], &own, &file);
            assert_eq!(sight.is_some(), expect);
        }
    }
}
