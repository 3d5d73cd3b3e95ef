//! What was found out about a file, under the state that the file was in: to read and hash a module takes longer than to
//! run a short one, and most modules do not change from run to run.
//!
//! A note counts as long as everything that a filesystem changes with a file's contents is as it was: device, inode,
//! size and both times. What a note says of a file can still be out of date, where a file is written through a mapping
//! or a clock is set back. It is never wrong about what it names: who follows it runs the code of the digest in it,
//! and whoever reads the file after all compares that digest.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, OFlags};

use super::{CacheError, CompileCache, Unfinished, entry, room};
use crate::sandbox::cleanup::Cleanup;

pub(super) const EXTENSION: &str = "known";

/// Longer notes are not worth it.
const MAX_NOTE: usize = 64 << 10;

/// A file that was changed a moment ago may be changed again without a difference in its times.
const SETTLED: Duration = Duration::from_secs(2);

impl CompileCache {
    /// Returns the note on a file in this state. A cache that cannot be used has none.
    pub fn recall(&self, file: &Metadata) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let note = File::from(rustix::fs::open(self.note_path(file), flags, Mode::empty()).ok()?);
        entry::read(&self.key().ok()?, &state(file), &note, MAX_NOTE).ok()?
    }

    /// Notes something on a file in this state, unless it is too young or the note is too long.
    ///
    /// # Errors
    ///
    /// A folder that is not private or cannot be written.
    pub fn remember(&self, file: &Metadata, note: &[u8], cleanup: &Cleanup) -> Result<(), CacheError> {
        if note.len() > MAX_NOTE || !is_settled(file, SystemTime::now()) {
            return Ok(());
        }
        self.write_note(file, note, cleanup)
    }

    fn write_note(&self, file: &Metadata, note: &[u8], cleanup: &Cleanup) -> Result<(), CacheError> {
        let key = self.key()?;
        let path = self.note_path(file);
        let mut unfinished = Unfinished::create(&self.dir, cleanup)?;
        let written = entry::write(&key, &state(file), &mut &*note, note.len() as u64, &mut unfinished.file);
        written.map_err(|source| CacheError::Io { verb: "write", path: path.clone(), source })?;
        unfinished.publish(&path)?;
        room::make(self, self.max_size).map(drop)
    }

    /// One note a file: a new state takes the place of the old one.
    fn note_path(&self, file: &Metadata) -> PathBuf {
        self.dir.join(format!("{:x}-{:x}.{EXTENSION}", file.dev(), file.ino()))
    }
}

/// What changes when a file's contents do; and this modbox, which wrote the note.
fn state(file: &Metadata) -> String {
    let (version, dev, ino, size) = (env!("CARGO_PKG_VERSION"), file.dev(), file.ino(), file.size());
    let (written, changed) = ((file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec()));
    format!("note {version} {dev} {ino} {size} {}.{:09} {}.{:09}", written.0, written.1, changed.0, changed.1)
}

fn is_settled(file: &Metadata, now: SystemTime) -> bool {
    let Ok(now) = now.duration_since(UNIX_EPOCH) else { return false };
    let latest = u64::try_from(file.mtime().max(file.ctime())).unwrap_or_default();
    now.as_secs().checked_sub(latest).is_some_and(|age| age > SETTLED.as_secs())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A cache, and the path of a file.
    fn set_up() -> (tempfile::TempDir, CompileCache, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "contents").unwrap();
        let cache = CompileCache::new(dir.path().join("cache"));
        (dir, cache, file)
    }

    fn note(cache: &CompileCache, file: &Metadata, note: &[u8]) {
        cache.write_note(file, note, &Cleanup::default()).unwrap();
    }

    #[test]
    fn a_note_counts_until_the_file_changes() {
        let (_dir, cache, path) = set_up();
        let before = fs::metadata(&path).unwrap();
        assert_eq!(cache.recall(&before), None);
        note(&cache, &before, b"a note");
        assert_eq!(cache.recall(&before).unwrap(), b"a note");
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&path, "CONTENTS").unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!(cache.recall(&after), None, "of the same size");
        note(&cache, &after, b"another");
        assert_eq!(cache.recall(&after).unwrap(), b"another");
        assert_eq!(cache.recall(&before), None);
        // Whoever sets the time of the last write back cannot set back when that was done.
        File::options().write(true).open(&path).unwrap().set_modified(before.modified().unwrap()).unwrap();
        assert_eq!(cache.recall(&fs::metadata(&path).unwrap()), None);
    }

    #[test]
    fn another_file_in_its_place_is_not_known() {
        let (dir, cache, path) = set_up();
        note(&cache, &fs::metadata(&path).unwrap(), b"a note");
        let other = dir.path().join("other");
        fs::write(&other, "contents").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(cache.recall(&fs::metadata(&path).unwrap()), None);
    }

    #[test]
    fn a_young_file_is_not_noted() {
        let (_dir, cache, path) = set_up();
        let file = fs::metadata(&path).unwrap();
        cache.remember(&file, b"a note", &Cleanup::default()).unwrap();
        assert_eq!(cache.recall(&file), None);
        let now = SystemTime::now();
        assert!(!is_settled(&file, now) && is_settled(&file, now + 2 * SETTLED));
        assert!(!is_settled(&file, now - 2 * SETTLED), "a file from the future");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test wrote the file itself")]
    fn damaged_notes_and_those_of_others_are_none() {
        let (_dir, cache, path) = set_up();
        let file = fs::metadata(&path).unwrap();
        note(&cache, &file, b"a note");
        let of_file = cache.note_path(&file);
        let good = fs::read(&of_file).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&of_file, &bad).unwrap();
            assert_eq!(cache.recall(&file), None, "byte {at} flipped");
            fs::write(&of_file, &good[..at]).unwrap();
            assert_eq!(cache.recall(&file), None, "cut at {at}");
        }
        fs::write(&of_file, &good).unwrap();
        assert!(cache.recall(&file).is_some());
        // A key of somebody else.
        fs::write(cache.dir().join("key"), [7; 32]).unwrap();
        assert_eq!(cache.recall(&file), None);
    }

    #[test]
    fn notes_are_bounded_and_go_with_the_cache() {
        let (_dir, cache, path) = set_up();
        let file = fs::metadata(&path).unwrap();
        note(&cache, &file, &[b'x'; MAX_NOTE]);
        assert_eq!(cache.recall(&file).unwrap().len(), MAX_NOTE);
        note(&cache, &file, &[b'x'; MAX_NOTE + 1]);
        assert_eq!(cache.recall(&file), None, "longer than what is read");
        note(&cache, &file, b"a note");
        assert!(cache.list().unwrap().is_empty(), "no compiled code");
        assert_eq!(cache.clear().unwrap(), 2, "the note and the key");
        assert_eq!(cache.recall(&file), None);
    }
}
