//! Errors in finding and reading what a provider says about itself.

use std::io;
use std::path::PathBuf;

use modbox_providers::{Action, MetadataError, ProviderFailure};

/// An error that keeps a provider from being used at all.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The folder of providers cannot be read.
    #[error("failed to read the folder `{}`", path.display())]
    Folder {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file with metadata cannot be read.
    #[error("failed to read the metadata file `{}`", path.display())]
    Sidecar {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The metadata is not valid.
    #[error("failed to use the metadata of `{}`", path.display())]
    Metadata {
        /// Path of the file that has it, or of the provider.
        path: PathBuf,
        /// What is wrong.
        source: MetadataError,
    },
    /// The provider was asked, and did not answer as it must.
    #[error("failed to ask `{}` for its metadata: {reason}; a file `NAME.yaml` beside it can have the metadata", path.display())]
    Describe {
        /// Path of the provider.
        path: PathBuf,
        /// What happened.
        reason: String,
    },
    /// The file cannot be executed.
    #[error("failed to use `{}`: it looks like a provider and is not executable; run `chmod +x` on it", .0.display())]
    NotExecutable(PathBuf),
    /// The provider says that it does not work on this machine.
    #[error("failed to use `{provider}` on this machine: {reason}")]
    Unsuitable {
        /// Qualified name of the provider.
        provider: String,
        /// The condition that does not hold.
        reason: String,
    },
    /// The action belongs to the other convention.
    #[error("failed to call `{provider}` for `{action}`: it follows the convention `{convention}`")]
    Convention {
        /// Qualified name of the provider.
        provider: String,
        /// The action.
        action: Action,
        /// The convention that it follows.
        convention: &'static str,
    },
}

impl ProviderError {
    /// Returns the error for an answer to `describe`.
    pub(crate) fn of_answer(path: PathBuf, failure: &ProviderFailure) -> Self {
        Self::Describe { path, reason: failure.to_string() }
    }

    /// Returns whether libral's program counts this as an error, and not as a provider to leave out.
    #[must_use]
    pub fn is_wrong_metadata(&self) -> bool {
        matches!(self, Self::Metadata { .. })
    }
}
