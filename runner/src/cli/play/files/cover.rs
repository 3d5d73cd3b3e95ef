//! The files and folders of a play's tree that a process may be shown as they are, without what does not belong to the play.
//!
//! A folder is shown whole if all in it belongs to the play, and in parts otherwise. What comes into a folder later is shown
//! with it. A link is never shown by itself, since it may lead anywhere; in a folder that is shown whole it leads to what else is
//! shown.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cap_std::fs::MetadataExt as _;
use modbox_run::ShownPath;

use crate::cli::play::file_id::FileId;
use crate::cli::play::files::tree_root::Root;
use crate::cli::printing::output;

/// How many files and folders of a root are looked at. Projects with all collections of the package `ansible` beside them have less.
const MAX_ENTRIES: usize = 100_000;

/// How deep folders are looked into.
const MAX_DEPTH: usize = 40;

/// What is seen of the play's folders.
#[derive(Debug, Default)]
pub(super) struct VisibleFiles {
    /// Files that are never shown: those with passwords of vaults.
    pub(super) withheld: Vec<FileId>,
    /// Folders that are too large to be shown whole, of which that was said.
    told: Mutex<HashSet<PathBuf>>,
}

impl VisibleFiles {
    /// Returns what of a root may be shown. Says so where that is not all for being too much.
    pub(super) fn of(&self, root: &Root) -> Vec<ShownPath> {
        let covered = cover(root, &self.withheld);
        if covered.is_cut && self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(root.path.clone()) {
            let shown = root.path.display();
            output::print_note(&format!(
                "plugins in Python see only a part of `{shown}`: it has too many files or folders"
            ));
        }
        covered.paths
    }
}

/// What of a folder belongs to the play.
enum Cover {
    Whole,
    Parts(Vec<PathBuf>),
    /// Nothing by itself, and nothing that must not be seen.
    Link,
}

/// A root that is looked at.
struct Walk<'a> {
    root: &'a Root,
    /// Files that are never shown.
    withheld: &'a [FileId],
    /// How many entries may still be looked at.
    left: usize,
    /// Whether a folder was not looked at, since it is one too many or too deep.
    is_cut: bool,
}

/// What of a root may be shown.
#[derive(Debug, PartialEq, Eq)]
struct Covered {
    paths: Vec<ShownPath>,
    /// Whether some of it is missing because there is too much.
    is_cut: bool,
}

/// Returns what of a root may be shown, without the files in `withheld`.
fn cover(root: &Root, withheld: &[FileId]) -> Covered {
    cover_some(root, withheld, MAX_ENTRIES)
}

fn cover_some(root: &Root, withheld: &[FileId], entries: usize) -> Covered {
    let mut walk = Walk { root, withheld, left: entries, is_cut: false };
    let paths = match folder(&mut walk, Path::new("."), 0) {
        Cover::Whole => vec![ShownPath { path: root.path.clone(), real: root.real.clone() }],
        Cover::Parts(parts) => {
            parts.iter().map(|part| ShownPath { path: root.path.join(part), real: root.real.join(part) }).collect()
        }
        Cover::Link => Vec::new(),
    };
    Covered { paths, is_cut: walk.is_cut }
}

fn folder(walk: &mut Walk<'_>, rest: &Path, depth: usize) -> Cover {
    if depth >= MAX_DEPTH {
        walk.is_cut = true;
        return Cover::Parts(Vec::new());
    }
    let Some(names) = names(walk, rest) else { return Cover::Parts(Vec::new()) };
    let mut parts = Vec::new();
    let mut is_whole = true;
    for name in names {
        let path = if depth == 0 { name } else { rest.join(name) };
        match entry(walk, &path, depth) {
            Cover::Whole => parts.push(path),
            Cover::Link => {}
            Cover::Parts(some) => {
                is_whole = false;
                parts.extend(some);
            }
        }
    }
    if is_whole { Cover::Whole } else { Cover::Parts(parts) }
}

fn entry(walk: &mut Walk<'_>, path: &Path, depth: usize) -> Cover {
    let none = || Cover::Parts(Vec::new());
    let root = walk.root;
    if root.extent.left_out(path).is_some() {
        return none();
    }
    match root.dir().symlink_metadata(path) {
        Ok(found) if found.is_dir() => folder(walk, path, depth + 1),
        Ok(found) if found.is_file() && walk.withheld.contains(&(found.dev(), found.ino())) => none(),
        Ok(found) if found.is_file() => {
            let forbidden = root.dir().open(path).and_then(|file| root.extent.forbids_content(file));
            if matches!(forbidden, Ok(None)) { Cover::Whole } else { none() }
        }
        Ok(found) if found.is_symlink() => Cover::Link,
        // Sockets and devices are not the play's.
        _ => none(),
    }
}

/// Returns the names in a folder, as far as there is something left to look at.
fn names(walk: &mut Walk<'_>, rest: &Path) -> Option<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in walk.root.dir().read_dir(rest).ok()? {
        let Some(left) = walk.left.checked_sub(1) else {
            walk.is_cut = true;
            return None;
        };
        walk.left = left;
        names.push(PathBuf::from(entry.ok()?.file_name()));
    }
    names.sort();
    Some(names)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::cli::play::extent::Extent;

    #[test]
    fn what_does_not_belong_to_a_play_is_not_shown_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        for file in
            ["play.yml", ".env", "files/a/key", "files/a/text", "files/b/text", "roles/r/files/.hidden", "other/x"]
        {
            fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
            fs::write(path.join(file), "text\n").unwrap();
        }
        fs::write(path.join("files/a/key"), "-----BEGIN OPENSSH PRIVATE KEY-----\n").unwrap();
        fs::create_dir(path.join("empty")).unwrap();
        let _socket = UnixListener::bind(path.join("other/socket")).unwrap();
        fs::write(path.join("files/b/password"), "text\n").unwrap();
        let password = fs::metadata(path.join("files/b/password")).unwrap();
        let mut withheld = vec![(password.dev(), password.ino())];
        let shown = |extent, withheld: &[FileId]| {
            let root = Root::open(path.clone(), path.clone(), extent).unwrap();
            let shown = cover(&root, withheld).paths;
            shown.iter().map(|shown| shown.path.strip_prefix(&path).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        let project = ["empty", "files/a/text", "files/b/text", "other/x", "play.yml", "roles"];
        assert_eq!(shown(Extent::Project, &withheld), project);
        assert_eq!(shown(Extent::Shared, &withheld), ["files/a/text", "files/b/text", "roles"]);
        withheld.clear();
        assert_eq!(shown(Extent::Shared, &withheld), ["files/a/text", "files/b", "roles"]);
        fs::remove_file(path.join("files/a/key")).unwrap();
        fs::remove_file(path.join("other/socket")).unwrap();
        assert_eq!(shown(Extent::Sources, &withheld), [""]);
    }
    #[test]
    fn links_show_nothing_by_themselves() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let (play, named) = (path.join("play"), path.join("named"));
        for file in ["play/files/a/text", "play/files/password", "play/whole/text", "outside/secret"] {
            fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
            fs::write(path.join(file), "text\n").unwrap();
        }
        let password = fs::metadata(play.join("files/password")).unwrap();
        for (target, link) in [
            ("../../outside/secret", "files/secret"),
            ("../../outside", "files/outside"),
            ("password", "files/renamed"),
            ("../files/password", "whole/password"),
            ("/etc/shadow", "whole/shadow"),
            ("files", "linked"),
        ] {
            symlink(target, play.join(link)).unwrap();
        }
        // The play may be named by a link, too.
        symlink("play", &named).unwrap();
        let root = Root::open(named.clone(), play.clone(), Extent::Project).unwrap();
        let shown = cover(&root, &[(password.dev(), password.ino())]).paths;
        let part = |part: &str| ShownPath { path: named.join(part), real: play.join(part) };
        assert_eq!(shown, [part("files/a"), part("whole")]);
        fs::remove_file(play.join("files/password")).unwrap();
        assert_eq!(cover(&root, &[]).paths, [ShownPath { path: named, real: play }]);
    }

    #[test]
    fn what_is_too_much_is_said_to_be_missing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        for file in ["a/1", "b/1", "b/2"] {
            fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
            fs::write(path.join(file), "text\n").unwrap();
        }
        let root = Root::open(path.clone(), path.clone(), Extent::Sources).unwrap();
        let part = |part: &str| ShownPath { path: path.join(part), real: path.join(part) };
        assert_eq!(cover_some(&root, &[], 5), Covered { paths: vec![part("")], is_cut: false });
        assert_eq!(cover_some(&root, &[], 4), Covered { paths: vec![part("a")], is_cut: true });
        fs::create_dir_all(path.join("deep/".repeat(MAX_DEPTH + 1))).unwrap();
        let deep = cover(&root, &[]);
        assert_eq!((deep.paths, deep.is_cut), (vec![part("a"), part("b")], true));
    }
}
