//! Opens a path beneath a directory: one `openat2`, so that the kernel resolves the path beneath it, and one `fstat`. A
//! path with a link on it is refused here, and walked (`walk`).
//!
//! wasmtime-wasi's own `open_at` would wait for the other end of a FIFO, and would open devices. This one opens only
//! regular files and directories. A descriptor has the rights that the guest asked for, and no others.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::OpenMode;
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

use crate::files::encoding::to_host;
use crate::files::errno::failed;
use crate::files::follow::Follow;
use crate::files::ledger::Ledger;
use crate::files::planted::may_open_existing;

/// How often to try again while a directory or a link on the path is being moved.
pub(crate) const TRIES: u32 = 32;

/// The arguments of `open-at`, as flags of the kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenRequest {
    flags: OFlags,
    follow: bool,
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    pub(crate) directory: bool,
    truncate: bool,
    pub(crate) mode: OpenMode,
    /// The permissions of a new file, before the umask.
    new: Mode,
    /// Whether a directory is an error, as with `O_CREAT`.
    is_file: bool,
}

/// An opened file with its status.
#[derive(Debug)]
pub(crate) struct FileAndStat {
    pub(crate) fd: OwnedFd,
    pub(crate) stat: Stat,
    /// The mode that the file had before the call, which may have emptied it.
    pub(crate) mode: u32,
}

/// Why a path could not be opened.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// An error that the kernel returned.
    Errno(Errno),
    /// There is a link on the path.
    Link,
    /// The path leads out of the directory.
    Escape,
    /// The file is a FIFO, a socket or a device.
    Special,
    /// The quota of new files is used up.
    QuotaExceeded,
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::XDEV => Self::Escape,
            Errno::LOOP => Self::Link,
            Errno::NXIO | Errno::NODEV => Self::Special,
            errno => Self::Errno(errno),
        }
    }
}

impl From<Refusal> for FsError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Errno(errno) => failed(errno),
            Refusal::Link => ErrorCode::Loop.into(),
            Refusal::Escape | Refusal::Special => ErrorCode::NotPermitted.into(),
            Refusal::QuotaExceeded => ErrorCode::InsufficientSpace.into(),
        }
    }
}

impl Refusal {
    /// Returns whether the path has to be walked name by name.
    pub(crate) fn needs_walk(&self) -> bool {
        matches!(self, Self::Link | Self::Escape)
    }
}

impl OpenRequest {
    /// Converts WASI's flags in the same way as wasmtime-wasi.
    /// `mask`: permissions that a new file does not get, beside those of the umask.
    pub(crate) fn read(
        follow: PathFlags,
        open: OpenFlags,
        flags: DescriptorFlags,
        mask: Mode,
    ) -> Result<Self, ErrorCode> {
        let synchronous = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if flags.intersects(synchronous) {
            return Err(ErrorCode::Unsupported);
        }
        let [create, exclusive, directory, truncate] =
            [OpenFlags::CREATE, OpenFlags::EXCLUSIVE, OpenFlags::DIRECTORY, OpenFlags::TRUNCATE]
                .map(|flag| open.contains(flag));
        if directory && (create || exclusive || truncate) {
            return Err(ErrorCode::Invalid);
        }
        // A descriptor that asks for neither reads, as `O_RDONLY` does.
        let write = flags.contains(DescriptorFlags::WRITE);
        let read = flags.contains(DescriptorFlags::READ) || !write;
        let mut mode = OpenMode::empty();
        mode.set(OpenMode::READ, read);
        mode.set(OpenMode::WRITE, write);
        let mut oflags = match (read, write) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            _ => OFlags::RDONLY,
        };
        // Non-blocking, so that opening a FIFO returns at once; it is then refused.
        oflags |= OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let follow = follow.contains(PathFlags::SYMLINK_FOLLOW);
        oflags.set(OFlags::NOFOLLOW, !follow);
        oflags.set(OFlags::TRUNC, truncate);
        // Without `create`, `exclusive` has no meaning.
        let exclusive = exclusive && create;
        let new = Mode::from_raw_mode(0o666).difference(mask);
        Ok(Self { flags: oflags, follow, create, exclusive, directory, truncate, mode, new, is_file: false })
    }

    /// Returns what a link at the end of the path means.
    pub(crate) fn follow(&self) -> Follow {
        Follow::links(self.follow && !self.exclusive)
    }

    /// Returns whether the call changes a file or opens it for writing.
    pub(crate) fn writes(&self) -> bool {
        self.create || self.truncate || self.mode.contains(OpenMode::WRITE)
    }

    /// Returns the access mode: read, write or both.
    pub(crate) fn access(&self) -> OFlags {
        self.flags & OFlags::RWMODE
    }

    /// Opens a path beneath a directory. A link on the path is refused.
    pub(crate) fn beneath(&self, dir: BorrowedFd<'_>, path: &str, ledger: &Ledger) -> Result<FileAndStat, Refusal> {
        let open = |flags: OFlags| open_beneath(dir, path, flags, self.new_mode(flags));
        let before = self.before(|| stat_beneath(dir, path, self.follow).ok());
        let opened = self.regular(self.create_or_open(open, ledger)?, before)?;
        self.may_open(opened, || {
            let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(rustix::fs::fstat(open_beneath(dir, folder, flags, Mode::empty())?)?)
        })
    }

    /// Opens a name in a directory. A link is refused.
    pub(crate) fn name(
        &self,
        dir: BorrowedFd<'_>,
        name: &std::ffi::OsStr,
        ledger: &Ledger,
    ) -> Result<FileAndStat, Refusal> {
        let open = |flags: OFlags| Ok(rustix::fs::openat(dir, name, flags | OFlags::NOFOLLOW, self.new_mode(flags))?);
        let before = self.before(|| stat_name(dir, name).ok());
        let opened = self.regular(self.create_or_open(open, ledger)?, before)?;
        self.may_open(opened, || Ok(rustix::fs::fstat(dir)?))
    }

    /// Returns a file that was opened, unless the request would have made it and another user can have planted it.
    fn may_open(
        &self,
        opened: FileAndStat,
        folder: impl FnOnce() -> Result<Stat, Refusal>,
    ) -> Result<FileAndStat, Refusal> {
        // With `create`, the kernel has asked itself.
        if self.is_file {
            may_open_existing(&opened.stat, folder)?;
        }
        Ok(opened)
    }

    /// Returns the mode of a file that the call may empty, which takes its set-id bits away.
    fn before(&self, stat: impl FnOnce() -> Option<Stat>) -> u32 {
        let stat = if self.truncate { stat() } else { None };
        stat.map_or(0, |stat| stat.st_mode)
    }

    /// Opens a file with `create`. Only a new file counts towards the quota, so the first try uses `O_EXCL` to learn
    /// which case it is.
    fn create_or_open(
        &self,
        open: impl Fn(OFlags) -> Result<OwnedFd, Refusal>,
        ledger: &Ledger,
    ) -> Result<OwnedFd, Refusal> {
        if !self.create {
            return open(self.flags);
        }
        let new = self.flags.difference(OFlags::TRUNC) | OFlags::CREATE | OFlags::EXCL;
        if ledger.take_file().is_err() {
            let there = if self.exclusive { self.flags.difference(OFlags::TRUNC) } else { self.flags };
            return match open(there) {
                Ok(_) if self.exclusive => Err(Refusal::Errno(Errno::EXIST)),
                Err(Refusal::Errno(Errno::NOENT)) => Err(Refusal::QuotaExceeded),
                other => other,
            };
        }
        let made = open(new);
        if made.is_err() {
            ledger.give_file();
        }
        match made {
            // Still with `O_CREAT`: the kernel may refuse it for a file that another user has made.
            Err(Refusal::Errno(Errno::EXIST)) if !self.exclusive => open(self.flags | OFlags::CREATE),
            other => other,
        }
    }

    /// Returns the mode for a call of `open`: that of a new file if it makes one.
    fn new_mode(&self, flags: OFlags) -> Mode {
        if flags.contains(OFlags::CREATE) { self.new } else { Mode::empty() }
    }

    fn regular(&self, fd: OwnedFd, before: u32) -> Result<FileAndStat, Refusal> {
        let stat = rustix::fs::fstat(&fd)?;
        let mode = stat.st_mode | before;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if self.is_file => Err(Refusal::Errno(Errno::ISDIR)),
            FileType::Directory => Ok(FileAndStat { fd, stat, mode }),
            _ if self.directory => Err(Refusal::Errno(Errno::NOTDIR)),
            FileType::RegularFile => Ok(FileAndStat { fd, stat, mode }),
            _ => Err(Refusal::Special),
        }
    }

    /// Returns the same request for a file that is there, if it makes no change to such a file.
    pub(crate) fn of_existing(&self) -> Option<Self> {
        let is_change = self.exclusive || self.truncate || self.mode.contains(OpenMode::WRITE);
        (self.create && !is_change).then_some(Self { create: false, is_file: true, ..*self })
    }

    /// Returns the same request for a path that asks for a directory, by a `/` at its end. Nothing else is opened, and so
    /// nothing else is emptied.
    pub(crate) fn of_directory(&self) -> Self {
        Self { flags: self.flags | OFlags::DIRECTORY, directory: true, ..*self }
    }

    /// Returns the rights of a new descriptor.
    pub(crate) fn perms(writable: bool) -> FsPerms {
        if writable { FsPerms::ReadWrite } else { FsPerms::ReadOnly }
    }
}

/// Opens a path of a guest that must not lead out of a directory and must have no links on it. Without `O_NOFOLLOW` and
/// `O_PATH`, the file itself must not be a link either.
pub(crate) fn open_beneath(dir: BorrowedFd<'_>, path: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Refusal> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let path = to_host(path);
    for _ in 0..TRIES {
        match rustix::fs::openat2(dir, &*path, flags, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
    Err(Refusal::Errno(Errno::AGAIN))
}

/// Returns the status of a path of a guest that must not lead out of a directory and must have no links on it; a single
/// name may be a link that is not followed.
pub(crate) fn stat_beneath(dir: BorrowedFd<'_>, path: &str, follow: bool) -> Result<Stat, Refusal> {
    if !path.contains('/') && !matches!(path, "." | "..") {
        let stat = rustix::fs::statat(dir, &*to_host(path), AtFlags::SYMLINK_NOFOLLOW)?;
        let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        return if follow && is_link { Err(Refusal::Link) } else { Ok(stat) };
    }
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follow);
    Ok(rustix::fs::fstat(open_beneath(dir, path, flags, Mode::empty())?)?)
}

/// Returns the status of a name in a directory; never follows a link.
pub(crate) fn stat_name(dir: BorrowedFd<'_>, name: &std::ffi::OsStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn stat_follows_no_link_and_never_leads_out() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("file"), "1234").unwrap();
        std::fs::write(dir.path().join("secret"), "").unwrap();
        let links = [("link", "file"), ("out", "../secret"), ("absolute", "/"), ("gone", "no"), ("round", "round")];
        for (link, target) in links {
            symlink(target, inside.join(link)).unwrap();
        }
        let open = File::open(&inside).unwrap();
        let look = |path: &str, follow| {
            let seen = stat_beneath(open.as_fd(), path, follow);
            seen.map(|stat| (FileType::from_raw_mode(stat.st_mode), stat.st_size))
        };
        for follow in [false, true] {
            assert!(matches!(look("file", follow), Ok((FileType::RegularFile, 4))));
            assert!(matches!(look(".", follow), Ok((FileType::Directory, _))));
            assert!(matches!(look("nothing", follow), Err(Refusal::Errno(Errno::NOENT))));
            assert!(matches!(look("file/", follow), Err(Refusal::Errno(Errno::NOTDIR))));
            for path in ["..", "../secret", "./../secret", "/"] {
                assert!(matches!(look(path, follow), Err(Refusal::Escape)), "{path}");
            }
            for path in ["absolute/", "absolute/etc", "./absolute/."] {
                assert!(matches!(look(path, follow), Err(Refusal::Link)), "{path}");
            }
        }
        for (link, _) in links {
            for path in [link.to_owned(), format!("./{link}")] {
                assert!(matches!(look(&path, false), Ok((FileType::Symlink, _))), "{path}");
                assert!(matches!(look(&path, true), Err(Refusal::Link)), "{path}");
            }
        }
    }

    #[test]
    fn stat_of_a_fifo_does_not_wait() {
        let dir = tempfile::tempdir().unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("fifo"), Mode::from_raw_mode(0o600)).unwrap();
        let open = File::open(dir.path()).unwrap();
        for path in ["fifo", "./fifo"] {
            let stat = stat_beneath(open.as_fd(), path, true).unwrap();
            assert_eq!(FileType::from_raw_mode(stat.st_mode), FileType::Fifo);
        }
    }
}
