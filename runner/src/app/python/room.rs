//! Keeps the cache within its size: what was not used for the longest time goes first.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;

use crate::app::python::cache::{self, Cache, Shelf};

/// How large the cache may become: two hundred modules, laid out and compiled.
const MAX_CACHE: u64 = 256 << 20;

/// How many entries it may have; each is looked at when room is made.
const MAX_ENTRIES: usize = 4096;

/// Begins the names of what nobody may use: not finished yet, or about to be removed.
const UNFINISHED: &str = ".unfinished-";

/// What is unfinished for so long is of a process that was killed.
const UNFINISHED_FOR: Duration = Duration::from_hours(1);

/// How exact the time of the last use is. More often would be a write to the disk on every run.
const TOUCH_EVERY: Duration = Duration::from_hours(1);

/// A name that nobody else has.
pub(super) fn unfinished_name() -> String {
    let mut random = [0; 8];
    // Without random bytes the name is still that of one process and one moment, and whoever makes it notices a clash.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{UNFINISHED}{}-{now:x}-{:016x}", std::process::id(), u64::from_le_bytes(random))
}

/// Notes that something was used. Where that cannot be written, the cache is not emptied in the best order.
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

/// Removes what is too much, and what killed processes left. Best effort: what cannot be removed now is removed later.
pub(super) fn make(cache: &Cache) {
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

/// Removes everything that nobody uses. Returns how many entries went.
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

/// The bytes of all files below a folder.
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

/// Removes an entry, unless a run uses it. Returns whether it is gone.
fn remove(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    if !metadata.is_dir() {
        return fs::remove_file(path).is_ok();
    }
    let Ok(lock) = cache::open_dir(path) else { return false };
    if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return false;
    }
    // Renamed first, so that nobody finds one half of it.
    let renamed = path.with_file_name(unfinished_name());
    fs::rename(path, &renamed).is_ok() && fs::remove_dir_all(&renamed).is_ok()
}
