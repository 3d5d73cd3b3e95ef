//! The file `modbox.lock`: reading it, and changing it while other processes do.
//!
//! A change takes a lock on the folder, so that nothing is left beside the file, reads the file again, and puts a new
//! one in its place. So a reader needs no lock: it finds the old content or the new one.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use modbox_files::LastLink;
use rustix::fs::OFlags;

use super::format::{LockFile, LockFileError};
use crate::regular_file::{self, NotRead};

/// Maximum size of the file, in bytes: some ten thousand modules.
const MAX_FILE: u64 = 4 << 20;

/// Time to wait for other processes that change the file.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time between two attempts to get the lock.
const PAUSE: Duration = Duration::from_millis(5);

/// Most links that lead to the file, as in the kernel.
const MAX_LINKS: usize = 40;

/// Permissions of a new file, before the umask.
const NEW_MODE: u32 = 0o666;

/// Why a lock file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LockFileAccessError {
    /// The file or its folder cannot be used.
    #[error("failed to {verb} `{}`", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The path leads to something else.
    #[error("failed to read `{}`: it is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The file is or would be too large.
    #[error("failed to use `{}`: it has more than {MAX_FILE} bytes; remove modules that are not used", .0.display())]
    TooLarge(PathBuf),
    /// The file is not text.
    #[error("failed to read `{}`: it is not UTF-8 text; restore it", .0.display())]
    NotText(PathBuf),
    /// The text is not that of a lock file.
    #[error("failed to read `{}`", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: LockFileError,
    },
    /// Another process holds the lock.
    #[error(
        "failed to lock the folder `{}`: another process had it locked for {} s; wait for its end, and try again",
        folder.display(), patience.as_secs_f32()
    )]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// The time that was waited.
        patience: Duration,
    },
}

impl LockFile {
    /// Reads a file. A missing one has no modules.
    ///
    /// # Errors
    ///
    /// The file is not regular, too large or cannot be read, or its text is not that of a lock file.
    pub fn read(path: &Path) -> Result<Self, LockFileAccessError> {
        Ok(read(path)?.0)
    }

    /// Changes a file, or makes it. Returns what `change` returns. Does not write if nothing is different.
    ///
    /// Other processes wait meanwhile, so `change` should not take long. A symlink stays one: the file that it leads to
    /// is replaced, with its permissions.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, or another process holds the lock for long.
    pub fn update<R>(path: &Path, change: impl FnOnce(&mut Self) -> R) -> Result<R, LockFileAccessError> {
        Self::update_within(PATIENCE, path, change)
    }

    fn update_within<R>(
        patience: Duration,
        path: &Path,
        change: impl FnOnce(&mut Self) -> R,
    ) -> Result<R, LockFileAccessError> {
        let path = resolve(path).map_err(failed("read", path))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        let locked = lock(folder, patience)?;
        let (old, permissions) = read(&path)?;
        let mut new = old.clone();
        let result = change(&mut new);
        if new != old {
            let text = new.to_string();
            if text.len() as u64 > MAX_FILE {
                return Err(LockFileAccessError::TooLarge(path));
            }
            replace(&path, folder, permissions, text.as_bytes()).map_err(failed("write", &path))?;
            // The new name, too, is there after a loss of power.
            locked.sync_all().map_err(failed("write", folder))?;
        }
        Ok(result)
    }
}

/// Reads a file. Returns its permissions as well, if it is there.
fn read(path: &Path) -> Result<(LockFile, Option<Permissions>), LockFileAccessError> {
    let (bytes, metadata) = match regular_file::read(path, MAX_FILE, LastLink::Followed) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok((LockFile::default(), None)),
        Err(NotRead::Io(source)) => return Err(failed("read", path)(source)),
        Err(NotRead::NotRegular) => return Err(LockFileAccessError::NotRegular(path.to_owned())),
        Err(NotRead::TooLarge) => return Err(LockFileAccessError::TooLarge(path.to_owned())),
    };
    let text = String::from_utf8(bytes).map_err(|_| LockFileAccessError::NotText(path.to_owned()))?;
    let invalid = |source| LockFileAccessError::Content { path: path.to_owned(), source };
    Ok((LockFile::parse(&text).map_err(invalid)?, Some(metadata.permissions())))
}

/// Puts a new file in the place of one.
fn replace(path: &Path, folder: &Path, permissions: Option<Permissions>, content: &[u8]) -> io::Result<()> {
    let new_permissions = Permissions::from_mode(NEW_MODE);
    let mut file = tempfile::Builder::new().prefix(".modbox-lock-").permissions(new_permissions).tempfile_in(folder)?;
    file.write_all(content)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Locks a folder until the returned file is closed.
fn lock(folder: &Path, patience: Duration) -> Result<File, LockFileAccessError> {
    let started = Instant::now();
    let flags = OFlags::DIRECTORY.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(folder).map_err(failed("open", folder))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(failed("lock", folder)(error)),
            Err(TryLockError::WouldBlock) if started.elapsed() < patience => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(LockFileAccessError::Busy { folder: folder.to_owned(), patience });
            }
        }
    }
}

/// Returns the path that symlinks at a path lead to. Nothing needs to be there.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..=MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or_else(|| Path::new("")).join(target),
            // It is another kind of file, or missing.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

fn failed(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LockFileAccessError {
    let path = path.to_owned();
    move |source| LockFileAccessError::Io { verb, path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use crate::digest::Digest;
    use crate::lock_file::LockedModule;
    use crate::reference::Reference;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("modbox.lock");
        (dir, path)
    }

    fn tag(number: usize) -> Reference {
        format!("oci://h/a:{number}").parse().unwrap()
    }

    fn add(lock: &mut LockFile, number: usize) {
        let digest = Digest::of(number.to_string().as_bytes());
        let module = LockedModule {
            manifest: digest.clone(),
            module: digest,
            version: None,
            signers: Vec::new(),
            keys: Vec::new(),
            requests: Vec::new(),
        };
        lock.insert(&tag(number), module).unwrap();
    }

    fn count(path: &Path) -> usize {
        LockFile::read(path).unwrap().iter().count()
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_made_changed_and_read() {
        let (dir, path) = folder();
        assert_eq!(count(&path), 0);
        assert_eq!(LockFile::update(&path, |lock| lock.iter().count()).unwrap(), 0);
        assert_eq!(names(dir.path()), Vec::<String>::new(), "nothing is written if nothing changes");
        let old = LockFile::update(&path, |lock| {
            add(lock, 1);
            lock.iter().count()
        });
        assert_eq!((old.unwrap(), count(&path)), (1, 1));
        LockFile::update(&path, |lock| add(lock, 2)).unwrap();
        assert!(LockFile::read(&path).unwrap().get(&tag(2)).is_some());
        assert_eq!(names(dir.path()), ["modbox.lock"]);
    }

    #[test]
    fn nothing_is_written_if_nothing_changes() {
        let (_dir, path) = folder();
        LockFile::update(&path, |lock| add(lock, 1)).unwrap();
        // A form that modbox does not write stays, too.
        fs::write(&path, format!("# mine\n\n{}", LockFile::read(&path).unwrap())).unwrap();
        let before = path.metadata().unwrap();
        LockFile::update(&path, |lock| add(lock, 1)).unwrap();
        let after = path.metadata().unwrap();
        assert_eq!((before.ino(), before.mtime_nsec(), before.len()), (after.ino(), after.mtime_nsec(), after.len()));
    }

    #[test]
    fn permissions_stay() {
        let (_dir, path) = folder();
        LockFile::update(&path, |lock| add(lock, 1)).unwrap();
        let mode = || path.metadata().unwrap().mode() & 0o7777;
        assert_eq!(mode() & 0o600, 0o600);
        assert_eq!(mode() & 0o111, 0);
        for (number, kept) in [(2, 0o640), (3, 0o600), (4, 0o444), (5, 0o666)] {
            fs::set_permissions(&path, Permissions::from_mode(kept)).unwrap();
            LockFile::update(&path, |lock| add(lock, number)).unwrap();
            assert_eq!((mode(), count(&path)), (kept, number));
        }
    }

    #[test]
    fn a_symlink_stays_one() {
        let (dir, path) = folder();
        let shared = dir.path().join("shared");
        fs::create_dir(&shared).unwrap();
        symlink("shared/other", &path).unwrap();
        symlink("real.lock", shared.join("other")).unwrap();
        LockFile::update(&path, |lock| add(lock, 1)).unwrap();
        LockFile::update(&path, |lock| add(lock, 2)).unwrap();
        assert_eq!((count(&path), count(&shared.join("real.lock"))), (2, 2));
        assert!(path.is_symlink() && shared.join("other").is_symlink());
        assert_eq!((names(dir.path()).len(), names(&shared)), (2, vec!["other".to_owned(), "real.lock".to_owned()]));
        let circle = dir.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(LockFile::read(&circle).is_err());
        assert!(matches!(LockFile::update(&circle, |_| ()), Err(LockFileAccessError::Io { verb: "read", .. })));
    }

    #[test]
    fn other_files_are_refused() {
        let (dir, path) = folder();
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for other in [path.as_path(), dir.path(), Path::new("/dev/zero")] {
            assert!(matches!(LockFile::read(other), Err(LockFileAccessError::NotRegular(_))), "{}", other.display());
        }
        assert!(matches!(LockFile::update(&path, |_| ()), Err(LockFileAccessError::NotRegular(_))));
        let file = |content: &[u8]| {
            fs::write(dir.path().join("x"), content).unwrap();
            LockFile::update(&dir.path().join("x"), |lock| add(lock, 1)).unwrap_err()
        };
        assert!(matches!(file(&vec![b'#'; (4 << 20) + 1]), LockFileAccessError::TooLarge(_)));
        assert!(matches!(file(b"version = 1\n# \xff"), LockFileAccessError::NotText(_)));
        let error = file(b"version = 1\nx");
        assert!(matches!(&error, LockFileAccessError::Content { source: LockFileError::Toml { line: 2, .. }, .. }));
        assert_eq!(names(dir.path()), ["modbox.lock", "x"]);
        let inside = path.join("modbox.lock");
        assert!(LockFile::update(&inside, |_| ()).is_err());
        assert!(LockFile::update(&dir.path().join("missing/modbox.lock"), |_| ()).is_err());
    }

    #[test]
    fn what_could_not_be_read_again_is_not_written() {
        let (dir, path) = folder();
        let long = |lock: &mut LockFile| {
            add(lock, 1);
            let mut module = lock.get(&tag(1)).unwrap().clone();
            module.version = Some("1".repeat(5 << 20));
            lock.insert(&tag(1), module).unwrap();
        };
        assert!(matches!(LockFile::update(&path, long), Err(LockFileAccessError::TooLarge(_))));
        assert_eq!(names(dir.path()), Vec::<String>::new());
    }

    #[test]
    fn a_lock_that_is_held_is_not_waited_for_without_end() {
        let (dir, path) = folder();
        let held = lock(dir.path(), Duration::ZERO).unwrap();
        let error = LockFile::update_within(Duration::from_millis(50), &path, |lock| add(lock, 1)).unwrap_err();
        assert!(error.to_string().contains("another process had it locked for 0.05 s"), "{error}");
        drop(held);
        LockFile::update(&path, |lock| add(lock, 1)).unwrap();
    }

    #[test]
    fn changes_at_once_lose_nothing() {
        let (dir, path) = folder();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for number in 0..10 {
                        LockFile::update(path, |lock| add(lock, thread * 10 + number)).unwrap();
                        assert!(count(path) > number);
                    }
                });
            }
        });
        assert_eq!(count(&path), 80);
        assert_eq!(names(dir.path()), ["modbox.lock"]);
    }
}
