//! Values that the caller provides to this layer: a working directory, the environment, an output for messages, and a
//! cleanup list.
//!
//! The layer runs `cargo` and `rustup` for the author, so it needs the author's environment. Only the cli reads the
//! environment, so that it comes in as a value here, and a test can pass another one. This layer uses no other ambient
//! state.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use modbox_cleanup::Cleanup;

/// Surroundings of a build.
pub struct AuthoringContext<'a> {
    /// Directory that relative paths start at.
    pub cwd: PathBuf,
    /// Environment of the author: `PATH`, `HOME`, `CARGO_HOME` and so on. Children get it without the variables that
    /// would disturb them.
    pub env: BTreeMap<OsString, OsString>,
    /// modbox's cache folder, for the SDK's sources and for build output that projects share. `None` if the user has no home.
    pub cache_dir: Option<PathBuf>,
    /// List of children and half-written files, so that a signal leaves none behind.
    pub cleanup: Cleanup,
    /// Receives a message, one line without a final period, about each step that takes long or changes the toolchain.
    pub progress: &'a mut dyn FnMut(&str),
}

impl AuthoringContext<'_> {
    /// Returns a variable of the author's environment, if it is set and not empty.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Resolves a path relative to the working directory.
    #[must_use]
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    pub(crate) fn say(&mut self, message: &str) {
        (self.progress)(message);
    }
}

impl fmt::Debug for AuthoringContext<'_> {
    // The environment may hold secrets, so only its size is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthoringContext")
            .field("cwd", &self.cwd)
            .field("env", &self.env.len())
            .field("cleanup", &self.cleanup)
            .finish_non_exhaustive()
    }
}
