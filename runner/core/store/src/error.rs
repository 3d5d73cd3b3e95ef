//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

/// Why the store could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An operation of the operating system failed.
    #[error("failed to {verb} `{}`", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The folder, or the key in it, is open to other users.
    #[error("failed to use `{}`: it belongs to another user or is writable by others; remove it or run `chmod go-rwx` on it", .0.display())]
    NotPrivate(PathBuf),
    /// The key file has the wrong length even after it was replaced.
    #[error("failed to read the key `{}`: it is damaged, also after it was replaced; delete it", .0.display())]
    DamagedKey(PathBuf),
    /// The entry is larger than the whole store.
    #[error("failed to store {bytes} bytes: the store may have {max} in all")]
    TooLarge {
        /// Length of the entry.
        bytes: u64,
        /// Size limit of the store.
        max: u64,
    },
}

impl StoreError {
    /// Returns a function that adds the operation and its path to an error of the operating system.
    pub fn io<E: Into<io::Error>>(verb: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { verb, path, source: source.into() }
    }
}
