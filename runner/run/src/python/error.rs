//! Errors in assembling or starting a Python module.

use std::io;
use std::path::PathBuf;

use modbox_kinds::ansiballz::{ClosureError, RoutingError};
use modbox_native::NativeError;

/// An error in assembling or starting a Python module.
#[derive(Debug, thiserror::Error)]
pub enum PythonError {
    /// No usable interpreter was found.
    #[error(
        "there is no python that is new enough: tried {}; name one with `--interpreter PATH`, or in `MODBOX_INTERPRETER`",
        tried(.0)
    )]
    NoInterpreter(Vec<(String, String)>),
    /// The requested interpreter cannot be used.
    #[error(
        "the interpreter `{interpreter}` cannot be used: {reason}; name another with `--interpreter PATH`, or in \
         `MODBOX_INTERPRETER`"
    )]
    Interpreter {
        /// Which one.
        interpreter: String,
        /// The reason.
        reason: String,
    },
    /// No ansible-core was found.
    #[error(
        "failed to find ansible-core, whose `module_utils` Python modules import; searched {}; install it, or give its Python \
         with `--interpreter PATH`, or its folder with `--module-utils PATH/ansible/module_utils`",
        folders(.0)
    )]
    NoCore(Vec<PathBuf>),
    /// The module names an interpreter that is neither the system's nor granted.
    #[error(
        "the module names `{0}` as its interpreter, and nothing grants that; allow it with `--allow-read {0}`, or name \
         another with `--interpreter PATH`"
    )]
    NotGranted(String),
    /// A path that an interpreter needs for modbox's own script cannot be granted.
    #[error("failed to confine an interpreter")]
    Confine(#[from] modbox_policy::PolicyError),
    /// A file cannot be read.
    #[error("failed to read `{path}`")]
    Read {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file of redirects (`meta/runtime.yml`) is invalid.
    #[error("failed to understand `{path}`")]
    Routing {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: RoutingError,
    },
    /// An import of the module cannot be resolved.
    #[error(transparent)]
    Closure(Box<ClosureError<PythonError>>),
    /// A file that the module imports was replaced after the module was verified.
    #[error("a file that `{0}` is made of has changed since it was verified; run it again")]
    Changed(String),
    /// The zip cannot be written.
    #[error("failed to pack the module")]
    Zip(#[source] io::Error),
    /// The thread that reads sources did not start, or panicked.
    #[error("failed to read the module's imports")]
    Thread(#[source] io::Error),
    /// The process that runs modbox's own script failed.
    #[error("failed to ask the interpreter `{interpreter}`")]
    Ask {
        /// Which one.
        interpreter: String,
        /// Why.
        #[source]
        source: NativeError,
    },
}

impl PythonError {
    /// Returns whether the fault lies with modbox or this machine, and not with the module.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::Zip(_) | Self::Thread(_) | Self::Ask { .. })
    }
}

impl From<ClosureError<PythonError>> for PythonError {
    fn from(error: ClosureError<PythonError>) -> Self {
        match error {
            ClosureError::Lookup(error) => error,
            error => Self::Closure(Box::new(error)),
        }
    }
}

fn tried(tried: &[(String, String)]) -> String {
    let shown: Vec<String> = tried.iter().map(|(name, reason)| format!("`{name}` ({reason})")).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

fn folders(folders: &[PathBuf]) -> String {
    let shown: Vec<String> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
    if shown.is_empty() { "no folder".to_owned() } else { shown.join(", ") }
}
