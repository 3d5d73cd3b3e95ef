//! The candidates for changes that the upper directory of an overlay names.
//!
//! Only what was written is looked at, so the time depends on the changes and not on the size of the tree. A candidate
//! need not be a change: it may have been copied up only. This file reads the upper directory and no content.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Stat};

use crate::changes::entry_reader::{self, FileId};
use crate::changes::overlay_marks::OverlayMarks;
use crate::tree_root::TreeRoot;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UpperDirectory {
    /// The old directory whose entries are visible in it; `None` for a new or opaque directory.
    pub(crate) merged: Option<PathBuf>,
}

/// All that an upper directory names.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// Directories by their new paths.
    pub(crate) directories: BTreeMap<PathBuf, UpperDirectory>,
    /// Other entries by their new paths, and whether each was copied from below with its number.
    pub(crate) others: BTreeMap<PathBuf, bool>,
    /// Old paths that are hidden.
    pub(crate) hidden: BTreeSet<PathBuf>,
    /// Old paths of directories that have another path now.
    pub(crate) moved: BTreeSet<PathBuf>,
    /// Identities by new paths, where the view has no lasting ones: in an ordinary user's overlay, two names of one file
    /// can have two numbers.
    pub(crate) identities: BTreeMap<PathBuf, FileId>,
}

impl Candidates {
    /// Returns whether a renamed file has another number than before, as in an ordinary user's overlay.
    pub(crate) fn has_new_numbers(&self) -> bool {
        !self.identities.is_empty()
    }

    /// Returns the old path of the entry at a new path, or `None` if the entry there is new.
    pub(crate) fn old_of(&self, path: &Path) -> Option<PathBuf> {
        if let Some(directory) = self.directories.get(path) {
            return directory.merged.clone();
        }
        for ancestor in path.ancestors().skip(1) {
            if let Some(directory) = self.directories.get(ancestor) {
                let rest = path.strip_prefix(ancestor).ok()?;
                return directory.merged.as_ref().map(|merged| merged.join(rest));
            }
        }
        None
    }
}

/// Collects the candidates of an upper directory.
///
/// # Errors
///
/// A part of it cannot be read, so that a change could be missed.
pub(crate) fn candidates(upper: &TreeRoot, marks: OverlayMarks) -> io::Result<Candidates> {
    let mut found = Candidates::default();
    let root = UpperDirectory { merged: Some(PathBuf::new()) };
    let mut pending = vec![PathBuf::new()];
    found.directories.insert(PathBuf::new(), root);
    if marks == OverlayMarks::User {
        let stat = rustix::fs::fstat(upper)?;
        found.identities.insert(PathBuf::new(), (stat.st_dev, stat.st_ino));
    }
    while let Some(directory) = pending.pop() {
        let merged = found.directories.get(&directory).and_then(|directory| directory.merged.clone());
        for name in upper.names(&directory)? {
            let path = directory.join(&name);
            let gone = || io::Error::other("an entry of the frozen layer disappeared");
            let opened = upper.look(&path)?.ok_or_else(gone)?;
            let stat = rustix::fs::fstat(&opened)?;
            if marks == OverlayMarks::User {
                found.identities.insert(path.clone(), (stat.st_dev, stat.st_ino));
            }
            let natural = merged.as_ref().map(|merged| merged.join(&name));
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {
                    let merged_here = merged_of(&opened, natural.clone(), marks)?;
                    if let Some(old) = merged_here.as_ref().filter(|old| natural.as_ref() != Some(*old)) {
                        found.moved.insert(old.clone());
                    }
                    found.directories.insert(path.clone(), UpperDirectory { merged: merged_here });
                    pending.push(path);
                }
                _ if is_whiteout(&stat) => found.hidden.extend(natural),
                _ => {
                    let origin = marks.origin().map(|mark| entry_reader::xattr(&opened, mark)).transpose()?;
                    found.others.insert(path, origin.flatten().is_some());
                }
            }
        }
    }
    Ok(found)
}

/// Returns whether a file with several names was written. It can be changed by a name that the upper directory lacks.
///
/// # Errors
///
/// The index cannot be read.
pub(crate) fn has_linked_files(work: &TreeRoot) -> io::Result<bool> {
    let index = Path::new("index");
    if work.look(index)?.is_none() {
        return Ok(false);
    }
    for name in work.names(index)? {
        let Some(opened) = work.look(&index.join(name))? else { continue };
        let stat = rustix::fs::fstat(&opened)?;
        if !FileType::from_raw_mode(stat.st_mode).is_dir() && !is_whiteout(&stat) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether an entry of an upper directory hides an old one.
pub(crate) fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

/// Returns the old directory whose entries are visible in a directory of the upper one.
fn merged_of(opened: &OwnedFd, natural: Option<PathBuf>, marks: OverlayMarks) -> io::Result<Option<PathBuf>> {
    if entry_reader::xattr(opened, marks.opaque())?.is_some_and(|mark| mark == b"y") {
        return Ok(None);
    }
    let Some(redirect) = entry_reader::xattr(opened, marks.redirect())? else { return Ok(natural) };
    let redirect = Path::new(OsStr::from_bytes(&redirect));
    let plain = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "a renamed directory has an invalid mark");
    match redirect.strip_prefix("/") {
        Ok(absolute) if plain(absolute) => Ok(Some(absolute.to_owned())),
        // A name in the directory that was its parent.
        Err(_) if plain(redirect) => natural.map(|natural| Some(natural.with_file_name(redirect))).ok_or_else(invalid),
        _ => Err(invalid()),
    }
}
