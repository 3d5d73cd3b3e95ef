//! The state of a file, with which a later check recognises an unchanged file without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;
use serde::{Deserialize, Serialize};

/// Age of a change after which the next change gets a different timestamp from the filesystem's clock.
const SETTLED: Duration = Duration::from_secs(2);

const NANOSECONDS: i128 = 1_000_000_000;

/// The properties that a filesystem changes together with the contents of a file.
///
/// Two equal fingerprints mean the same unchanged file, unless the file was written through a memory mapping or the
/// clock was set back. The time of the last status change is included because a program can set the modification time
/// to any value, but the time of the status change only to the current time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileFingerprint {
    /// Device that holds the file.
    pub device: u64,
    /// Number of the file on its device.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Time of the last modification of the contents, in nanoseconds since the epoch.
    pub modified: i128,
    /// Time of the last status change, in nanoseconds since the epoch.
    pub changed: i128,
}

impl FileFingerprint {
    /// Returns whether every change after `now` changes the fingerprint.
    ///
    /// A modification time in the future was set by a program. A later change still gives another fingerprint, as long
    /// as the time of the status change is in the past.
    #[must_use]
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let Ok(now) = now.duration_since(UNIX_EPOCH) else { return false };
        let now = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX);
        let settled = i128::try_from(SETTLED.as_nanos()).unwrap_or(i128::MAX);
        now - self.changed > settled && (now - self.modified).abs() > settled
    }
}

impl From<&Metadata> for FileFingerprint {
    fn from(file: &Metadata) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
            size: file.size(),
            modified: nanoseconds(file.mtime(), file.mtime_nsec()),
            changed: nanoseconds(file.ctime(), file.ctime_nsec()),
        }
    }
}

impl From<&Stat> for FileFingerprint {
    fn from(file: &Stat) -> Self {
        Self {
            device: file.st_dev,
            inode: file.st_ino,
            size: u64::try_from(file.st_size).unwrap_or_default(),
            modified: nanoseconds(file.st_mtime, file.st_mtime_nsec),
            changed: nanoseconds(file.st_ctime, file.st_ctime_nsec),
        }
    }
}

fn nanoseconds(seconds: impl Into<i128>, nanoseconds: impl Into<i128>) -> i128 {
    seconds.into() * NANOSECONDS + nanoseconds.into()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn both_sources_give_the_same_fingerprint() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stat = rustix::fs::stat(file.path()).unwrap();
        assert_eq!(FileFingerprint::from(&file.path().metadata().unwrap()), FileFingerprint::from(&stat));
    }

    #[test]
    fn a_modification_time_that_was_set_back_is_noticed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "one").unwrap();
        let before = file.path().metadata().unwrap();
        // The clock of file times ticks every few milliseconds.
        let after = loop {
            fs::write(file.path(), "two").unwrap();
            File::options().write(true).open(file.path()).unwrap().set_modified(before.modified().unwrap()).unwrap();
            let after = file.path().metadata().unwrap();
            if (after.ctime(), after.ctime_nsec()) != (before.ctime(), before.ctime_nsec()) {
                break after;
            }
        };
        let (before, after) = (FileFingerprint::from(&before), FileFingerprint::from(&after));
        assert_eq!((before.size, before.modified), (after.size, after.modified));
        assert_ne!(before, after);
    }

    #[test]
    fn a_file_settles_two_seconds_after_its_last_change() {
        let at = |modified: i128, changed: i128| FileFingerprint {
            device: 1,
            inode: 2,
            size: 3,
            modified: modified * NANOSECONDS,
            changed: changed * NANOSECONDS,
        };
        let now = UNIX_EPOCH + Duration::from_secs(100);
        for (file, settled) in [
            (at(90, 90), true),
            (at(99, 99), false),
            (at(90, 99), false),
            (at(99, 90), false),
            (at(500, 90), true),
            (at(90, 500), false),
        ] {
            assert_eq!(file.is_settled(now), settled, "{file:?}");
        }
    }

    #[test]
    fn survives_being_written_and_read() {
        let file =
            FileFingerprint { device: 1, inode: u64::MAX, size: 3, modified: -4, changed: i128::from(i64::MAX) + 5 };
        let json = serde_json::to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<FileFingerprint>(&json).unwrap(), file);
    }
}
