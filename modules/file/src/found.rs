//! Finds what exists at a path, as the kernel finds it: `gone/..` does not exist.

use std::io::{self, ErrorKind};
use std::path::Path;

use modbox_sdk::Failure;
use modbox_sdk::files::{self, Attributes};

use crate::errors::python;
use crate::text::text;

/// The file type at a path, with Ansible's names for `state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileType {
    Nothing,
    Link,
    Directory,
    /// A file with several hard links.
    Hard,
    /// Any other file.
    File,
}

impl FileType {
    pub(crate) fn at(path: &Path) -> Result<Self, Failure> {
        Ok(match look(path)? {
            None => Self::Nothing,
            Some(found) if found.target.is_some() => Self::Link,
            Some(found) if found.directory => Self::Directory,
            Some(found) if found.links > 1 => Self::Hard,
            Some(_) => Self::File,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "absent",
            Self::Link => "link",
            Self::Directory => "directory",
            Self::Hard => "hard",
            Self::File => "file",
        }
    }
}

/// Returns the attributes at a path itself, or `None` if nothing exists there.
pub(crate) fn look(path: &Path) -> Result<Option<Attributes>, Failure> {
    match files::stat(path, false) {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(Failure::new(python(&error, path)).with("path", text(path))),
    }
}

/// Refuses a path below a file, which is an error since ansible-core 2.21, and was absent before.
pub(crate) fn refuse_below_file(path: &Path) -> Result<(), Failure> {
    match files::stat(path, false) {
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(Failure::new(python(&error, path)).with("path", text(path)))
        }
        _ => Ok(()),
    }
}

/// Returns the attributes of a path's target.
pub(crate) fn look_behind(path: &Path) -> io::Result<Option<Attributes>> {
    match files::stat(path, true) {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether a path's target exists and is accessible.
pub(crate) fn exists(path: &Path) -> bool {
    look_behind(path).is_ok_and(|found| found.is_some())
}

/// Returns whether a path leads to a folder.
pub(crate) fn is_directory(path: &Path) -> bool {
    look_behind(path).is_ok_and(|found| found.is_some_and(|found| found.directory))
}

/// Returns the target of a link.
pub(crate) fn target(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(look(path)?.and_then(|found| found.target).unwrap_or_default())
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Returns whether the start of a file has a zero byte. An unreadable file counts as text.
pub(crate) fn looks_binary(path: &Path) -> bool {
    use std::io::Read;
    const HEAD: u64 = 8192;
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && head.contains(&0)
}
