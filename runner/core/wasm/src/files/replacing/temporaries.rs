//! Temporaries: files that a guest creates beside a granted name in order to replace it.
//!
//! On the host they have unguessable names with a form that the sweep recognises. Each is noted in the run's directory
//! before it is created, so that the next run removes it if this process is killed.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use modbox_cleanup::UndoGuard;
use modbox_policy::Owners;
use modbox_scratch::{LEFTOVER_PREFIX, RunDir};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};

use crate::files::encoding::to_host;
use crate::files::replacing::keep::{Chosen, Lost, keep, open_to_keep, set_mode};
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
    /// The names that temporaries have had. Each is a new file, so the quota of files bounds them.
    made: HashSet<(NodeId, String)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Temporary {
    /// The directory in which the guest sees it.
    pub(crate) dir: NodeId,
    pub(crate) name: String,
    /// The path on the machine that the guest means.
    wanted: PathBuf,
    /// The host directory that contains it.
    pub(crate) parent: Arc<OwnedFd>,
    pub(crate) host_name: String,
    /// The default mode of a new file in this process.
    new_mode: Mode,
    /// The mode that the guest set.
    mode: Option<Mode>,
    /// Whether the guest set an owner.
    owned: bool,
    /// Removes the file and its note.
    _undo: Arc<UndoGuard>,
}

impl Temporaries {
    pub(crate) fn new(run_dir: Arc<RunDir>) -> Self {
        Self { run_dir, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn find(&self, dir: NodeId, name: &str) -> Option<Temporary> {
        self.lock().files.iter().find(|file| file.dir == dir && file.name == name).cloned()
    }

    /// Returns whether a temporary has had a name.
    pub(crate) fn was_made(&self, dir: NodeId, name: &str) -> bool {
        let state = self.lock();
        !state.made.is_empty() && state.made.contains(&(dir, name.to_owned()))
    }

    /// Returns the temporaries in a directory: the name that the guest sees, and the name on the host.
    pub(crate) fn names(&self, dir: NodeId) -> Vec<(String, String)> {
        let names = |file: &Temporary| (file.name.clone(), file.host_name.clone());
        self.lock().files.iter().filter(|file| file.dir == dir).map(names).collect()
    }

    /// Creates an empty temporary that only this user can read.
    pub(crate) fn make(
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
            wanted: path.join(&*to_host(name)),
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
        state.made.insert((dir, name.to_owned()));
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

    /// Drops a temporary from the list, and removes the file if it still exists.
    pub(crate) fn remove(&self, file: &Temporary) {
        self.lock().files.retain(|other| other.host_name != file.host_name);
    }

    /// Renames a temporary as the guest sees it. It replaces one that has the new name.
    pub(crate) fn rename(&self, file: &Temporary, dir: NodeId, name: &str) {
        let mut state = self.lock();
        state.files.retain(|other| other.host_name == file.host_name || other.dir != dir || other.name != name);
        if let Some(file) = state.files.iter_mut().find(|other| other.host_name == file.host_name) {
            (file.dir, file.name) = (dir, name.to_owned());
            file.wanted.set_file_name(&*to_host(name));
        }
    }

    /// Records the mode that a temporary gets when it is renamed to a granted name.
    pub(crate) fn set_mode(&self, file: &Temporary, mode: Mode) {
        self.change(file, |file| file.mode = Some(mode));
    }

    /// Records that the guest has set the owner.
    pub(crate) fn set_owned(&self, file: &Temporary) {
        self.change(file, |file| file.owned = true);
    }

    fn change(&self, file: &Temporary, change: impl FnOnce(&mut Temporary)) {
        self.lock().files.iter_mut().find(|other| other.host_name == file.host_name).map(change);
    }

    /// Removes all temporaries; no new ones can be created. Returns the paths on the machine that the guest meant by those
    /// that it left.
    pub(crate) fn close(&self) -> Vec<PathBuf> {
        let files = {
            let mut state = self.lock();
            state.closed = true;
            std::mem::take(&mut state.files)
        };
        files.into_iter().map(|file| file.wanted).collect()
    }
}

impl Temporary {
    /// Returns the mode that the file gets when it is renamed to a granted name.
    pub(crate) fn mode(&self) -> Mode {
        self.mode.unwrap_or(self.new_mode)
    }

    /// Renames the temporary to a granted name. It keeps what the file had that it replaces, unless the guest set
    /// something else. Returns what it could not keep.
    pub(crate) fn replace(
        &self,
        parent: &OwnedFd,
        name: &OsStr,
        replaced: Option<&Stat>,
        own: &Owners,
    ) -> rustix::io::Result<Lost> {
        // Owner and mode are changed through an open file: the kernel's confinement forbids changing them by path.
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let new = rustix::fs::openat(&*self.parent, self.host_name.as_str(), flags, Mode::empty())?;
        let lost = match replaced {
            Some(stat) => {
                let old = open_to_keep(parent.as_fd(), name);
                let chosen = Chosen { owner: self.owned, mode: self.mode };
                keep(new.as_fd(), stat, old.as_ref().map(AsFd::as_fd), chosen, own)
            }
            None => Lost { set_id: !set_mode(new.as_fd(), self.mode().bits(), own), ..Lost::default() },
        };
        rustix::fs::renameat(&*self.parent, self.host_name.as_str(), parent, name)?;
        Ok(lost)
    }
}
