//! Keeps the cache within its size: what was not used for the longest time goes first.
//!
//! A file that is open stays readable when its name is gone, so nothing is in the way of a run that loads an entry just
//! now. Several processes may do this at once: each removes the same ones, and one that is gone is gone.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

use super::{CacheError, CompileCache, UNFINISHED};

/// How exact the time of the last use is. More often would be a write to the disk on every run.
const TOUCH_EVERY: Duration = Duration::from_hours(1);

/// Notes on files are small, and are not counted in bytes.
const MAX_NOTES: usize = 4096;

/// An unfinished file this old is of a process that was killed.
const UNFINISHED_FOR: Duration = Duration::from_hours(1);

struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Notes that an entry was used. Where that cannot be written, the cache is not emptied in the best order.
pub(super) fn touch(file: &File) {
    let now = SystemTime::now();
    let lately = |used: SystemTime| now.duration_since(used).is_ok_and(|age| age < TOUCH_EVERY);
    if file.metadata().is_ok_and(|metadata| !lately(last_use(&metadata))) {
        // The time of the last write stays: the list shows it.
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let as_it_was = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let _ = rustix::fs::futimens(file, &Timestamps { last_access: now, last_modification: as_it_was });
    }
}

/// When an entry was used, as far as the filesystem knows.
fn last_use(metadata: &fs::Metadata) -> SystemTime {
    let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    metadata.accessed().map_or(written, |read| read.max(written))
}

/// Removes what was not used for the longest time until the entries together have at most `max` bytes, notes beyond
/// [`MAX_NOTES`], and what processes left that were killed. Returns how many files went.
pub(super) fn make(cache: &CompileCache, max: u64) -> Result<u64, CacheError> {
    let mut removed = 0;
    let (mut entries, mut notes) = (Vec::new(), Vec::new());
    for path in cache.files()? {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let (entry, note) = (super::is_entry(&path), super::is_note(&path));
        if entry || note {
            let list = if entry { &mut entries } else { &mut notes };
            list.push(Entry { path, bytes: metadata.len(), used: last_use(&metadata) });
        } else if is_left(&path, &metadata) {
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

fn is_left(path: &Path, metadata: &fs::Metadata) -> bool {
    let old = metadata.modified().is_ok_and(|written| written.elapsed().is_ok_and(|age| age > UNFINISHED_FOR));
    old && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED))
}

/// Removes a file, and returns 1 if it was there.
pub(super) fn remove(path: &Path) -> Result<u64, CacheError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(1),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(source) => Err(CacheError::Io { verb: "remove", path: path.to_owned(), source }),
    }
}
