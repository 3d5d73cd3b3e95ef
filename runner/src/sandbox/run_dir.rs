//! The directory of one run, made when something first needs it: a guest that keeps to its grants costs the disk nothing.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::sandbox::cleanup::Cleanup;
use crate::sandbox::invocation::InputFile;
use crate::sandbox::scratch::{Scratch, ScratchError, ScratchRoot, Use};

/// The name of a guest's own directory in it.
const TMP: &str = "tmp";

/// Where a run's directory will be. Shared with the guest's thread, which may outlive the run.
#[derive(Debug)]
pub struct RunDir {
    root: ScratchRoot,
    purpose: Use,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Unmade,
    Made(Scratch),
    /// The run is over. Nothing is made any more.
    Closed,
}

/// The run is over.
#[derive(Debug, thiserror::Error)]
#[error("the run is over")]
struct Closed;

impl RunDir {
    /// Names the directory of a run.
    #[must_use]
    pub fn new(root: &ScratchRoot, purpose: Use) -> Self {
        root.sweep_once();
        Self { root: root.clone(), purpose, state: Mutex::new(State::Unmade) }
    }

    /// Returns where to register what a signal must not leave behind.
    #[must_use]
    pub fn cleanup(&self) -> &Cleanup {
        self.root.cleanup()
    }

    /// Returns the directory, and makes it before, if need be.
    ///
    /// # Errors
    ///
    /// A directory that cannot be made, or a run that is over.
    pub fn path(&self) -> Result<PathBuf, ScratchError> {
        self.with(|scratch| Ok(scratch.path().to_owned()))
    }

    /// Returns the guest's own directory, and makes it before, if need be.
    ///
    /// # Errors
    ///
    /// See [`RunDir::path`].
    pub fn tmp(&self) -> Result<PathBuf, ScratchError> {
        self.with(|scratch| match self.purpose {
            // A second directory costs a short run as much as its module does.
            Use::Guest => Ok(scratch.path().to_owned()),
            Use::Run | Use::Kept => scratch.make(TMP),
        })
    }

    /// Writes the arguments of a guest there, for whoever keeps the directory.
    ///
    /// # Errors
    ///
    /// See [`RunDir::path`].
    pub fn lay_out(&self, files: &[InputFile]) -> Result<(), ScratchError> {
        self.with(|scratch| scratch.lay_out(files))
    }

    /// Notes a file outside that must be removed, too, should this process be killed.
    ///
    /// # Errors
    ///
    /// See [`RunDir::path`].
    pub fn note(&self, leftover: &Path) -> Result<PathBuf, ScratchError> {
        self.with(|scratch| {
            let name = leftover.file_name().unwrap_or_default();
            let note = scratch.path().join(name);
            let made = symlink(leftover, &note);
            made.map_err(|source| ScratchError::Io { verb: "create", path: note.clone(), source })?;
            Ok(note)
        })
    }

    fn with<T>(&self, action: impl FnOnce(&Scratch) -> Result<T, ScratchError>) -> Result<T, ScratchError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Unmade) {
            *state = State::Made(self.root.create(self.purpose)?);
        }
        match &*state {
            State::Made(scratch) => action(scratch),
            State::Unmade | State::Closed => Err(ScratchError::Io {
                verb: "create",
                path: PathBuf::from(TMP),
                source: std::io::Error::other(Closed),
            }),
        }
    }

    /// Removes what was made; from now on nothing is.
    pub fn close(&self) {
        let state = std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), State::Closed);
        drop(state);
    }
}
