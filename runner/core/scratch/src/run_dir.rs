//! The directory of one run. The process that made it removes it; a worker of that process only works in it.

use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use modbox_cleanup::Cleanup;
use modbox_vocabulary::{InputFile, User};

use crate::error::ScratchError;
use crate::scratch::{self, DirPurpose, Scratch, ScratchRoot};

/// Name of the guest's own directory in it.
const TMP: &str = "tmp";

/// Directory of one run, until it is closed.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    purpose: DirPurpose,
    root: ScratchRoot,
    /// Whether the guest may have changed its own directory.
    is_used: AtomicBool,
    state: Mutex<State>,
}

/// State of a run's directory.
#[derive(Debug)]
enum State {
    /// This process made the directory, and removes it.
    Owned(Scratch),
    /// Another process made the directory, and removes it.
    Attached,
    /// The run is over.
    Closed,
}

/// Error of an access after the end of the run.
#[derive(Debug, thiserror::Error)]
#[error("the run is over")]
struct Closed;

impl RunDir {
    /// Makes the directory of a run, and removes those that killed runs left. It belongs to `user`, or to this user if that
    /// is `None`.
    ///
    /// # Errors
    ///
    /// Fails when the folder is not private, cannot be made or is full.
    pub fn create(root: &ScratchRoot, purpose: DirPurpose, user: Option<&User>) -> Result<Self, ScratchError> {
        root.sweep_once();
        let scratch = root.create(purpose, user)?;
        let path = scratch.path().to_owned();
        Ok(Self::new(root, path, purpose, State::Owned(scratch)))
    }

    /// Returns the directory of a run that the monitor made for this worker, and will remove.
    #[must_use]
    pub fn attached(root: &ScratchRoot, path: PathBuf, purpose: DirPurpose) -> Self {
        Self::new(root, path, purpose, State::Attached)
    }

    fn new(root: &ScratchRoot, path: PathBuf, purpose: DirPurpose, state: State) -> Self {
        Self { path, purpose, root: root.clone(), is_used: AtomicBool::new(false), state: Mutex::new(state) }
    }

    /// Returns what the directory is for.
    #[must_use]
    pub fn purpose(&self) -> DirPurpose {
        self.purpose
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
        self.while_open(|| match self.purpose {
            // Making a second directory takes as long as a short run's module.
            DirPurpose::Guest => Ok(self.path.clone()),
            DirPurpose::Run | DirPurpose::Kept => scratch::make(&self.path, TMP),
        })
    }

    /// Returns the guest's own directory, if the guest may have changed it.
    #[must_use]
    pub fn used_tmp(&self) -> Option<PathBuf> {
        let own = match self.purpose {
            DirPurpose::Guest => self.path.clone(),
            DirPurpose::Run | DirPurpose::Kept => self.path.join(TMP),
        };
        self.is_used.load(Ordering::Relaxed).then_some(own)
    }

    /// Opens the guest's own directory, for paths in it only, and makes it as [`RunDir::tmp`] does.
    ///
    /// # Errors
    ///
    /// See [`RunDir::tmp`].
    pub fn open_tmp(&self) -> Result<OwnedFd, ScratchError> {
        if self.purpose == DirPurpose::Guest
            && let State::Owned(scratch) = &mut *self.lock()
        {
            return scratch.handle();
        }
        let path = self.tmp()?;
        scratch::open_for_paths(&path)
    }

    /// Records that the guest may have changed its own directory.
    pub fn mark_used(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }

    /// Writes the arguments of a guest into a directory that is kept.
    ///
    /// # Errors
    ///
    /// See [`RunDir::tmp`].
    pub fn lay_out(&self, files: &[InputFile]) -> Result<(), ScratchError> {
        self.while_open(|| scratch::lay_out(&self.path, files))
    }

    /// Records a file elsewhere that the sweep must remove, too, if this process is killed. Returns the path of the
    /// record.
    ///
    /// # Errors
    ///
    /// See [`RunDir::tmp`].
    pub fn note(&self, leftover: &Path) -> Result<PathBuf, ScratchError> {
        self.while_open(|| {
            let note = self.path.join(leftover.file_name().unwrap_or_default());
            let made = symlink(leftover, &note);
            made.map_err(|source| ScratchError::Io { verb: "create", path: note.clone(), source })?;
            Ok(note)
        })
    }

    fn while_open<T>(&self, action: impl FnOnce() -> Result<T, ScratchError>) -> Result<T, ScratchError> {
        match &*self.lock() {
            State::Owned(_) | State::Attached => action(),
            State::Closed => Err(ScratchError::Io {
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
            self.root.give_back(scratch, self.is_used.load(Ordering::Relaxed));
        }
    }

    fn take(&self) -> Option<Scratch> {
        match std::mem::replace(&mut *self.lock(), State::Closed) {
            State::Owned(scratch) => Some(scratch),
            State::Attached | State::Closed => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_used_directory_serves_the_next_run_only_if_it_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        let root = ScratchRoot::new(dir.path(), Cleanup::default());
        let path_after = |leave: fn(&RunDir)| {
            let run_dir = RunDir::create(&root, DirPurpose::Guest, None).unwrap();
            drop(run_dir.open_tmp().unwrap());
            leave(&run_dir);
            run_dir.give_back();
            run_dir.path().to_owned()
        };
        let first = path_after(|_| ());
        assert_eq!(path_after(RunDir::mark_used), first);
        let leave_file = |run_dir: &RunDir| {
            run_dir.mark_used();
            std::fs::write(run_dir.path().join("left"), "").unwrap();
        };
        assert_eq!(path_after(leave_file), first);
        assert!(path_after(|_| ()) != first && !first.exists());
    }
}
