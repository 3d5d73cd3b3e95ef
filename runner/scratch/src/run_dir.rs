//! The directory of one run, which the run shares with its guest's thread. The thread may outlive the run.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use modbox_cleanup::Cleanup;
use modbox_vocabulary::InputFile;

use crate::scratch::{Scratch, ScratchError, ScratchRoot, Use};

/// Name of the guest's own directory in it.
const TMP: &str = "tmp";

/// Directory of one run, until it is closed.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    purpose: Use,
    root: ScratchRoot,
    /// `None` when the run is over, so that nothing more is made in the directory.
    scratch: Mutex<Option<Scratch>>,
}

/// Error of an access after the end of the run.
#[derive(Debug, thiserror::Error)]
#[error("the run is over")]
struct Closed;

impl RunDir {
    /// Makes the directory of a run, and removes those that killed runs left.
    ///
    /// # Errors
    ///
    /// Fails when the folder is not private, cannot be made or is full.
    pub fn create(root: &ScratchRoot, purpose: Use) -> Result<Self, ScratchError> {
        root.sweep_once();
        let scratch = root.create(purpose)?;
        let path = scratch.path().to_owned();
        Ok(Self { path, purpose, root: root.clone(), scratch: Mutex::new(Some(scratch)) })
    }

    /// Returns the list for resources that a signal must not leave behind.
    #[must_use]
    pub fn cleanup(&self) -> &Cleanup {
        self.root.cleanup()
    }

    /// Returns the directory's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the guest's own directory, and makes it. If the whole directory is the guest's, returns that.
    ///
    /// # Errors
    ///
    /// Fails when the disk is full or the run is over.
    pub fn tmp(&self) -> Result<PathBuf, ScratchError> {
        self.with(|scratch| match self.purpose {
            // Making a second directory takes as long as a short run's module.
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

    /// Records a file elsewhere that the sweep must remove, too, if this process is killed. Returns the path of the
    /// record.
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

    /// Removes the directory, unless it is kept. After that nothing is made in it.
    pub fn close(&self) {
        drop(self.take());
    }

    /// Ends the run like [`Self::close`], but an empty directory may serve the next run. Call it only when no thread
    /// and no process of the run is left that could still write to the directory.
    pub fn give_back(&self) {
        if let Some(scratch) = self.take() {
            self.root.give_back(scratch);
        }
    }

    fn take(&self) -> Option<Scratch> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
