//! Errors that keep a run on layers from starting or from being judged.

use std::io;
use std::path::PathBuf;

use modbox_overlay::commit::CommitError;
use modbox_overlay::error::LayerError;

/// An error of a run on layers. No file of the machine was changed.
#[derive(Debug, thiserror::Error)]
pub enum LayeredError {
    /// The policy grants a command outside, which no copy or layer holds.
    #[error(
        "the policy grants the command outside `{0}`, which a preview or a transaction would really run; take the grant from the policy, or run the \
         module without it"
    )]
    CommandsOutside(String),
    /// Everything is granted, so nothing holds the module back.
    #[error(
        "failed to make layers: `--allow-all` grants every file of the machine; grant the files that the module needs"
    )]
    Everything,
    /// The thread of the run cannot have mounts of its own.
    #[error("failed to make mounts of the run's own; run it without a preview or a transaction")]
    Mounts(#[source] io::Error),
    /// The thread of a play cannot have mounts of its own.
    #[error(
        "failed to make layers for the play: this machine lets only root make namespaces for mounts; run single modules with \
         `modbox run --preview`, or the play with `--check`"
    )]
    PlayMounts(#[source] io::Error),
    /// The thread of a play cannot go back to the machine's own mounts.
    #[error("failed to leave the mounts of the play, so that nothing can be committed")]
    LeaveMounts(#[source] io::Error),
    /// A directory for a layer cannot be made.
    #[error("failed to make the directory `{}` for a layer", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The run ended without a report.
    #[error("failed to run the module on layers: its thread ended early")]
    Thread,
    /// The directory of transactions.
    #[error(transparent)]
    Transactions(#[from] CommitError),
    /// A layer.
    #[error(transparent)]
    Layer(#[from] LayerError),
}
