//! The private directories of runs, and the sweep of those that killed runs left.
//!
//! All of them lie in one folder of the user, with mode 0700; see `private_folder`. A run holds a lock on its directory
//! while it lives. A directory without a lock was left by a killed process, and the next run removes it. Directories that
//! a caller asked to keep have a name that the sweep ignores.
//!
//! The directory of a run as another user belongs to that user, and lies in a second folder, which that user can enter.

use std::ffi::CStr;
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};

use modbox_cleanup::{Cleanup, UndoGuard};
use modbox_vocabulary::{InputFile, User};
use rustix::fs::{AtFlags, CWD, Dir, FlockOperation, Gid, Mode, OFlags, Uid};
use serde::{Deserialize, Serialize};

use crate::directory_name::{GUEST_PREFIX, KEPT_PREFIX, PREFIX, is_guests, unique_name};
use crate::error::ScratchError;
use crate::private_folder::{self, FolderKind, PrivateFolder};
use crate::removal::remove_with_notes;

/// Folder of the directories of all runs of one user.
#[derive(Debug, Clone)]
pub struct ScratchRoot {
    /// The system's folder for temporary files.
    temp_dir: Arc<Path>,
    /// The user's folder in it, once it was opened.
    path: Arc<OnceLock<PathBuf>>,
    /// The folder for the directories of other users, once it was opened.
    entered: Arc<OnceLock<PathBuf>>,
    cleanup: Cleanup,
    swept: Arc<Once>,
    /// Unused guest's directory, for the next run. It is removed with the last clone of this value.
    spare: Arc<Mutex<Option<Scratch>>>,
}

/// Purpose of a run's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DirPurpose {
    /// Files of the run, with the guest's own directory in it.
    Run,
    /// The same, and the directory stays after the run.
    Kept,
    /// For the guest alone: the whole directory is its `/tmp`.
    Guest,
}

impl DirPurpose {
    fn prefix(self) -> &'static str {
        match self {
            Self::Run => PREFIX,
            Self::Kept => KEPT_PREFIX,
            Self::Guest => GUEST_PREFIX,
        }
    }
}

/// Directory of one run. It is removed when it is dropped, unless it is kept.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Open directory with the lock that stops the sweep.
    lock: OwnedFd,
    /// The directory, opened for paths in it only, once a run has asked for it.
    handle: Option<OwnedFd>,
    undo: Option<UndoGuard>,
    /// Whether it belongs to another user.
    is_of_other: bool,
}

impl ScratchRoot {
    /// Returns the user's folder in the system's folder for temporary files, without making it.
    #[must_use]
    pub fn new(temp_dir: &Path, cleanup: Cleanup) -> Self {
        let (temp_dir, path, entered, spare) = (temp_dir.into(), Arc::default(), Arc::default(), Arc::default());
        Self { temp_dir, path, entered, cleanup, swept: Arc::new(Once::new()), spare }
    }

    /// Returns the folders in which this user's directories of runs are made, and makes them.
    ///
    /// # Errors
    ///
    /// Fails when a folder is not private or cannot be made.
    pub fn folders(&self) -> Result<Vec<PathBuf>, ScratchError> {
        let kinds = [FolderKind::Private, FolderKind::Entered];
        kinds.into_iter().map(|kind| self.open_folder(kind).map(|folder| folder.path)).collect()
    }

    /// Makes the directory of one run. It belongs to `user`, or to this user if that is `None`.
    ///
    /// # Errors
    ///
    /// Fails when the folder is no longer private, cannot be made or is full, or when this user cannot give a directory
    /// to another.
    pub fn create(&self, purpose: DirPurpose, user: Option<&User>) -> Result<Scratch, ScratchError> {
        if purpose == DirPurpose::Guest
            && user.is_none()
            && let Some(spare) = self.spare().take()
        {
            return Ok(spare);
        }
        let PrivateFolder { path: folder, dir: root } =
            self.open_folder(user.map_or(FolderKind::Private, |_| FolderKind::Entered))?;
        let io = |verb, path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| ScratchError::Io { verb, path, source }
        };
        // The shared lock prevents a sweep from removing the directory before its own lock is held.
        rustix::fs::flock(&root, FlockOperation::LockShared).map_err(|e| io("lock", &folder)(e.into()))?;
        let path = folder.join(unique_name(purpose.prefix()));
        let undo = self.make_dir(&path, purpose).map_err(io("create", &path))?;
        let lock = open_dir(&path).map_err(|e| io("open", &path)(e.into()))?;
        let held = rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive);
        held.map_err(|e| io("lock", &path)(e.into()))?;
        if let Some(user) = user {
            // Only this user can change names in the folder, so the path is that of the new directory.
            let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
            let given = rustix::fs::chownat(CWD, &path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW);
            given.map_err(|e| io("give away", &path)(e.into()))?;
        }
        Ok(Scratch { path, lock, handle: None, undo, is_of_other: user.is_some() })
    }

    fn make_dir(&self, path: &Path, purpose: DirPurpose) -> io::Result<Option<UndoGuard>> {
        let make = || fs::DirBuilder::new().mode(0o700).create(path);
        if purpose == DirPurpose::Kept {
            make()?;
            return Ok(None);
        }
        let removed = path.to_owned();
        let ((), undo) = self.cleanup.make(|| make().map(|()| ((), move || remove_with_notes(&removed))))?;
        Ok(Some(undo))
    }

    /// Takes back a guest's directory. It is kept for the next run if it is unchanged, and removed otherwise. Most
    /// guests leave nothing, and making a directory takes longer than such a guest runs. A directory that was not used
    /// is unchanged.
    pub(crate) fn give_back(&self, scratch: Scratch, is_used: bool) {
        if is_guests(&scratch.path) && !scratch.is_of_other && (!is_used || scratch.is_pristine()) {
            self.spare().get_or_insert(scratch);
        }
    }

    fn spare(&self) -> MutexGuard<'_, Option<Scratch>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the list for resources that a signal must not leave behind.
    pub(crate) fn cleanup(&self) -> &Cleanup {
        &self.cleanup
    }

    /// Removes the directories that killed runs left, on the first call only. Errors are ignored.
    pub fn sweep_once(&self) {
        self.swept.call_once(|| {
            for kind in [FolderKind::Private, FolderKind::Entered] {
                if let Some(folder) = private_folder::find(&self.temp_dir, kind) {
                    Self::sweep(&folder);
                }
            }
        });
    }

    /// Opens one of the user's folders: the same one each time.
    fn open_folder(&self, kind: FolderKind) -> Result<PrivateFolder, ScratchError> {
        let known = match kind {
            FolderKind::Private => &self.path,
            FolderKind::Entered => &self.entered,
        };
        match known.get() {
            Some(path) => private_folder::open(path, kind),
            None => {
                let folder = private_folder::open_or_make(&self.temp_dir, kind)?;
                let _ = known.set(folder.path.clone());
                Ok(folder)
            }
        }
    }

    /// Removes directories whose lock is free. Errors are ignored: a later run sweeps again.
    fn sweep(folder: &PrivateFolder) {
        let root = &folder.dir;
        // A folder without subdirectories has two links. Filesystems that do not count subdirectories report one link.
        if rustix::fs::fstat(root).is_ok_and(|stat| stat.st_nlink == 2) {
            return;
        }
        let Ok(entries) = fs::read_dir(&folder.path) else { return };
        let candidates: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
            .map(|entry| entry.path())
            .collect();
        if candidates.is_empty() || rustix::fs::flock(root, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        let free = |path: &PathBuf| {
            let lock = open_dir(path).ok()?;
            rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
            Some((path.clone(), lock))
        };
        let stale: Vec<(PathBuf, OwnedFd)> = candidates.iter().filter_map(free).collect();
        let _ = rustix::fs::flock(root, FlockOperation::Unlock);
        for (path, _lock) in stale {
            tracing::debug!(directory = %path.display(), "removed the directory of a killed run");
            remove_with_notes(&path);
        }
    }
}

impl Scratch {
    /// Returns the path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the directory stays after the run.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.undo.is_none()
    }

    /// Returns a descriptor of the directory, for paths in it only. The directory is opened once for all its runs.
    pub(crate) fn handle(&mut self) -> Result<OwnedFd, ScratchError> {
        let handle = match &mut self.handle {
            Some(handle) => handle,
            none => none.insert(open_for_paths(&self.path)?),
        };
        let failed = |source| ScratchError::Io { verb: "open", path: self.path.clone(), source };
        handle.try_clone().map_err(failed)
    }

    /// Returns whether the directory is empty and has its original mode and owner.
    fn is_pristine(&self) -> bool {
        let is_own = rustix::fs::fstat(&self.lock)
            .is_ok_and(|stat| stat.st_mode & 0o7777 == 0o700 && stat.st_uid == rustix::process::geteuid().as_raw());
        let is_dot = |name: &CStr| name == c"." || name == c"..";
        let is_empty =
            |entries: Dir| entries.into_iter().all(|entry| entry.is_ok_and(|entry| is_dot(entry.file_name())));
        is_own && Dir::read_from(&self.lock).is_ok_and(is_empty)
    }
}

/// Makes a directory in a run's, if it does not exist.
///
/// # Errors
///
/// Fails when the disk is full.
pub(crate) fn make(directory: &Path, name: &str) -> Result<PathBuf, ScratchError> {
    let path = directory.join(name);
    match fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(path),
        Err(source) => Err(ScratchError::Io { verb: "create", path, source }),
        Ok(()) => Ok(path),
    }
}

/// Writes the arguments of a guest to a directory in a run's, so that a user can look at them in a kept directory. The
/// guest gets them from memory.
///
/// # Errors
///
/// Fails when the disk is full.
pub(crate) fn lay_out(directory: &Path, files: &[InputFile]) -> Result<(), ScratchError> {
    let args = make(directory, "args")?;
    for file in files {
        let path = args.join(&file.name);
        write_new(&path, file).map_err(|source| ScratchError::Io { verb: "write", path, source })?;
    }
    Ok(())
}

fn write_new(path: &Path, file: &InputFile) -> io::Result<()> {
    let mut open = fs::OpenOptions::new().write(true).create_new(true).mode(file.mode).open(path)?;
    open.write_all(&file.contents)
}

fn open_dir(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a directory for paths in it only.
///
/// # Errors
///
/// It is missing or not a directory.
pub(crate) fn open_for_paths(path: &Path) -> Result<OwnedFd, ScratchError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let failed =
        |errno: rustix::io::Errno| ScratchError::Io { verb: "open", path: path.to_owned(), source: errno.into() };
    rustix::fs::open(path, flags, Mode::empty()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;
    use crate::directory_name::LEFTOVER_PREFIX;
    use crate::private_folder::PREFIX as ROOT_PREFIX;

    fn root() -> (tempfile::TempDir, ScratchRoot) {
        let dir = tempfile::tempdir().unwrap();
        let root = ScratchRoot::new(dir.path(), Cleanup::default());
        (dir, root)
    }

    #[test]
    fn a_guests_directory_serves_the_next_run_if_nothing_was_left_in_it() {
        let (_dir, root) = root();
        let path_after = |leave: fn(&Path)| {
            let scratch = root.create(DirPurpose::Guest, None).unwrap();
            let path = scratch.path().to_owned();
            leave(&path);
            root.give_back(scratch, true);
            path
        };
        let first = path_after(|_| ());
        assert_eq!(path_after(|path| fs::write(path.join("left"), "").unwrap()), first);
        let second = path_after(|path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap());
        assert!(second != first && !first.exists());
        let third = path_after(|path| fs::create_dir(path.join("left")).unwrap());
        assert!(third != second && !second.exists() && !third.exists());
        let run = root.create(DirPurpose::Run, None).unwrap();
        let path = run.path().to_owned();
        root.give_back(run, false);
        assert!(!path.exists(), "only a guest's own directory is used again");
    }

    #[test]
    fn a_spare_directory_goes_with_its_root() {
        let (dir, root) = root();
        root.give_back(root.create(DirPurpose::Guest, None).unwrap(), false);
        assert_eq!(entries(&root), 1);
        let folder = root.path.get().unwrap().clone();
        drop(root);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
        drop(dir);
    }

    fn entries(root: &ScratchRoot) -> usize {
        fs::read_dir(root.path.get().unwrap()).unwrap().count()
    }

    #[test]
    fn a_run_leaves_nothing() {
        let (_dir, root) = root();
        let scratch = root.create(DirPurpose::Run, None).unwrap();
        let file = InputFile { name: "args.json".to_owned(), contents: b"{}".as_slice().into(), mode: 0o600 };
        lay_out(scratch.path(), &[file]).unwrap();
        let tmp = make(scratch.path(), "tmp").unwrap();
        fs::create_dir(tmp.join("locked")).unwrap();
        fs::write(tmp.join("locked/file"), b"12345").unwrap();
        fs::set_permissions(tmp.join("locked"), fs::Permissions::from_mode(0o000)).unwrap();
        drop(scratch);
        assert_eq!(entries(&root), 0);
    }

    #[test]
    fn the_next_run_sweeps_what_a_killed_one_left_but_not_what_is_held_or_kept() {
        let (_dir, root) = root();
        let held = root.create(DirPurpose::Run, None).unwrap();
        let kept = root.create(DirPurpose::Kept, None).unwrap().path().to_owned();
        let left = root.path.get().unwrap().join(format!("{PREFIX}1.2-3-left"));
        fs::create_dir(&left).unwrap();
        root.sweep_once();
        let next = root.create(DirPurpose::Run, None).unwrap();
        assert!(!left.exists() && held.path().exists() && kept.exists() && next.path().exists());
    }

    #[test]
    fn the_sweep_removes_what_a_killed_run_noted_and_nothing_else() {
        let (dir, root) = root();
        drop(root.create(DirPurpose::Run, None).unwrap());
        let left = root.path.get().unwrap().join(format!("{PREFIX}1.2-3-left"));
        let guests = root.path.get().unwrap().join(format!("{GUEST_PREFIX}1.2-3-left"));
        let leftover = |n: u32| dir.path().join(format!("{LEFTOVER_PREFIX}{n}"));
        let (mine, other, told) = (leftover(1), dir.path().join("other"), leftover(2));
        for (file, note) in [(&mine, left.join("mine")), (&other, left.join("other")), (&told, guests.join("told"))] {
            fs::create_dir_all(note.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
            std::os::unix::fs::symlink(file, note).unwrap();
        }
        root.sweep_once();
        assert!(!left.exists() && !guests.exists() && !mine.exists() && other.exists());
        assert!(told.exists(), "a guest's file is not a note");
    }

    fn user() -> User {
        let (name, shell) = ("app".to_owned(), "/bin/sh".into());
        User { name, uid: 12_345, gid: 12_346, groups: vec![12_346], home: "/".into(), shell }
    }

    #[test]
    fn the_directory_of_another_user_belongs_to_that_user_and_serves_no_other() {
        let (_dir, root) = root();
        let created = root.create(DirPurpose::Guest, Some(&user()));
        if !rustix::process::geteuid().is_root() {
            assert!(created.is_err(), "only root gives directories away");
            return;
        }
        let scratch = created.unwrap();
        let (path, folder) = (scratch.path().to_owned(), root.entered.get().unwrap().clone());
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o7777;
        assert_eq!((path.metadata().unwrap().uid(), path.metadata().unwrap().gid()), (12_345, 12_346));
        assert_eq!((mode(&path), mode(&folder), folder.metadata().unwrap().uid()), (0o700, 0o711, 0));
        root.give_back(scratch, false);
        assert!(!path.exists(), "it serves no other run");
        assert!(root.create(DirPurpose::Guest, None).unwrap().path().parent() != Some(&*folder));
    }

    #[test]
    fn a_record_of_another_user_counts_for_that_users_files_alone() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (dir, root) = root();
        drop(root.create(DirPurpose::Run, Some(&user())).unwrap());
        let left = root.entered.get().unwrap().join(format!("{PREFIX}1.2-3-left"));
        fs::create_dir(&left).unwrap();
        let [own, other] = [1, 2].map(|n| dir.path().join(format!("{LEFTOVER_PREFIX}{n}")));
        for (file, name) in [(&own, "own"), (&other, "other")] {
            fs::write(file, "").unwrap();
            std::os::unix::fs::symlink(file, left.join(name)).unwrap();
            std::os::unix::fs::lchown(left.join(name), Some(12_345), None).unwrap();
        }
        std::os::unix::fs::chown(&own, Some(12_345), None).unwrap();
        // A link that would lead the sweep elsewhere.
        std::os::unix::fs::symlink(".", left.join(format!("{PREFIX}loop"))).unwrap();
        root.sweep_once();
        assert!(!left.exists() && !own.exists() && other.exists());
    }

    #[test]
    fn a_signal_removes_it() {
        let (_dir, root) = root();
        let scratch = root.create(DirPurpose::Run, None).unwrap();
        root.cleanup.undo_all();
        assert!(!scratch.path().exists());
    }

    #[test]
    fn the_next_process_sweeps_the_second_folder_too() {
        let (dir, root) = root();
        fs::write(dir.path().join(format!("{ROOT_PREFIX}{}", rustix::process::geteuid().as_raw())), "taken").unwrap();
        drop(root.create(DirPurpose::Run, None).unwrap());
        let left = root.path.get().unwrap().join(format!("{PREFIX}1.2-3-left"));
        fs::create_dir(&left).unwrap();
        ScratchRoot::new(dir.path(), Cleanup::default()).sweep_once();
        assert!(!left.exists());
    }

    #[test]
    fn refuses_a_folder_that_is_opened_to_others() {
        let (_dir, root) = root();
        drop(root.create(DirPurpose::Run, None).unwrap());
        fs::set_permissions(root.path.get().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(root.create(DirPurpose::Run, None), Err(ScratchError::NotPrivate(_))));
    }
}
