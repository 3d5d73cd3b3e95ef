//! Files that a guest makes beside a granted name, on the way to replacing it.
//!
//! On the host they have names that nobody can guess and that the sweep knows. Each is noted in the run's directory before
//! it is made, so that the next run removes it when this process is killed.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use modbox_cleanup::UndoGuard;
use modbox_scratch::{LEFTOVER_PREFIX, RunDir};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid};

use crate::files::tree::NodeId;

/// The temporaries of one run.
#[derive(Debug)]
pub(crate) struct Temporaries {
    run_dir: Arc<RunDir>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    files: Vec<Temporary>,
}

/// One of them.
#[derive(Debug, Clone)]
pub(super) struct Temporary {
    /// Where the guest sees it.
    pub(super) dir: NodeId,
    pub(super) name: String,
    /// Where it is.
    pub(super) parent: Arc<OwnedFd>,
    pub(super) host_name: String,
    /// The mode of a new file, as this process makes them.
    new_mode: Mode,
    /// The mode that the guest gave it.
    mode: Option<Mode>,
    /// Whether the guest gave it an owner.
    owned: bool,
    /// Removes it, and the note of it.
    _undo: Arc<UndoGuard>,
}

impl Temporaries {
    pub(super) fn new(run_dir: Arc<RunDir>) -> Self {
        Self { run_dir, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, dir: NodeId, name: &str) -> Option<Temporary> {
        self.lock().files.iter().find(|file| file.dir == dir && file.name == name).cloned()
    }

    /// Returns the names of those in a directory, for the guest and on the host.
    pub(super) fn names(&self, dir: NodeId) -> Vec<(String, String)> {
        let names = |file: &Temporary| (file.name.clone(), file.host_name.clone());
        self.lock().files.iter().filter(|file| file.dir == dir).map(names).collect()
    }

    /// Makes one, empty and for nobody else to read.
    pub(super) fn make(
        &self,
        (dir, name): (NodeId, &str),
        (parent, path): (&Arc<OwnedFd>, &Path),
        flags: OFlags,
    ) -> std::io::Result<(OwnedFd, Temporary)> {
        let mut random = [0; 16];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let host_name = format!("{LEFTOVER_PREFIX}{:032x}", u128::from_le_bytes(random));
        let note = self.run_dir.note(&path.join(&host_name)).map_err(std::io::Error::other)?;
        let undo = self.undo(parent, &host_name, note);
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(parent, host_name.as_str(), flags, Mode::from_raw_mode(0o666))?;
        let new_mode = Mode::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode & 0o777);
        rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
        let parent = Arc::clone(parent);
        let file = Temporary {
            dir,
            name: name.to_owned(),
            parent,
            host_name,
            new_mode,
            mode: None,
            owned: false,
            _undo: Arc::new(undo),
        };
        let mut state = self.lock();
        if state.closed {
            return Err(std::io::Error::other("the run is over"));
        }
        state.files.push(file.clone());
        Ok((fd, file))
    }

    fn undo(&self, parent: &Arc<OwnedFd>, host_name: &str, note: PathBuf) -> UndoGuard {
        let (parent, host_name) = (Arc::clone(parent), host_name.to_owned());
        self.run_dir.cleanup().register(move || {
            let _ = rustix::fs::unlinkat(&*parent, host_name.as_str(), AtFlags::empty());
            let _ = std::fs::remove_file(note);
        })
    }

    /// Forgets one, and removes it if it is still there.
    pub(super) fn remove(&self, file: &Temporary) {
        self.lock().files.retain(|other| other.host_name != file.host_name);
    }

    /// Gives one another name for the guest, in the place of what had it.
    pub(super) fn rename(&self, file: &Temporary, dir: NodeId, name: &str) {
        let mut state = self.lock();
        state.files.retain(|other| other.host_name == file.host_name || other.dir != dir || other.name != name);
        if let Some(file) = state.files.iter_mut().find(|other| other.host_name == file.host_name) {
            (file.dir, file.name) = (dir, name.to_owned());
        }
    }

    /// Notes the mode that one is to have when it has its name.
    pub(super) fn set_mode(&self, file: &Temporary, mode: Mode) {
        self.change(file, |file| file.mode = Some(mode));
    }

    /// Notes that one has the owner that it is to have.
    pub(super) fn set_owned(&self, file: &Temporary) {
        self.change(file, |file| file.owned = true);
    }

    fn change(&self, file: &Temporary, change: impl FnOnce(&mut Temporary)) {
        self.lock().files.iter_mut().find(|other| other.host_name == file.host_name).map(change);
    }

    /// Removes them all; from now on none is made.
    pub(crate) fn close(&self) {
        let files = {
            let mut state = self.lock();
            state.closed = true;
            std::mem::take(&mut state.files)
        };
        drop(files);
    }
}

impl Temporary {
    /// The mode that it will have.
    pub(super) fn mode(&self) -> Mode {
        self.mode.unwrap_or(self.new_mode)
    }

    /// Moves it to a granted name, with the owner and mode of what was there, unless the guest gave it others.
    pub(super) fn replace(&self, parent: &OwnedFd, name: &OsStr, replaced: Option<&Stat>) -> rustix::io::Result<()> {
        // Opened for writing and changed as an open file: by their paths the kernel lets no owner or mode be changed.
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&*self.parent, self.host_name.as_str(), flags, Mode::empty())?;
        let mut mode = self.mode();
        if let Some(stat) = replaced {
            // Only root can give a file away; who cannot replaces it by one of their own, as any editor does.
            let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
            if !self.owned {
                let _ = rustix::fs::fchown(&fd, Some(owner), Some(group));
            }
            // No set-id bits: the bytes are the guest's.
            mode = self.mode.unwrap_or_else(|| Mode::from_raw_mode(stat.st_mode & 0o777));
        }
        let _ = rustix::fs::fchmod(&fd, mode);
        rustix::fs::renameat(&*self.parent, self.host_name.as_str(), parent, name)
    }
}
