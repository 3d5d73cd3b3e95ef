//! Notes on files, so that unchanged modules are not read and hashed in each run: that takes longer than a short module
//! runs, and most modules do not change.
//!
//! A note is valid while its file has the same [`FileFingerprint`]. It can be out of date if the file was written
//! through a mapping, or if a clock was set back. But it is never wrong about the digest that it names: a run that uses
//! the note runs the code of that digest, and a run that then reads the file compares its digest.

use std::fs::File;
use std::path::PathBuf;
use std::time::SystemTime;

use modbox_cleanup::Cleanup;
use modbox_vocabulary::FileFingerprint;
use rustix::fs::{Mode, OFlags};

use super::{CacheError, CompileCache, Unfinished, entry, eviction};

pub(super) const EXTENSION: &str = "known";

/// The longest note. Longer ones are not stored.
const MAX_NOTE: usize = 64 << 10;

impl CompileCache {
    /// Returns the note on a file in this state; `None` also if the cache cannot be used.
    pub fn recall(&self, file: &FileFingerprint) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let note = File::from(rustix::fs::open(self.note_path(file), flags, Mode::empty()).ok()?);
        entry::read(&self.key().ok()?, &state(file), &note, MAX_NOTE).ok()?
    }

    /// Stores a note on a file in this state, unless the file changed too recently or the note is too long.
    ///
    /// # Errors
    ///
    /// Fails if the folder is not private or cannot be written.
    pub fn remember(&self, file: &FileFingerprint, note: &[u8], cleanup: &Cleanup) -> Result<(), CacheError> {
        if note.len() > MAX_NOTE || !file.is_settled(SystemTime::now()) {
            return Ok(());
        }
        self.write_note(file, note, cleanup)
    }

    fn write_note(&self, file: &FileFingerprint, note: &[u8], cleanup: &Cleanup) -> Result<(), CacheError> {
        let key = self.key()?;
        let path = self.note_path(file);
        let mut unfinished = Unfinished::create(&self.dir, cleanup)?;
        let written = entry::write(&key, &state(file), &mut &*note, note.len() as u64, &mut unfinished.file);
        written.map_err(|source| CacheError::Io { verb: "write", path: path.clone(), source })?;
        unfinished.publish(&path)?;
        eviction::evict(self, self.max_size).map(drop)
    }

    /// Returns the path of the note on a file. There is one note per file; a newer one replaces it.
    fn note_path(&self, file: &FileFingerprint) -> PathBuf {
        self.dir.join(format!("{:x}-{:x}.{EXTENSION}", file.device, file.inode))
    }
}

/// Returns the name that authenticates a note: the file's state, and the version of modbox that wrote the note.
fn state(file: &FileFingerprint) -> String {
    let FileFingerprint { device, inode, size, modified, changed } = file;
    format!("note {} {device} {inode} {size} {modified} {changed}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    fn look(path: &Path) -> FileFingerprint {
        FileFingerprint::from(&fs::metadata(path).unwrap())
    }

    /// Creates a cache, and a file to write notes on.
    fn set_up() -> (tempfile::TempDir, CompileCache, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "contents").unwrap();
        let cache = CompileCache::new(dir.path().join("cache"));
        (dir, cache, file)
    }

    fn note(cache: &CompileCache, file: &FileFingerprint, note: &[u8]) {
        cache.write_note(file, note, &Cleanup::default()).unwrap();
    }

    #[test]
    fn a_note_is_valid_until_the_file_changes() {
        let (_dir, cache, path) = set_up();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let before = look(&path);
        assert_eq!(cache.recall(&before), None);
        note(&cache, &before, b"a note");
        assert_eq!(cache.recall(&before).unwrap(), b"a note");
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&path, "CONTENTS").unwrap();
        let after = look(&path);
        assert_eq!(cache.recall(&after), None, "of the same size");
        note(&cache, &after, b"another");
        assert_eq!(cache.recall(&after).unwrap(), b"another");
        assert_eq!(cache.recall(&before), None);
        // Setting mtime back does not set ctime back.
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert_eq!(cache.recall(&look(&path)), None);
    }

    #[test]
    fn a_note_is_not_valid_for_a_replaced_file() {
        let (dir, cache, path) = set_up();
        note(&cache, &look(&path), b"a note");
        let other = dir.path().join("other");
        fs::write(&other, "contents").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(cache.recall(&look(&path)), None);
    }

    #[test]
    fn no_note_is_stored_on_a_recently_changed_file() {
        let (_dir, cache, path) = set_up();
        let file = look(&path);
        cache.remember(&file, b"a note", &Cleanup::default()).unwrap();
        assert_eq!(cache.recall(&file), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test wrote the file itself")]
    fn damaged_and_foreign_notes_are_ignored() {
        let (_dir, cache, path) = set_up();
        let file = look(&path);
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
        // The key of another user.
        fs::write(cache.dir().join("key"), [7; 32]).unwrap();
        assert_eq!(cache.recall(&file), None);
    }

    #[test]
    fn notes_are_bounded_and_cleared_with_the_cache() {
        let (_dir, cache, path) = set_up();
        let file = look(&path);
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
