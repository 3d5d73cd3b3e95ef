//! What filters and tests need of the machine: a clock, chance, files. The caller supplies it, or refuses.

use std::fmt::Debug;

use minijinja::{Error, Value};

use crate::failure::failure;
use crate::values::Offset;

/// A failed question to the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The host does not answer such questions.
    #[error("{0} is not available to templates here")]
    Unavailable(&'static str),
    /// The host tried and failed.
    #[error("{0}")]
    Failed(String),
}

impl From<HostError> for Error {
    fn from(error: HostError) -> Self {
        failure(error.to_string())
    }
}

/// What a test asks about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileQuestion {
    /// Is it a directory, after following links?
    Directory,
    /// Is it a regular file, after following links?
    File,
    /// Is it a symbolic link?
    Link,
    /// Does it exist, after following links?
    Exists,
    /// Does it exist, even as a link that leads nowhere?
    LinkExists,
    /// Is it the root of a file system?
    Mount,
}

/// Keeps the secrets of a run, for the filters of ansible-core 2.22 that register and mask them.
pub trait SecretKeeper: Debug + Send + Sync {
    /// Registers a secret, so that what is shown does not have it.
    fn register(&self, secret: &str);

    /// Returns whether no secret is registered.
    fn is_empty(&self) -> bool;

    /// Returns a text with a placeholder for each secret; `None` if it has none.
    fn masked(&self, text: &str, placeholder: &str) -> Option<String>;

    /// Shows a warning.
    fn warn(&self, text: &str);
}

/// The machine, as far as templates may see it. Every method refuses unless the caller implements it.
pub trait Host: Debug + Send + Sync {
    /// Returns the microseconds since the start of 1970.
    ///
    /// # Errors
    ///
    /// The host has no clock.
    fn now(&self) -> Result<i128, HostError> {
        Err(HostError::Unavailable("the clock"))
    }

    /// Returns the offset of local time at a moment, in seconds since the start of 1970.
    ///
    /// # Errors
    ///
    /// The host has no zones.
    fn offset(&self, _seconds: i64) -> Result<Offset, HostError> {
        Err(HostError::Unavailable("the local time zone"))
    }

    /// Returns a number of which every bit is random.
    ///
    /// # Errors
    ///
    /// The host has no source of chance.
    fn random(&self) -> Result<u64, HostError> {
        Err(HostError::Unavailable("a source of random numbers"))
    }

    /// Returns the home directory of a user, or of the current one. `None`: the user is unknown.
    ///
    /// # Errors
    ///
    /// The host does not tell.
    fn home(&self, _user: Option<&str>) -> Result<Option<String>, HostError> {
        Err(HostError::Unavailable("the home directory"))
    }

    /// Returns a variable of the environment.
    ///
    /// # Errors
    ///
    /// The host does not tell.
    fn variable(&self, _name: &str) -> Result<Option<String>, HostError> {
        Err(HostError::Unavailable("the environment"))
    }

    /// Returns the current directory.
    ///
    /// # Errors
    ///
    /// The host does not tell.
    fn current_directory(&self) -> Result<String, HostError> {
        Err(HostError::Unavailable("the current directory"))
    }

    /// Returns a path without links: Python's `os.path.realpath`, which never fails for lack of a file.
    ///
    /// # Errors
    ///
    /// The host does not tell.
    fn real_path(&self, _path: &str) -> Result<String, HostError> {
        Err(HostError::Unavailable("the file system"))
    }

    /// Answers a question about a file. A file that does not exist is not an error.
    ///
    /// # Errors
    ///
    /// The host does not tell.
    fn file(&self, _path: &str, _question: FileQuestion) -> Result<bool, HostError> {
        Err(HostError::Unavailable("the file system"))
    }

    /// Returns whether two paths lead to the same file.
    ///
    /// # Errors
    ///
    /// The host does not tell, or a file does not exist.
    fn same_file(&self, _first: &str, _second: &str) -> Result<bool, HostError> {
        Err(HostError::Unavailable("the file system"))
    }

    /// Returns the regular files that match a pattern of `glob.glob`, in its order.
    ///
    /// # Errors
    ///
    /// The host does not tell.
    fn glob(&self, _pattern: &str) -> Result<Vec<String>, HostError> {
        Err(HostError::Unavailable("the file system"))
    }

    /// Returns the documents of a YAML text.
    ///
    /// # Errors
    ///
    /// The text is not YAML, or the host has no parser.
    fn yaml(&self, _text: &str) -> Result<Vec<Value>, HostError> {
        Err(HostError::Unavailable("a YAML parser"))
    }

    /// Returns the keeper of secrets; `None` for releases before ansible-core 2.22, whose templates have no filters for them.
    fn secrets(&self) -> Option<&dyn SecretKeeper> {
        None
    }
}

/// A host that refuses every question.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl Host for NoHost {}
