//! Copies of granted files and directories, and the paths behind them.
//!
//! Every name is opened in its directory without following links, so that a tree that changes meanwhile leads nowhere
//! else. Contents, modes, times, links and, for root, owners are copied; extended attributes and access lists are not.
//! Sockets, pipes and devices, and what this user cannot read, are left out, with a note.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use modbox_native::base;
use modbox_policy::{PathGrant, Shape};
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid};
use rustix::io::Errno;

use crate::execution::replaced_paths::ReplacedPaths;
use crate::reports::error::trial_error::TrialError;

/// Maximum bytes of all copies of a trial.
const MAX_BYTES: u64 = 256 << 20;

/// Maximum number of files, links and directories of a trial.
const MAX_ENTRIES: u64 = 20_000;

/// Maximum depth of a copied directory.
const MAX_DEPTH: u32 = 64;

/// Maximum number of notes about what was left out.
const MAX_NOTES: usize = 8;

/// Permissions and set-id bits of a mode.
const MODE: u32 = 0o7777;

/// Makes the copies of one trial.
#[derive(Debug)]
pub(super) struct Copier<'d> {
    dir: &'d Path,
    bytes: u64,
    entries: u64,
    left_out: usize,
    made: ReplacedPaths,
}

/// Refuses a grant of a socket, a pipe or a device, except those that every module has.
pub(crate) fn check_special(grant: &PathGrant) -> Result<(), TrialError> {
    let is_plain = |found: std::fs::Metadata| found.is_file() || found.is_dir() || found.is_symlink();
    let is_special = grant.host.symlink_metadata().is_ok_and(|found| !is_plain(found));
    match is_special && !base::is_device(&grant.host) {
        true => Err(TrialError::Special { path: grant.host.clone() }),
        false => Ok(()),
    }
}

impl<'d> Copier<'d> {
    pub(super) fn new(dir: &'d Path) -> Self {
        Self { dir, bytes: 0, entries: 0, left_out: 0, made: ReplacedPaths::new(dir) }
    }

    pub(super) fn finish(self) -> ReplacedPaths {
        self.made
    }

    /// Copies what a grant shows, and returns the path of the copy. A missing file stays missing.
    pub(super) fn copy(&mut self, grant: &PathGrant) -> Result<PathBuf, TrialError> {
        let around = self.dir.join(format!("copy-{}", self.made.len()));
        let failed = |source: io::Error| TrialError::Copy { path: grant.host.clone(), source };
        let name = grant.host.file_name().unwrap_or_else(|| "root".as_ref()).to_owned();
        let copy = around.join(&name);
        rustix::fs::mkdir(&around, Mode::RWXU).map_err(|errno| failed(errno.into()))?;
        let to = open_directory(CWD, &around).map_err(|errno| failed(errno.into()))?;
        let copied = match grant.shape {
            Shape::Directory => open_directory(CWD, &grant.host)
                .map_err(Stop::from)
                .and_then(|from| self.directory(&from, &to, name.as_bytes(), 0)),
            Shape::Name => {
                let parent = grant.host.parent().unwrap_or_else(|| Path::new("/"));
                open_directory(CWD, parent)
                    .map_err(Stop::from)
                    .and_then(|from| self.entry(&from, &to, name.as_bytes(), 0))
            }
        };
        copied.map_err(|stop| match stop {
            Stop::Failed(errno) => failed(errno.into()),
            Stop::TooLarge(most) => TrialError::TooLarge { path: grant.host.clone(), most },
        })?;
        self.made.add(&copy, &grant.host);
        Ok(copy)
    }

    fn entry(&mut self, from: &OwnedFd, to: &OwnedFd, name: &[u8], depth: u32) -> Result<(), Stop> {
        let stat = match rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(Stop::TooLarge(format!("{MAX_ENTRIES} files")));
        }
        let copied = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self.file(from, to, name),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(from, name, Vec::new())?;
                Ok(rustix::fs::symlinkat(target, to, name)?)
            }
            FileType::Directory => match open_below(from, name, OFlags::DIRECTORY) {
                Ok(inner) => self.directory(&inner, to, name, depth + 1),
                Err(errno) => Err(errno.into()),
            },
            _ => {
                self.leave_out(name, "it is a socket, a pipe or a device");
                Ok(())
            }
        };
        match copied {
            Err(Stop::Failed(Errno::ACCESS | Errno::PERM)) => {
                self.leave_out(name, "this user cannot read it");
                Ok(())
            }
            // Another process has removed or replaced it.
            Err(Stop::Failed(Errno::NOENT | Errno::LOOP | Errno::NOTDIR)) => Ok(()),
            other => other,
        }
    }

    fn directory(&mut self, from: &OwnedFd, to: &OwnedFd, name: &[u8], depth: u32) -> Result<(), Stop> {
        if depth > MAX_DEPTH {
            return Err(Stop::TooLarge(format!("{MAX_DEPTH} directories in each other")));
        }
        let stat = rustix::fs::fstat(from)?;
        rustix::fs::mkdirat(to, name, Mode::RWXU)?;
        let made = open_below(to, name, OFlags::DIRECTORY)?;
        for entry in rustix::fs::Dir::read_from(from)? {
            let entry = entry?;
            if ![c".", c".."].contains(&entry.file_name()) {
                self.entry(from, &made, CStr::to_bytes(entry.file_name()), depth)?;
            }
        }
        Ok(describe(&made, &stat)?)
    }

    fn file(&mut self, from: &OwnedFd, to: &OwnedFd, name: &[u8]) -> Result<(), Stop> {
        // Without NONBLOCK, opening a pipe that has taken the file's place would wait.
        let opened = open_below(from, name, OFlags::NONBLOCK)?;
        let stat = rustix::fs::fstat(&opened)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Errno::NOENT.into());
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut copy = File::from(rustix::fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
        let left = MAX_BYTES - self.bytes;
        let copied = io::copy(&mut File::from(opened).take(left + 1), &mut copy).map_err(|error| {
            let errno = error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
            Stop::Failed(if errno == Errno::PERM { Errno::IO } else { errno })
        })?;
        if copied > left {
            return Err(Stop::TooLarge(bytesize::ByteSize(MAX_BYTES).display().iec().to_string()));
        }
        self.bytes += copied;
        Ok(describe(&copy, &stat)?)
    }

    fn leave_out(&mut self, name: &[u8], why: &str) {
        if self.left_out < MAX_NOTES {
            self.left_out += 1;
            let name = String::from_utf8_lossy(name);
            self.made.note(format!("the copy for the trial lacks `{name}`: {why}"));
        }
    }
}

/// Why copying stops.
#[derive(Debug)]
enum Stop {
    Failed(Errno),
    TooLarge(String),
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Self {
        Self::Failed(errno)
    }
}

fn open_directory(at: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(at, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn open_below(directory: &OwnedFd, name: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

/// Gives a copy the mode and times of its original, and the owner where this user may.
fn describe(copy: impl AsFd, stat: &Stat) -> rustix::io::Result<()> {
    // Without the right to do so, the copy is this user's, as a new file would be.
    let _ = rustix::fs::fchown(&copy, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
    rustix::fs::fchmod(&copy, Mode::from_raw_mode(stat.st_mode & MODE))?;
    rustix::fs::futimens(&copy, &times(stat))
}

#[allow(clippy::useless_conversion, reason = "these numbers have other types on some architectures")]
fn times(stat: &Stat) -> Timestamps {
    let time = |seconds: i64, nanoseconds: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds.try_into().unwrap_or_default(),
    };
    Timestamps {
        last_access: time(stat.st_atime.into(), stat.st_atime_nsec.try_into().unwrap_or_default()),
        last_modification: time(stat.st_mtime.into(), stat.st_mtime_nsec.try_into().unwrap_or_default()),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests wrote the files themselves")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use modbox_policy::Access;
    use modbox_vocabulary::GrantSource;

    use super::*;

    fn grant(host: PathBuf) -> PathGrant {
        let shape = if host.is_dir() { Shape::Directory } else { Shape::Name };
        let guest = host.display().to_string();
        PathGrant { host, shape, guest, access: Access::Write, source: GrantSource::named("") }
    }

    #[test]
    fn a_tree_is_copied_without_what_is_special() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("inner")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("inner/file"), "text").unwrap();
        fs::set_permissions(from.join("inner/file"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("/etc/passwd", from.join("link")).unwrap();
        symlink(".", from.join("round")).unwrap();
        rustix::fs::mkfifoat(CWD, from.join("pipe"), Mode::RWXU).unwrap();
        let mut copier = Copier::new(&to);
        let copy = copier.copy(&grant(from.clone())).unwrap();
        assert_eq!(fs::read_to_string(copy.join("inner/file")).unwrap(), "text");
        let (old, new) = (from.join("inner/file").metadata().unwrap(), copy.join("inner/file").metadata().unwrap());
        assert_eq!((old.mode(), old.mtime_nsec()), (new.mode(), new.mtime_nsec()));
        assert_eq!(fs::read_link(copy.join("link")).unwrap(), Path::new("/etc/passwd"));
        assert_eq!(fs::read_link(copy.join("round")).unwrap(), Path::new("."));
        assert!(copy.join("pipe").symlink_metadata().is_err());
        let missing = copier.copy(&grant(from.join("new"))).unwrap();
        assert!(missing.parent().unwrap().is_dir() && !missing.exists());
        assert!(copier.finish().notes()[0].contains("`pipe`"));
        assert!(check_special(&grant(from.join("pipe"))).is_err() && check_special(&grant("/dev/null".into())).is_ok());
    }

    #[test]
    fn too_much_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&to).unwrap();
        fs::create_dir(&from).unwrap();
        File::create(from.join("large")).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let error = Copier::new(&to).copy(&grant(from.clone())).unwrap_err().to_string();
        assert!(error.contains("it has more than 256.0 MiB"), "{error}");
        fs::remove_file(from.join("large")).unwrap();
        let mut deep = from.clone();
        for _ in 0..=MAX_DEPTH {
            deep.push("d");
            fs::create_dir(&deep).unwrap();
        }
        let to = dir.path().join("again");
        fs::create_dir(&to).unwrap();
        let error = Copier::new(&to).copy(&grant(from)).unwrap_err().to_string();
        assert!(error.contains("directories in each other"), "{error}");
    }
}
