//! Writes the files of one native run before it, and counts them after it.
//!
//! All accesses go through the open temporary directory, so that neither a name nor a link can lead outside. The
//! directory itself belongs to the caller, which makes and removes it.

use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use modbox_vocabulary::InputFile;
use rustix::fs::Mode;

use crate::error::NativeError;

/// Maximum number of counted files, so that a module cannot delay its own report with a million files.
const MAX_COUNTED_FILES: u64 = 100_000;

/// Opens the temporary directory.
pub(crate) fn open(tmpdir: &Path) -> Result<Dir, NativeError> {
    Dir::open_ambient_dir(tmpdir, cap_std::ambient_authority())
        .map_err(|source| NativeError::OpenDirectory { path: tmpdir.to_owned(), source })
}

/// Writes the files of an invocation. Fails if one of them exists already.
pub(crate) fn lay_out(dir: &Dir, files: &[InputFile]) -> Result<(), NativeError> {
    let _no_process_is_being_started = modbox_worker::exclude_spawns();
    for file in files {
        if !is_bare(&file.name) {
            return Err(NativeError::FileName { name: file.name.clone() });
        }
        write(dir, file).map_err(|source| NativeError::WriteFile { name: file.name.clone(), source })?;
    }
    Ok(())
}

fn is_bare(name: &str) -> bool {
    let mut components = Path::new(name).components();
    // The text is compared too, because `components` drops a trailing slash.
    matches!((components.next(), components.next()), (Some(Component::Normal(part)), None) if part == name)
}

fn write(dir: &Dir, file: &InputFile) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // No other user may open the file before it has its mode.
    options.write(true).create_new(true).mode(0o600);
    let mut opened = dir.open_with(&file.name, &options)?;
    opened.write_all(&file.contents)?;
    // Set by a separate call, because the umask reduces the mode given at creation.
    rustix::fs::fchmod(&opened, Mode::from_raw_mode(file.mode))?;
    Ok(())
}

/// Contents of a directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// Bytes of regular files.
    pub(crate) bytes: u64,
    /// Number of entries that are not directories.
    pub(crate) files: u64,
}

/// Counts the files below a directory without following links. Unreadable files are not counted, so for a module that
/// hides its files the numbers are a lower bound.
pub(crate) fn count(dir: &Dir) -> Contents {
    let mut contents = Contents::default();
    let mut seen = 0;
    let mut unread = vec![PathBuf::from(".")];
    while let Some(path) = unread.pop() {
        let Ok(entries) = dir.read_dir(&path) else { continue };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MAX_COUNTED_FILES {
                return contents;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                unread.push(path.join(entry.file_name()));
            } else {
                contents.files += 1;
                contents.bytes += if metadata.is_file() { metadata.len() } else { 0 };
            }
        }
    }
    contents
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn file(name: &str, contents: &str, mode: u32) -> InputFile {
        InputFile { name: name.to_owned(), contents: contents.as_bytes().into(), mode }
    }

    #[test]
    fn writes_exact_modes_and_counts_without_following_links() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = open(tmp.path()).unwrap();
        lay_out(&dir, &[file("a", "12345", 0o777), file("b", "", 0o400)]).unwrap();
        let mode = |name: &str| tmp.path().join(name).metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("a"), mode("b")), (0o777, 0o400));
        dir.create_dir("sub").unwrap();
        symlink("/usr", tmp.path().join("sub/link")).unwrap();
        assert_eq!(count(&dir), Contents { bytes: 5, files: 3 });
    }

    #[test]
    fn refuses_names_that_are_not_bare() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = open(tmp.path()).unwrap();
        for name in ["", ".", "..", "/etc/x", "a/b", "a/", "./a", "../a"] {
            let error = lay_out(&dir, &[file(name, "", 0o600)]).unwrap_err();
            assert!(matches!(error, NativeError::FileName { .. }), "{name}: {error}");
        }
    }

    #[test]
    fn writes_through_nothing_that_exists() {
        let tmp = tempfile::tempdir().unwrap();
        symlink("elsewhere", tmp.path().join("args")).unwrap();
        let error = lay_out(&open(tmp.path()).unwrap(), &[file("args", "x", 0o600)]).unwrap_err();
        assert!(matches!(error, NativeError::WriteFile { .. }), "{error}");
        assert!(!tmp.path().join("elsewhere").exists());
    }
}
