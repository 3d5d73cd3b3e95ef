//! An audit file: opened before the run, appended to at the end of the run.
//!
//! A line is one `write(2)` under a lock, so that concurrent runs do not mix their lines, and has reached the disk when
//! the call returns. That costs one disk flush per run. If the disk takes only part of a line, the part is removed.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FallocateFlags, FlockOperation, OFlags, fallocate, fdatasync, flock};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Free space required before a run starts. Only lines with very long arguments or many denials are longer.
const ROOM: u64 = 64 << 10;

/// Longest wait for the lock of another process, and for a pipe's reader. Every process that may open the file can hold
/// its lock for ever.
const PATIENCE: Duration = Duration::from_secs(5);

/// Interval between attempts to take the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(1);

/// An error that keeps a run from being audited.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The file cannot be opened.
    #[error("the audit file `{}` cannot be opened, and a run that cannot be audited does not start: {hint}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The remedy.
        hint: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is of a type that cannot be appended to.
    #[error(
        "the audit file `{}` is neither a regular file nor a pipe nor a character device; name another one",
        .0.display()
    )]
    Kind(PathBuf),
    /// The module could change the file.
    #[error(
        "the audit file `{}` lies in `{}`, which the module may write; put it elsewhere, or grant less",
        path.display(),
        grant.display()
    )]
    Granted {
        /// The file.
        path: PathBuf,
        /// The writable grant that contains the file.
        grant: PathBuf,
    },
    /// The file has no room for another line.
    #[error("the audit file `{}` has no room for another line, and a run that cannot be audited does not start", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The line could not be written.
    #[error("the run is missing in the audit file `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl AuditError {
    /// Returns whether the caller named a wrong file. Otherwise the state of the file or of this machine is at fault.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Open { .. } | Self::Kind(_) | Self::Granted { .. })
    }
}

/// An open audit file.
#[derive(Debug)]
pub(super) struct AuditFile {
    path: PathBuf,
    real_path: PathBuf,
    identity: (u64, u64),
    regular: bool,
    /// Threads of one process share the file's `flock`, so they need this mutex as well.
    file: Mutex<File>,
}

impl AuditFile {
    /// Opens a file for appending, creates it with mode 0600 when it is missing, and checks its type.
    pub(super) fn open(path: &Path) -> Result<Self, AuditError> {
        // Following a link in place of the file could write a line of a privileged run into any file. Without
        // O_NONBLOCK, opening a FIFO would wait for a reader.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path);
        let file = opened.map_err(|source| {
            let hint = hint(source.raw_os_error());
            AuditError::Open { path: path.to_owned(), hint, source }
        })?;
        let cannot = |source| AuditError::Open { path: path.to_owned(), hint: "name another one", source };
        let metadata = file.metadata().map_err(cannot)?;
        let kind = metadata.file_type();
        if !(kind.is_file() || kind.is_fifo() || kind.is_char_device()) {
            return Err(AuditError::Kind(path.to_owned()));
        }
        Ok(Self {
            path: path.to_owned(),
            real_path: path.canonicalize().map_err(cannot)?,
            identity: (metadata.dev(), metadata.ino()),
            regular: kind.is_file(),
            file: Mutex::new(file),
        })
    }

    /// Returns the path as the policy names it.
    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Returns the path without symbolic links.
    pub(super) fn real_path(&self) -> &Path {
        &self.real_path
    }

    /// Returns whether both are the same file, by device and inode.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.identity == other.identity
    }

    /// Checks that there is room for a line. Another process may still take that room.
    pub(super) fn reserve(&self) -> Result<(), AuditError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |source| AuditError::Full { path: self.path.clone(), source };
        if !self.regular {
            // An empty write tells whether a device accepts data.
            return match file.write(b"") {
                Err(error) if error.kind() != ErrorKind::WouldBlock => Err(full(error)),
                _ => Ok(()),
            };
        }
        let size = file.metadata().map_err(full)?.len();
        let largest = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        if size.saturating_add(ROOM) > largest {
            return Err(full(Errno::FBIG.into()));
        }
        match fallocate(&*file, FallocateFlags::KEEP_SIZE, size, ROOM) {
            // Not every file system supports this.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::PERM) => Ok(()),
            Err(error) => Err(full(error.into())),
        }
    }

    /// Appends a line, including its line end, and flushes it to the disk.
    pub(super) fn append(&self, line: &[u8]) -> Result<(), AuditError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let locked = lock(&file);
        let written = match self.regular {
            true => append_whole(&mut file, line, locked).and_then(|()| Ok(fdatasync(&*file)?)),
            false => write_patiently(&mut file, line),
        };
        if locked {
            let _ = flock(&*file, FlockOperation::Unlock);
        }
        written.map_err(|source| AuditError::Write { path: self.path.clone(), source })
    }
}

fn hint(errno: Option<i32>) -> &'static str {
    match errno.map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR) => "make its directory first",
        Some(Errno::ISDIR) => "name a file, not a directory",
        Some(Errno::LOOP) => "name the file that the link leads to",
        Some(Errno::NXIO) => "start whatever is to read the pipe first",
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => "make it writable for this user, or name another one",
        _ => "name another one",
    }
}

/// Takes the lock; returns false if that fails or takes too long. Without the lock, a local file system still appends
/// each line whole.
fn lock(file: &File) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return true,
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => thread::sleep(LOCK_INTERVAL),
            Err(_) => return false,
        }
    }
}

/// Writes the line with one call. Removes a line that did not fit, if the lock ensures that no other process has
/// written behind it.
fn append_whole(file: &mut File, line: &[u8], locked: bool) -> io::Result<()> {
    let before = file.metadata()?.len();
    let failed = match write_once(file, line) {
        Ok(count) if count == line.len() => return Ok(()),
        Ok(_) => io::Error::from(ErrorKind::StorageFull),
        Err(error) => error,
    };
    if locked {
        // A file with the append-only attribute keeps the torn line. It is not valid JSON, so readers notice.
        let _ = file.set_len(before);
    }
    Err(failed)
}

fn write_once(file: &mut File, line: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(line) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Writes to a pipe or device, which may take the line in pieces; waits for it no longer than [`PATIENCE`].
fn write_patiently(file: &mut File, mut line: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !line.is_empty() {
        match file.write(line) {
            Ok(count) => line = &line[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(io::Error::new(ErrorKind::TimedOut, "whatever reads it does not"));
                }
                let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
                // The next write reports any error, so this result is not needed.
                let _ = poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(&timeout));
            }
            // Reported as another error, because callers take `BrokenPipe` for the normal end of a program whose output
            // is closed, and not for a failure.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                return Err(io::Error::other("its reader has closed it"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests read files of their own making")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_new_file_is_for_its_owner_only_and_an_old_one_is_appended_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit");
        for line in [&b"one\n"[..], b"two\n"] {
            let file = AuditFile::open(&path).unwrap();
            file.reserve().unwrap();
            file.append(line).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_cannot_be_appended_to_is_refused_with_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        symlink(dir.path().join("target"), &link).unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for (path, expect) in [
            (dir.path().to_owned(), "not a directory"),
            (dir.path().join("no/audit"), "make its directory first"),
            (link, "the link leads to"),
            (fifo, "start whatever is to read the pipe first"),
        ] {
            let error = AuditFile::open(&path).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(expect), "{error}");
        }
        assert!(!dir.path().join("target").exists(), "the link was not followed");
    }

    #[test]
    fn a_full_device_is_noticed_before_the_run_and_at_its_end() {
        let full = AuditFile::open(Path::new("/dev/full")).unwrap();
        assert!(matches!(full.reserve(), Err(AuditError::Full { .. })));
        assert!(matches!(full.append(b"x\n"), Err(AuditError::Write { .. })));
    }

    #[test]
    fn threads_that_share_a_file_and_files_of_their_own_do_not_mix_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit");
        let shared = AuditFile::open(&path).unwrap();
        let line = [&[b'x'; 20_000][..], b"\n"].concat();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10).for_each(|_| shared.append(&line).unwrap()));
                scope.spawn(|| {
                    let own = AuditFile::open(&path).unwrap();
                    (0..10).for_each(|_| own.append(&line).unwrap());
                });
            }
        });
        let text = fs::read(&path).unwrap();
        assert!(text.split_inclusive(|byte| *byte == b'\n').all(|seen| seen == line));
        assert_eq!(text.len(), 80 * line.len());
    }
}
