//! Errors of the copies for a trial.

use std::io;
use std::path::PathBuf;

/// An error that keeps a trial from starting.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The policy grants a command outside, which no copy or layer holds.
    #[error(
        "the policy grants the command outside `{0}`, which a trial would really run; take the grant from the policy, or run the \
         module without it"
    )]
    CommandsOutside(String),
    /// There is too much to copy.
    #[error("failed to copy `{}`: it has more than {most}; grant less of it, or write the policy by hand", path.display())]
    TooLarge {
        /// The granted path.
        path: PathBuf,
        /// The limit that it passes.
        most: String,
    },
    /// A file or a directory cannot be copied.
    #[error("failed to copy `{}`", path.display())]
    Copy {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A granted path is a socket or a device.
    #[error(
        "failed to copy `{}`: it is a socket, a pipe or a device, whose use reaches the machine; `--learn-effects` accepts that",
        path.display()
    )]
    Special {
        /// The path.
        path: PathBuf,
    },
}
