//! Keeps a store within its limits by removing the least recently used entries.
//!
//! An open file stays readable after it is removed, so a run that is loading an entry is not disturbed; a tree in use is
//! locked, and stays. Several processes may do this at once: they choose the same entries, and one that is already gone
//! is not an error.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use crate::contents::{self, Role};
use crate::error::StoreError;
use crate::purpose::Purpose;
use crate::{last_use, tree};

/// The most entries. Each is examined at every eviction. The Python modules of all collections that Ansible is shipped with have half of
/// them.
const MAX_ENTRIES: usize = 16_384;

/// The most notes on files. They are small, so their bytes are not counted.
const MAX_NOTES: usize = 4096;

/// How long an entry or a note stays without a use: a module of a previous release of its project is not used again.
const UNUSED_FOR: Duration = Duration::from_hours(90 * 24);

/// The age at which an unfinished file or folder belongs to a killed process.
const UNFINISHED_FOR: Duration = Duration::from_hours(1);

/// Entry or note that may be evicted.
struct Candidate {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Removes the least recently used entries until they have at most `max` bytes together. Also removes entries beyond
/// [`MAX_ENTRIES`] or unused for [`UNUSED_FOR`], likewise notes, and the files of killed processes and of older
/// releases. Returns the number of removed files and trees.
///
/// # Errors
///
/// The folder cannot be read, or something in it cannot be removed. All else that is to be removed is gone then.
pub(crate) fn evict(dir: &Path, purpose: &Purpose, max: u64) -> Result<u64, StoreError> {
    let mut removed = Removed::default();
    let (mut entries, mut notes) = (Vec::new(), Vec::new());
    for found in contents::list(dir, purpose)? {
        let Ok(metadata) = fs::symlink_metadata(&found.path) else { continue };
        let candidate = |path: PathBuf| {
            let (bytes, used) = (contents::size(&path, &metadata), last_use::of(&metadata));
            Candidate { path, bytes, used }
        };
        match found.role {
            Role::Entry => entries.push(candidate(found.path)),
            Role::Note => notes.push(candidate(found.path)),
            Role::Obsolete => _ = removed.add(try_remove(&found.path)),
            Role::Unfinished if is_abandoned(&metadata) => _ = removed.add(try_remove(&found.path)),
            Role::Unfinished | Role::Tool => {}
        }
    }
    trim(entries, max, MAX_ENTRIES, &mut removed);
    trim(notes, u64::MAX, MAX_NOTES, &mut removed);
    removed.end()
}

/// Removes the given files and trees. Returns how many were removed.
///
/// # Errors
///
/// One cannot be removed. All others are gone then.
pub(crate) fn remove_all<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<u64, StoreError> {
    let mut removed = Removed::default();
    for path in paths {
        removed.add(try_remove(path));
    }
    removed.end()
}

/// What was removed so far. What cannot be removed keeps nothing else.
#[derive(Debug, Default)]
struct Removed {
    count: u64,
    first_error: Option<StoreError>,
}

impl Removed {
    /// Adds the result of one removal. Returns whether the file or tree is gone.
    fn add(&mut self, result: Result<Option<u64>, StoreError>) -> bool {
        match result {
            Ok(removed) => {
                self.count += removed.unwrap_or(0);
                removed.is_some()
            }
            Err(error) => {
                self.first_error.get_or_insert(error);
                false
            }
        }
    }

    fn end(self) -> Result<u64, StoreError> {
        self.first_error.map_or(Ok(self.count), Err)
    }
}

/// Removes the least recently used candidates, beyond the limits of bytes, number and age.
fn trim(mut candidates: Vec<Candidate>, max_bytes: u64, max_number: usize, removed: &mut Removed) {
    let now = SystemTime::now();
    let (mut bytes, mut number) = (candidates.iter().map(|candidate| candidate.bytes).sum::<u64>(), candidates.len());
    candidates.sort_by_key(|candidate| candidate.used);
    for candidate in candidates {
        let is_old = now.duration_since(candidate.used).is_ok_and(|age| age > UNUSED_FOR);
        if bytes <= max_bytes && number <= max_number && !is_old {
            break;
        }
        if removed.add(try_remove(&candidate.path)) {
            bytes -= candidate.bytes;
            number -= 1;
        }
    }
}

fn is_abandoned(metadata: &fs::Metadata) -> bool {
    metadata.modified().is_ok_and(|written| written.elapsed().is_ok_and(|age| age > UNFINISHED_FOR))
}

/// Removes a file, or a tree that is not in use. Returns how many were removed: 1, or 0 if it was already gone or is in
/// use.
pub(crate) fn remove(path: &Path) -> Result<u64, StoreError> {
    Ok(try_remove(path)?.unwrap_or(0))
}

/// Removes a file or a tree. Returns `None` if it is in use, else how many were removed.
fn try_remove(path: &Path) -> Result<Option<u64>, StoreError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(Some(1)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(0)),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => tree::remove(path),
        Err(error) => Err(StoreError::io("remove", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_removed_keeps_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("entry");
        fs::write(&path, "").unwrap();
        // Not even root removes it.
        let never = Path::new("/proc/self/status");
        let error = remove_all([never, &path].into_iter()).unwrap_err();
        assert!(error.to_string().contains("/proc/self/status"), "{error}");
        assert!(!path.exists());
        fs::write(&path, "").unwrap();
        let entry = |path: &Path| Candidate { path: path.to_owned(), bytes: 1, used: SystemTime::UNIX_EPOCH };
        let mut removed = Removed::default();
        trim(vec![entry(never), entry(&path)], 0, 0, &mut removed);
        assert!(!path.exists() && removed.count == 1 && removed.end().is_err());
    }
}
