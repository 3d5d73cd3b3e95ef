//! Notes on files, so that unchanged modules are not read and hashed in each run: that takes longer than a short module
//! runs, and most modules do not change.
//!
//! A note is valid while its file has the same [`FileFingerprint`]. It can be out of date if the file was written
//! through a mapping, or if a clock was set back. But it is never wrong about the digest that it names: a run that uses
//! the note runs the code of that digest, and a run that then reads the file compares its digest.

use std::path::PathBuf;
use std::time::SystemTime;

use modbox_cleanup::Cleanup;
use modbox_vocabulary::FileFingerprint;

use crate::entry;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::private::open_file;
use crate::unfinished::UnfinishedFile;

/// Extension of a note's name.
pub(crate) const EXTENSION: &str = "known";

/// The longest note. Longer ones are not stored.
pub(crate) const MAX_NOTE: u64 = 64 << 10;

/// Returns the note on a file in this state; `None` also if the store cannot be used.
pub(crate) fn recall(folder: &Folder, file: &FileFingerprint) -> Option<Vec<u8>> {
    let note = open_file(&path(folder, file)).ok()??;
    entry::read(&folder.key().ok()?, &identity(file), &note, MAX_NOTE).ok()?
}

/// Stores a note on a file in this state. Returns whether it did: not if the file changed too recently, or if the note
/// is too long.
pub(crate) fn remember(
    folder: &Folder,
    file: &FileFingerprint,
    note: &[u8],
    cleanup: &Cleanup,
) -> Result<bool, StoreError> {
    let is_accepted = note.len() as u64 <= MAX_NOTE && file.is_settled(SystemTime::now());
    if is_accepted {
        write(folder, file, note, cleanup)?;
    }
    Ok(is_accepted)
}

/// Writes a note, without a look at how recently its file changed.
pub(crate) fn write(
    folder: &Folder,
    file: &FileFingerprint,
    mut note: &[u8],
    cleanup: &Cleanup,
) -> Result<(), StoreError> {
    let key = folder.key()?;
    let path = path(folder, file);
    let mut unfinished = UnfinishedFile::create(folder.path(), cleanup)?;
    let length = note.len() as u64;
    let written = entry::write(&key, &identity(file), &mut note, length, &mut unfinished.file);
    written.map_err(StoreError::io("write", &path))?;
    unfinished.publish(&path)
}

/// Returns the path of the note on a file. There is one note per file; a newer one replaces it.
pub(crate) fn path(folder: &Folder, file: &FileFingerprint) -> PathBuf {
    folder.path().join(format!("{:x}-{:x}.{EXTENSION}", file.device, file.inode))
}

/// Returns the identity that authenticates a note: the file's state, and the version of modbox that wrote the note.
fn identity(file: &FileFingerprint) -> String {
    let FileFingerprint { device, inode, size, modified, changed } = file;
    format!("note {} {device} {inode} {size} {modified} {changed}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;

    use super::*;

    fn look(path: &Path) -> FileFingerprint {
        FileFingerprint::from(&fs::metadata(path).unwrap())
    }

    /// Creates a folder for notes, and a file to write notes on.
    fn set_up() -> (tempfile::TempDir, Folder, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "contents").unwrap();
        let folder = Folder::new(dir.path().join("store"));
        (dir, folder, file)
    }

    fn note(folder: &Folder, file: &FileFingerprint, note: &[u8]) {
        write(folder, file, note, &Cleanup::default()).unwrap();
    }

    #[test]
    fn a_note_is_valid_until_the_file_changes() {
        let (_dir, folder, path) = set_up();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let before = look(&path);
        assert_eq!(recall(&folder, &before), None);
        note(&folder, &before, b"a note");
        assert_eq!(recall(&folder, &before).unwrap(), b"a note");
        // The clock of file times ticks every few milliseconds.
        while fs::metadata(&path).unwrap().modified().unwrap() == modified {
            fs::write(&path, "CONTENTS").unwrap();
        }
        let after = look(&path);
        assert_eq!(recall(&folder, &after), None, "of the same size");
        note(&folder, &after, b"another");
        assert_eq!(recall(&folder, &after).unwrap(), b"another");
        assert_eq!(recall(&folder, &before), None);
        // Setting mtime back does not set ctime back.
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert_eq!(recall(&folder, &look(&path)), None);
    }

    #[test]
    fn a_note_is_not_valid_for_a_replaced_file() {
        let (dir, folder, path) = set_up();
        note(&folder, &look(&path), b"a note");
        let other = dir.path().join("other");
        fs::write(&other, "contents").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(recall(&folder, &look(&path)), None);
    }

    #[test]
    fn no_note_is_stored_on_a_recently_changed_file() {
        let (_dir, folder, path) = set_up();
        let file = look(&path);
        assert!(!remember(&folder, &file, b"a note", &Cleanup::default()).unwrap());
        assert_eq!(recall(&folder, &file), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test wrote the file itself")]
    fn damaged_and_foreign_notes_are_ignored() {
        let (_dir, folder, path) = set_up();
        let file = look(&path);
        note(&folder, &file, b"a note");
        let of_file = super::path(&folder, &file);
        let good = fs::read(&of_file).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&of_file, &bad).unwrap();
            assert_eq!(recall(&folder, &file), None, "byte {at} flipped");
            fs::write(&of_file, &good[..at]).unwrap();
            assert_eq!(recall(&folder, &file), None, "cut at {at}");
        }
        fs::write(&of_file, &good).unwrap();
        assert!(recall(&folder, &file).is_some());
        // The key of another user.
        fs::write(folder.path().join("key"), [7; 32]).unwrap();
        assert_eq!(recall(&folder, &file), None);
    }

    #[test]
    fn notes_are_bounded() {
        let (_dir, folder, path) = set_up();
        let file = look(&path);
        let longest = usize::try_from(MAX_NOTE).unwrap();
        note(&folder, &file, &vec![b'x'; longest]);
        assert_eq!(recall(&folder, &file).unwrap().len(), longest);
        note(&folder, &file, &vec![b'x'; longest + 1]);
        assert_eq!(recall(&folder, &file), None, "longer than what is read");
    }
}
