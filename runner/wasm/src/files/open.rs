//! Opens a path beneath a directory: one `openat2`, so that the kernel resolves the path beneath it, and one `fstat`.
//!
//! wasmtime-wasi's own `open_at` would wait for the other end of a FIFO, and would open devices. This one opens only
//! regular files and directories. Its flags and results are otherwise the same.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::OpenMode;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

use crate::files::ledger::Ledger;

/// How often to try again while a directory on the path is being renamed.
const TRIES: u32 = 32;

/// The arguments of `open-at`, as flags of the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenRequest {
    flags: OFlags,
    pub(super) create: bool,
    pub(super) exclusive: bool,
    pub(super) directory: bool,
    pub(super) mode: OpenMode,
}

/// An opened file with its status.
#[derive(Debug)]
pub(super) struct FileAndStat {
    pub(super) fd: OwnedFd,
    pub(super) stat: Stat,
}

/// Why a path could not be opened.
#[derive(Debug)]
pub(super) enum Refusal {
    /// An error that the kernel returned or that WASI requires.
    Code(ErrorCode),
    /// The path leads out of the directory.
    Escape,
    /// The file is a FIFO, a socket or a device.
    Special,
    /// `openat2` is missing in this kernel or forbidden by a filter.
    Unavailable,
    /// The quota of new files is used up.
    QuotaExceeded,
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::XDEV => Self::Escape,
            Errno::NXIO | Errno::NODEV => Self::Special,
            errno => Self::Code(std::io::Error::from(errno).into()),
        }
    }
}

impl OpenRequest {
    /// Converts WASI's flags in the same way as wasmtime-wasi.
    pub(super) fn read(follow: PathFlags, open: OpenFlags, flags: DescriptorFlags) -> Result<Self, ErrorCode> {
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
        // A file that is not opened for writing is opened for reading: the host needs one of the two.
        let write = create || truncate || flags.contains(DescriptorFlags::WRITE);
        let read = flags.contains(DescriptorFlags::READ) || !flags.contains(DescriptorFlags::WRITE);
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
        oflags.set(OFlags::NOFOLLOW, !follow.contains(PathFlags::SYMLINK_FOLLOW));
        oflags.set(OFlags::TRUNC, truncate);
        // Without `create`, `exclusive` has no meaning.
        Ok(Self { flags: oflags, create, exclusive: exclusive && create, directory, mode })
    }

    /// Returns whether the call changes a file or opens it for writing.
    pub(super) fn writes(&self) -> bool {
        self.mode.contains(OpenMode::WRITE)
    }

    /// Returns the access mode: read, write or both.
    pub(super) fn access(&self) -> OFlags {
        self.flags & OFlags::RWMODE
    }

    /// Opens a path beneath a directory.
    pub(super) fn beneath(&self, dir: BorrowedFd<'_>, path: &str, ledger: &Ledger) -> Result<FileAndStat, Refusal> {
        let open = |flags: OFlags| {
            let mode = if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o666) } else { Mode::empty() };
            open_beneath(dir, path, flags, mode)
        };
        self.regular(self.create_or_open(open, ledger)?)
    }

    /// Opens a name in a directory; never follows a link.
    pub(super) fn name(
        &self,
        dir: BorrowedFd<'_>,
        name: &std::ffi::OsStr,
        ledger: &Ledger,
    ) -> Result<FileAndStat, Refusal> {
        let open = |flags: OFlags| {
            let mode = if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o666) } else { Mode::empty() };
            Ok(rustix::fs::openat(dir, name, flags | OFlags::NOFOLLOW, mode)?)
        };
        self.regular(self.create_or_open(open, ledger)?)
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
                Ok(_) if self.exclusive => Err(Refusal::Code(ErrorCode::Exist)),
                Err(Refusal::Code(ErrorCode::NoEntry)) => Err(Refusal::QuotaExceeded),
                other => other,
            };
        }
        let made = open(new);
        let there = matches!(made, Err(Refusal::Code(ErrorCode::Exist)));
        if there && !self.exclusive {
            ledger.give_file();
            return match open(self.flags) {
                // A dangling link: following it creates its target.
                Err(Refusal::Code(ErrorCode::NoEntry)) => self.through_link(open, ledger),
                other => other,
            };
        }
        if made.is_err() {
            ledger.give_file();
        }
        made
    }

    fn through_link(
        &self,
        open: impl Fn(OFlags) -> Result<OwnedFd, Refusal>,
        ledger: &Ledger,
    ) -> Result<OwnedFd, Refusal> {
        ledger.take_file().map_err(|_| Refusal::QuotaExceeded)?;
        let made = open(self.flags | OFlags::CREATE);
        if made.is_err() {
            ledger.give_file();
        }
        made
    }

    fn regular(&self, fd: OwnedFd) -> Result<FileAndStat, Refusal> {
        let stat = rustix::fs::fstat(&fd)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(FileAndStat { fd, stat }),
            _ if self.directory => Err(Refusal::Code(ErrorCode::NotDirectory)),
            FileType::RegularFile => Ok(FileAndStat { fd, stat }),
            _ => Err(Refusal::Special),
        }
    }

    /// Returns the rights of a new descriptor.
    pub(super) fn perms(writable: bool) -> FsPerms {
        if writable { FsPerms::ReadWrite } else { FsPerms::ReadOnly }
    }
}

/// Opens a path that must not lead out of a directory.
pub(super) fn open_beneath(dir: BorrowedFd<'_>, path: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Refusal> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..TRIES {
        match rustix::fs::openat2(dir, path, flags, mode, resolve) {
            Ok(fd) => return Ok(fd),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Some seccomp filters return EPERM for a system call that they do not know.
            Err(Errno::NOSYS | Errno::PERM) => return Err(Refusal::Unavailable),
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(Refusal::Unavailable)
}

/// Returns the status of a path that must not lead out of a directory. A single name cannot lead out unless it is a
/// link that is followed, so one `fstatat` is enough for it.
pub(super) fn stat_beneath(dir: BorrowedFd<'_>, path: &str, follow: bool) -> Result<Stat, Refusal> {
    if !path.contains('/') && !matches!(path, "." | "..") {
        let stat = rustix::fs::statat(dir, path, AtFlags::SYMLINK_NOFOLLOW)?;
        if !follow || FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            return Ok(stat);
        }
    }
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follow);
    Ok(rustix::fs::fstat(open_beneath(dir, path, flags, Mode::empty())?)?)
}

/// Returns the status of a name in a directory; never follows a link.
pub(super) fn stat_name(dir: BorrowedFd<'_>, name: &std::ffi::OsStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn stat_follows_links_only_on_request_and_never_leads_out() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("file"), "1234").unwrap();
        std::fs::write(dir.path().join("secret"), "").unwrap();
        let links =
            [("link", "file"), ("out", "../secret"), ("absolute", "/"), ("gone", "nothing"), ("round", "round")];
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
            assert!(matches!(look("nothing", follow), Err(Refusal::Code(ErrorCode::NoEntry))));
            assert!(matches!(look("file/", follow), Err(Refusal::Code(ErrorCode::NotDirectory))));
            for path in ["..", "../secret", "./../secret", "/", "absolute/", "absolute/etc"] {
                assert!(matches!(look(path, follow), Err(Refusal::Escape)), "{path}");
            }
        }
        for (link, _) in links {
            assert!(matches!(look(link, false), Ok((FileType::Symlink, _))), "{link}");
        }
        assert!(matches!(look("link", true), Ok((FileType::RegularFile, 4))));
        assert!(matches!(look("out", true), Err(Refusal::Escape)));
        assert!(matches!(look("absolute", true), Err(Refusal::Escape)));
        assert!(matches!(look("gone", true), Err(Refusal::Code(ErrorCode::NoEntry))));
        assert!(matches!(look("round", true), Err(Refusal::Code(ErrorCode::Loop))));
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
