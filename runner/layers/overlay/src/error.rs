//! Errors of layers: what failed, why, and what to do.
//!
//! Changes that a comparison cannot see are not errors; see [`Incomplete`](crate::changes::change_list::Incomplete).

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// An error of a layer. No real file was changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LayerError {
    /// A granted directory cannot be opened.
    #[error("failed to open `{}`: {cause}; a layer needs a directory that this user may read", path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The kernel makes no layer.
    #[error("failed to make a layer over `{}`: {step}: {cause}; run it without a preview or a transaction", path.display())]
    Mount {
        /// The directory.
        path: PathBuf,
        /// The step that failed.
        step: &'static str,
        /// The kernel's error.
        cause: io::Error,
    },
    /// A layer gets no path.
    #[error("failed to attach the layer over `{}`: {cause}; run it without a preview or a transaction", path.display())]
    Attach {
        /// The granted path.
        path: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// No exact view of a grant is possible.
    #[error("failed to make a layer over `{}`: {reason}; {remedy}", path.display())]
    Unfit {
        /// The path that is the reason.
        path: PathBuf,
        /// The reason.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Files of a grant cannot be copied.
    #[error("failed to copy `{}`: {cause}; {}", path.display(), copy_remedy(cause))]
    Copy {
        /// The file or directory.
        path: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The layer is still written when it has to be read.
    #[error(
        "failed to freeze the layer over `{}`: {cause}; a process of the module still writes it, so its changes are \
         discarded",
        path.display()
    )]
    Freeze {
        /// The granted directory.
        path: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The layer cannot be compared.
    #[error("failed to compare `{}` with its layer: {cause}; its changes are discarded", path.display())]
    Compare {
        /// The directory or entry.
        path: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
}

/// Returns what to do about a grant that cannot be copied.
fn copy_remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => {
            "grant only what this user may read, or run modbox as a user who may read it all"
        }
        io::ErrorKind::QuotaExceeded | io::ErrorKind::StorageFull => "grant less, or raise --max-disk or --max-files",
        _ => "grant less, or run it without a preview or a transaction",
    }
}
