//! Keeps the cache within its size by removing the least recently used entries.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;

use crate::app::python::cache::{self, Cache, Shelf};

/// Largest size of the cache: two hundred modules, laid out and compiled.
const MAX_CACHE: u64 = 256 << 20;

/// Largest number of entries; each is examined when the cache is trimmed.
const MAX_ENTRIES: usize = 4096;

/// Prefix of the names of entries that must not be used: not finished yet, or about to be removed.
const UNFINISHED: &str = ".unfinished-";

/// Age from which an unfinished entry belongs to a process that was killed.
const UNFINISHED_FOR: Duration = Duration::from_hours(1);

/// Precision of the time of the last use. A higher one would mean a disk write on every run.
const TOUCH_EVERY: Duration = Duration::from_hours(1);

/// Returns a unique name for an unfinished entry.
pub(super) fn unfinished_name() -> String {
    let mut random = [0; 8];
    // Without random bytes the name still has the process and the moment in it, and creating the entry fails on a
    // clash.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{UNFINISHED}{}-{now:x}-{:016x}", std::process::id(), u64::from_le_bytes(random))
}

/// Records that an entry was used. If that fails, only the order of removal suffers.
pub(super) fn touch(path: &Path) {
    let used = fs::metadata(path).and_then(|metadata| metadata.modified());
    if used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > TOUCH_EVERY)) {
        cache::set_used_now(path);
    }
}

struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Removes the oldest entries beyond the limits, and entries that killed processes left. Best effort: an entry that
/// cannot be removed now is removed later.
pub(super) fn trim(cache: &Cache) {
    let mut entries = entries(cache);
    let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let mut count = entries.len();
    entries.sort_by_key(|entry| entry.used);
    for entry in entries {
        if total <= MAX_CACHE && count <= MAX_ENTRIES {
            break;
        }
        if remove(&entry.path) {
            total -= entry.bytes;
            count -= 1;
        }
    }
}

/// Removes all entries that are not in use. Returns how many were removed.
pub(super) fn clear(cache: &Cache) -> u64 {
    entries(cache).iter().filter(|entry| remove(&entry.path)).count() as u64
}

fn entries(cache: &Cache) -> Vec<Entry> {
    let mut found = Vec::new();
    for shelf in Shelf::ALL {
        for entry in fs::read_dir(cache.shelf(shelf)).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let used = metadata.modified().unwrap_or(UNIX_EPOCH);
            let path = entry.path();
            let is_unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            if is_unfinished {
                if used.elapsed().is_ok_and(|age| age > UNFINISHED_FOR) {
                    remove(&path);
                }
                continue;
            }
            let bytes = if metadata.is_dir() { size(&path) } else { metadata.len() };
            found.push(Entry { path, bytes, used });
        }
    }
    found
}

/// Returns the total size of all files below a folder.
fn size(folder: &Path) -> u64 {
    let (mut bytes, mut pending) = (0, vec![folder.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => pending.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

/// Removes an entry, unless a run uses it. Returns whether it was removed.
fn remove(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    if !metadata.is_dir() {
        return fs::remove_file(path).is_ok();
    }
    let Ok(lock) = cache::open_dir(path) else { return false };
    if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return false;
    }
    // Renamed first, so that no process finds a partly removed tree.
    let renamed = path.with_file_name(unfinished_name());
    fs::rename(path, &renamed).is_ok() && fs::remove_dir_all(&renamed).is_ok()
}
