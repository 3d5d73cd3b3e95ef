//! What the caller lends to this layer: a working directory, the environment, a voice, and a cleanup list.
//!
//! The layer runs `cargo` and `rustup` for the author, so it needs the author's environment; but only the cli
//! reads that, so it comes in as a value here, and a test can hand over another one. Nothing else is ambient.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use modbox_cleanup::Cleanup;

/// Everything that building a module takes from its surroundings.
pub struct AuthoringContext<'a> {
    /// The directory that relative paths start at.
    pub cwd: PathBuf,
    /// The author's environment: `PATH`, `HOME`, `CARGO_HOME` and so on. Children get it with what
    /// would disturb them taken out.
    pub env: BTreeMap<OsString, OsString>,
    /// Where children and half-written files are registered, so that a signal leaves none behind.
    pub cleanup: Cleanup,
    /// Is told, in one line without a final period, what takes a while or changes the toolchain.
    pub progress: &'a mut dyn FnMut(&str),
}

impl AuthoringContext<'_> {
    /// Returns a variable of the author's environment, when it is set and not empty.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Returns the path as seen from the working directory.
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
