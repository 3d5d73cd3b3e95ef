//! Failures to provide the SDK to a project.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::carried::VERSION;

/// Failure to provide the SDK that modbox carries.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SdkError {
    /// The user has no folder to unpack the sources into.
    #[error(
        "failed to unpack the SDK: this user has no home folder; set XDG_CACHE_HOME, or use `modbox new NAME --sdk DIR`"
    )]
    NoFolder,
    /// Another user can change the folder of the sources.
    #[error(
        "failed to use the SDK in `{}`: another user can change the folder; remove it, or set XDG_CACHE_HOME to a folder of your own",
        path.display()
    )]
    NotPrivate {
        /// The folder.
        path: PathBuf,
    },
    /// The project needs another version of the SDK.
    #[error(
        "failed to build `{}`: it needs modbox-sdk `{required}`, and this modbox has {VERSION}; install a modbox of that version, \
         or change `version` of `modbox-sdk` in `Cargo.toml`",
        dir.display()
    )]
    Version {
        /// Directory of the project.
        dir: PathBuf,
        /// Requirement in its manifest.
        required: String,
    },
    /// A file could not be read or written.
    #[error("failed to {verb} `{}`", path.display())]
    File {
        /// Verb of the operation.
        verb: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl SdkError {
    /// Returns a function that makes an error of an I/O error.
    pub(super) fn file(verb: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { verb, path, source }
    }
}
