//! Errors that keep a process from being confined.

use std::io;
use std::path::PathBuf;

/// Why a process was not confined. A kernel that supports less than the plan is not an error; it reaches a lower level.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// Landlock and seccomp confine only the calling thread; other threads would stay unconfined.
    #[error("failed to confine the process: {count} threads are running where there must be one")]
    Threads {
        /// The number of threads.
        count: u64,
    },
    /// The threads could not be counted.
    #[error("failed to count the threads of the process in `/proc/self/task`")]
    CountThreads(#[source] io::Error),
    /// A path of the plan cannot be opened.
    #[error("failed to open `{}` for the rules of the kernel", path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The kernel does not resolve paths beneath a directory.
    #[error(
        "the kernel has no `openat2`, by which granted paths are resolved; use Linux 5.6 or newer, or allow the call if a filter \
         of system calls refuses it, as that of an old container runtime does"
    )]
    PathResolution(#[source] io::Error),
    /// The kind of a path has changed since it was granted.
    #[error("failed to use `{}` in the rules of the kernel: it is not {expected} any more", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
        /// The kind that is expected.
        expected: &'static str,
    },
}
