//! When an entry was last used: the order in which entries are evicted.

use std::fs::{File, Metadata};
use std::time::{Duration, SystemTime};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

/// How often the time of the last use is updated. A smaller value would mean a disk write in more runs.
const TOUCH_EVERY: Duration = Duration::from_hours(1);

/// Returns when an entry was last used, as far as the filesystem knows. The access time of a folder is not used:
/// measuring its size sets that.
pub(crate) fn of(metadata: &Metadata) -> SystemTime {
    let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    if metadata.is_dir() {
        return written;
    }
    metadata.accessed().map_or(written, |read| read.max(written))
}

/// Records that an entry is used now. If that fails, only the order of eviction suffers.
pub(crate) fn touch(entry: &File) {
    let now = SystemTime::now();
    let is_recent = |used: SystemTime| now.duration_since(used).is_ok_and(|age| age < TOUCH_EVERY);
    let Ok(metadata) = entry.metadata() else { return };
    if !is_recent(of(&metadata)) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        // Keep the time of the last write of a file: the list shows it.
        let written = if metadata.is_dir() { now } else { Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT } };
        let _ = rustix::fs::futimens(entry, &Timestamps { last_access: now, last_modification: written });
    }
}
