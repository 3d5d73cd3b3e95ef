//! Failures to build an interpreter.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use thiserror::Error;

/// Failure to build an interpreter.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InterpreterError {
    /// componentize-py is not installed.
    #[error(
        "failed to find componentize-py: run `pip install componentize-py`, and add it to PATH; or let modbox install it \
         for itself with `--with-pip`"
    )]
    NoComponentize,
    /// A file cannot be read or written.
    #[error("failed to {verb} `{}`", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("failed to run `{}`", program.display())]
    Run {
        /// Path of the program.
        program: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The build failed.
    #[error("failed to build the interpreter: `{}` failed with {status}: {detail}", program.display())]
    Build {
        /// Python that ran the build.
        program: PathBuf,
        /// Its exit status.
        status: ExitStatus,
        /// What it wrote to standard error.
        detail: String,
    },
    /// pip failed.
    #[error("failed to install componentize-py: `{} -m pip` failed with {status}: {detail}", program.display())]
    Pip {
        /// Python that ran pip.
        program: PathBuf,
        /// Its exit status.
        status: ExitStatus,
        /// What it wrote to standard error.
        detail: String,
    },
    /// The build succeeded by its status, and wrote nothing.
    #[error("failed to build the interpreter: the build did not write `{}`", path.display())]
    NoOutput {
        /// Path that was to be written.
        path: PathBuf,
    },
}

/// Returns the conversion of an error about a file.
pub(super) fn file_error(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> InterpreterError + use<> {
    let path = path.to_owned();
    move |source| InterpreterError::File { verb, path, source }
}
