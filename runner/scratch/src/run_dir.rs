//! The directory of one run, shared by the run and by its guest's thread, which may outlive the run.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use modbox_cleanup::Cleanup;
use modbox_vocabulary::InputFile;

use crate::scratch::{Scratch, ScratchError, ScratchRoot, Use};

/// The name of a guest's own directory in it.
const TMP: &str = "tmp";

/// The directory of one run, until it is closed.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    purpose: Use,
    root: ScratchRoot,
    /// `None` when the run is over. Nothing is made in the directory any more.
    scratch: Mutex<Option<Scratch>>,
}

/// The run is over.
#[derive(Debug, thiserror::Error)]
#[error("the run is over")]
struct Closed;

impl RunDir {
    /// Makes the directory of a run, and removes what killed runs left.
    ///
    /// # Errors
    ///
    /// A folder that is not private, cannot be made or is full.
    pub fn create(root: &ScratchRoot, purpose: Use) -> Result<Self, ScratchError> {
        root.sweep_once();
        let scratch = root.create(purpose)?;
        let path = scratch.path().to_owned();
        Ok(Self { path, purpose, root: root.clone(), scratch: Mutex::new(Some(scratch)) })
    }

    /// Returns where to register what a signal must not leave behind.
    #[must_use]
    pub fn cleanup(&self) -> &Cleanup {
        self.root.cleanup()
    }

    /// Returns the directory's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the guest's own directory, and makes it, unless the whole directory is the guest's.
    ///
    /// # Errors
    ///
    /// A full disk, or a run that is over.
    pub fn tmp(&self) -> Result<PathBuf, ScratchError> {
        self.with(|scratch| match self.purpose {
            // A second directory costs a short run as much as its module does.
            Use::Guest => Ok(self.path.clone()),
            Use::Run | Use::Kept => scratch.make(TMP),
        })
    }

    /// Writes the arguments of a guest into a directory that is kept.
    ///
    /// # Errors
    ///
    /// See [`RunDir::tmp`].
    pub fn lay_out(&self, files: &[InputFile]) -> Result<(), ScratchError> {
        self.with(|scratch| scratch.lay_out(files))
    }

    /// Notes a file outside that must be removed, too, should this process be killed.
    ///
    /// # Errors
    ///
    /// See [`RunDir::tmp`].
    pub fn note(&self, leftover: &Path) -> Result<PathBuf, ScratchError> {
        self.with(|_| {
            let note = self.path.join(leftover.file_name().unwrap_or_default());
            let made = symlink(leftover, &note);
            made.map_err(|source| ScratchError::Io { verb: "create", path: note.clone(), source })?;
            Ok(note)
        })
    }

    fn with<T>(&self, action: impl FnOnce(&Scratch) -> Result<T, ScratchError>) -> Result<T, ScratchError> {
        match &*self.scratch.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(scratch) => action(scratch),
            None => Err(ScratchError::Io {
                verb: "write to",
                path: self.path.clone(),
                source: std::io::Error::other(Closed),
            }),
        }
    }

    /// Removes the directory, unless it is kept; from now on nothing is made in it.
    pub fn close(&self) {
        drop(self.take());
    }

    /// Ends the run like [`Self::close`]. A directory in which nothing was left may serve the next run: only for a run of
    /// which no thread and no process is left that could still write to it.
    pub fn give_back(&self) {
        if let Some(scratch) = self.take() {
            self.root.give_back(scratch);
        }
    }

    fn take(&self) -> Option<Scratch> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
