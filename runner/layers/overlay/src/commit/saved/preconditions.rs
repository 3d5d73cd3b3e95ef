//! What must not have changed between a preview and the commit of its changes, beside what each commit checks.
//!
//! A commit compares attributes, and times with the moment of the preview. Days may lie between these, with a restart, a
//! restored disk, or a clock that was wrong. So directories are compared by number, and old files by content.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::changes::change::{Digest, Entry, EntryType};
use crate::commit::failure::{Conflict, Why};
use crate::commit::inode;
use crate::commit::plan::{Action, Step};

use super::saved_manifest::{OldContent, SavedDirectory, SavedGrant};

/// Returns the directories that hold the names of these steps.
pub(super) fn directories(real: BorrowedFd<'_>, steps: &[Step<'_>]) -> rustix::io::Result<Vec<SavedDirectory>> {
    let mut paths: Vec<&Path> = steps.iter().map(directory).collect();
    // The root, too, so that each name is in the same tree.
    paths.push(Path::new(""));
    paths.sort_unstable();
    paths.dedup();
    let mut found = Vec::new();
    for path in paths {
        match number(real, path) {
            Ok(number) => found.push(SavedDirectory { path: path.to_owned(), number }),
            // It was removed meanwhile. The commit finds that.
            Err(error) if is_elsewhere(error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn directory<'a>(step: &'a Step<'_>) -> &'a Path {
    match step.action {
        Action::Attributes => &step.path,
        _ => step.path.parent().unwrap_or_else(|| Path::new("")),
    }
}

/// Returns the contents of the files that these steps replace or remove. A file that cannot be read has its attributes
/// and times only.
pub(super) fn contents(real: BorrowedFd<'_>, steps: &[Step<'_>]) -> Vec<OldContent> {
    let is_old_file = |step: &&Step<'_>| {
        let is_file = step.before.is_some_and(|before| before.entry_type == EntryType::File);
        is_file && matches!(step.action, Action::Replace | Action::Remove)
    };
    let content = |step: &Step<'_>| {
        let known = step.before.and_then(|before: &Entry| before.digest);
        let digest = known.or_else(|| digest(real, &step.path).ok())?;
        Some(OldContent { path: step.path.clone(), digest })
    };
    steps.iter().filter(is_old_file).filter_map(content).collect()
}

/// Returns what is not as it was.
pub(super) fn conflicts(grant: &SavedGrant, real: BorrowedFd<'_>) -> io::Result<Vec<Conflict>> {
    let conflict = |path: &Path, why| {
        let path = if path.as_os_str().is_empty() { grant.path.clone() } else { grant.path.join(path) };
        Conflict { path, why }
    };
    let mut found = Vec::new();
    for directory in &grant.directories {
        let is_same = match number(real, &directory.path) {
            Ok(number) => number == directory.number,
            Err(error) if is_elsewhere(error) => false,
            Err(error) => return Err(error.into()),
        };
        if !is_same {
            found.push(conflict(&directory.path, Why::Directory));
        }
    }
    for content in &grant.contents {
        match digest(real, &content.path) {
            Ok(digest) if digest == content.digest => {}
            Ok(_) => found.push(conflict(&content.path, Why::Changed)),
            Err(Some(Errno::NOENT)) => found.push(conflict(&content.path, Why::Gone)),
            Err(Some(error)) if !is_elsewhere(error) => return Err(error.into()),
            Err(_) => found.push(conflict(&content.path, Why::Changed)),
        }
    }
    Ok(found)
}

/// Returns whether a path leads elsewhere, or nowhere.
fn is_elsewhere(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

fn number(real: impl AsFd, path: &Path) -> rustix::io::Result<u64> {
    Ok(rustix::fs::fstat(inode::open_below(real, path)?)?.st_ino)
}

/// Returns the digest of a file; no error if it is none.
fn digest(real: impl AsFd, path: &Path) -> Result<Digest, Option<Errno>> {
    let directory = inode::open_below(real, path.parent().unwrap_or_else(|| Path::new("")))?;
    let name = path.file_name().unwrap_or_else(|| OsStr::new("."));
    let found = inode::look(&directory, name)?.ok_or(Errno::NOENT)?;
    // Opening another type, such as a device, can have effects.
    if inode::entry_type(found.st_mode) != EntryType::File {
        return Err(None);
    }
    let mut file = File::from(inode::open_entry(&directory, name)?);
    let mut hasher = Sha256::new();
    let failed = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let mut buffer = vec![0; 64 << 10];
    let mut left = u64::try_from(found.st_size).unwrap_or_default().saturating_add(1);
    while left > 0 {
        let read = io::Read::read(&mut file, &mut buffer).map_err(failed)?;
        if read == 0 {
            break;
        }
        hasher.update(buffer.get(..read).unwrap_or_default());
        left = left.saturating_sub(read as u64);
    }
    Ok(hasher.finalize().into())
}
