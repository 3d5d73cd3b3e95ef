//! Reads a module's file: regular files only, up to a limit. `library` finds the file.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::module_digest::module_digest;

/// Largest module file that is read; a Python interpreter as a component has 20 MB.
pub const MAX_MODULE: u64 = 256 << 20;

/// A module's path and contents.
#[derive(Debug, Clone)]
pub struct ModuleFile {
    /// Where the module was found.
    pub path: PathBuf,
    /// Whole contents.
    pub bytes: Arc<[u8]>,
}

/// An error in reading a module.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// The path is a FIFO, socket or device: reading it might never end.
    #[error("`{}` is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The file is too large.
    #[error("`{}` is longer than the limit of {MAX_MODULE} bytes for a module", .0.display())]
    TooLarge(PathBuf),
    /// The file is named by a digest, and has other content.
    #[error("`{}` is damaged: its content has another digest than its name says; remove it, and pull the module again", .0.display())]
    Damaged(PathBuf),
    /// The file changed after modbox had opened it.
    #[error("the module `{}` changed while it was being read; run it again", .0.display())]
    Changed(PathBuf),
    /// The file cannot be read.
    #[error("failed to read the module `{}`", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Reads a module's file.
///
/// # Errors
///
/// A file that is not regular, too large, or cannot be read.
pub fn read(path: &Path) -> Result<ModuleFile, LocateError> {
    let (file, metadata) = open(path)?;
    let bytes = contents(path, &file, &metadata)?;
    check_name(path, || module_digest(&bytes))?;
    Ok(ModuleFile { path: path.to_owned(), bytes })
}

/// Refuses content that is not what the path says, if that is one of content by its digest: in the folder `blobs/sha256` of
/// an OCI image layout, as the store of pulled modules is one.
pub(crate) fn check_name<T: AsRef<str>>(path: &Path, digest: impl FnOnce() -> T) -> Result<(), LocateError> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_digest = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_blob = is_digest && path.parent().is_some_and(|folder| folder.ends_with("blobs/sha256"));
    if is_blob && digest().as_ref() != name { Err(LocateError::Damaged(path.to_owned())) } else { Ok(()) }
}

/// Opens a module's file, after checking its type and size.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), LocateError> {
    let failed = |source| LocateError::Read { path: path.to_owned(), source };
    let (file, metadata) = modbox_files::open_at_once(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(LocateError::NotRegular(path.to_owned()));
    }
    if metadata.len() > MAX_MODULE {
        return Err(LocateError::TooLarge(path.to_owned()));
    }
    Ok((file, metadata))
}

/// Reads an open file of the length that `metadata` says.
pub(crate) fn contents(path: &Path, file: &File, metadata: &Metadata) -> Result<Arc<[u8]>, LocateError> {
    let failed = |source| LocateError::Read { path: path.to_owned(), source };
    // Reads straight into the `Arc`: going through a `Vec` would copy every module once more on every run.
    let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, length).collect();
    let buffer = Arc::get_mut(&mut bytes).expect("no other reference exists yet");
    let mut reader = file;
    reader.read_exact(buffer).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        assert!(matches!(read(Path::new("/dev/zero")), Err(LocateError::NotRegular(_))));
        assert!(matches!(read(Path::new("/")), Err(LocateError::NotRegular(_))));
    }
}
