//! Keeps the cache within its size by removing the least recently used files.
//!
//! An open file stays readable after it is removed, so a run that is loading an entry is not disturbed. Several
//! processes may do this at once: they choose the same files, and a file that is already gone is not an error.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

use super::{CacheError, CompileCache, UNFINISHED};

/// How often the time of the last use is updated. A smaller value would mean a disk write in more runs.
const TOUCH_EVERY: Duration = Duration::from_hours(1);

/// The most notes on files. They are small, so their bytes are not counted.
const MAX_NOTES: usize = 4096;

/// The age at which an unfinished file belongs to a killed process.
const UNFINISHED_FOR: Duration = Duration::from_hours(1);

struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Records the use of an entry. If that fails, only the order of eviction suffers.
pub(super) fn touch(file: &File) {
    let now = SystemTime::now();
    let is_recent = |used: SystemTime| now.duration_since(used).is_ok_and(|age| age < TOUCH_EVERY);
    if file.metadata().is_ok_and(|metadata| !is_recent(last_use(&metadata))) {
        // Keep the time of the last write: the list shows it.
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let as_it_was = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let _ = rustix::fs::futimens(file, &Timestamps { last_access: now, last_modification: as_it_was });
    }
}

/// Returns when an entry was last used, as far as the filesystem knows.
fn last_use(metadata: &fs::Metadata) -> SystemTime {
    let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    metadata.accessed().map_or(written, |read| read.max(written))
}

/// Removes the least recently used entries until they have at most `max` bytes together. Also removes notes beyond
/// [`MAX_NOTES`], and the files of killed processes. Returns the number of removed files.
pub(super) fn evict(cache: &CompileCache, max: u64) -> Result<u64, CacheError> {
    let mut removed = 0;
    let (mut entries, mut notes) = (Vec::new(), Vec::new());
    for path in cache.files()? {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let (entry, note) = (super::is_entry(&path), super::is_note(&path));
        if entry || note {
            let list = if entry { &mut entries } else { &mut notes };
            list.push(Entry { path, bytes: metadata.len(), used: last_use(&metadata) });
        } else if is_abandoned(&path, &metadata) {
            removed += remove(&path)?;
        }
    }
    let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    entries.sort_by_key(|entry| entry.used);
    for entry in entries {
        if total <= max {
            break;
        }
        removed += remove(&entry.path)?;
        total -= entry.bytes;
    }
    notes.sort_by_key(|note| std::cmp::Reverse(note.used));
    for note in notes.iter().skip(MAX_NOTES) {
        removed += remove(&note.path)?;
    }
    Ok(removed)
}

fn is_abandoned(path: &Path, metadata: &fs::Metadata) -> bool {
    let old = metadata.modified().is_ok_and(|written| written.elapsed().is_ok_and(|age| age > UNFINISHED_FOR));
    old && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED))
}

/// Removes a file. Returns 1 if it existed, else 0.
pub(super) fn remove(path: &Path) -> Result<u64, CacheError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(1),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(source) => Err(CacheError::Io { verb: "remove", path: path.to_owned(), source }),
    }
}
