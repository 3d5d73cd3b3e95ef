//! Opening a path beneath a directory: one call of `openat2`, which the kernel resolves beneath it, and one `fstat`.
//!
//! wasmtime-wasi's own `open_at` would wait for the other end of a FIFO and open devices. This one opens regular files
//! and directories; its flags and results are otherwise the same.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::OpenMode;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

use crate::files::ledger::Ledger;

/// How often a path is tried anew while something on it is renamed.
const TRIES: u32 = 32;

/// What `open-at` asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    flags: OFlags,
    pub(super) create: bool,
    pub(super) exclusive: bool,
    pub(super) directory: bool,
    pub(super) mode: OpenMode,
}

/// What was opened.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) fd: OwnedFd,
    pub(super) stat: Stat,
}

/// Why nothing was opened.
#[derive(Debug)]
pub(super) enum Refused {
    /// As the kernel said, or WASI asks for.
    Code(ErrorCode),
    /// The path leads out of the directory.
    Escape,
    /// A FIFO, a socket or a device.
    Special,
    /// The kernel does not have, or does not allow, `openat2`.
    Unavailable,
    /// No more files may be made.
    Exhausted,
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::XDEV => Self::Escape,
            Errno::NXIO | Errno::NODEV => Self::Special,
            errno => Self::Code(std::io::Error::from(errno).into()),
        }
    }
}

impl Asked {
    /// Reads WASI's flags as wasmtime-wasi does.
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
        // What is not opened for writing is opened for reading, so that the host opens it at all.
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
        // Without blocking: a FIFO answers at once and is then refused.
        oflags |= OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        oflags.set(OFlags::NOFOLLOW, !follow.contains(PathFlags::SYMLINK_FOLLOW));
        oflags.set(OFlags::TRUNC, truncate);
        // Alone, the flag means nothing.
        Ok(Self { flags: oflags, create, exclusive: exclusive && create, directory, mode })
    }

    /// Returns whether it changes anything, or would let the guest do so.
    pub(super) fn writes(&self) -> bool {
        self.mode.contains(OpenMode::WRITE)
    }

    /// Returns whether it is to be read, written or both.
    pub(super) fn access(&self) -> OFlags {
        self.flags & OFlags::RWMODE
    }

    /// Opens a path beneath a directory.
    pub(super) fn beneath(&self, dir: BorrowedFd<'_>, path: &str, ledger: &Ledger) -> Result<Opened, Refused> {
        let open = |flags: OFlags| {
            let mode = if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o666) } else { Mode::empty() };
            open_beneath(dir, path, flags, mode)
        };
        self.regular(self.create_or_open(open, ledger)?)
    }

    /// Opens a name in a directory, never through a link.
    pub(super) fn name(&self, dir: BorrowedFd<'_>, name: &std::ffi::OsStr, ledger: &Ledger) -> Result<Opened, Refused> {
        let open = |flags: OFlags| {
            let mode = if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o666) } else { Mode::empty() };
            Ok(rustix::fs::openat(dir, name, flags | OFlags::NOFOLLOW, mode)?)
        };
        self.regular(self.create_or_open(open, ledger)?)
    }

    /// A file that is made is counted, one that is there is not. So the first try makes one or fails.
    fn create_or_open(
        &self,
        open: impl Fn(OFlags) -> Result<OwnedFd, Refused>,
        ledger: &Ledger,
    ) -> Result<OwnedFd, Refused> {
        if !self.create {
            return open(self.flags);
        }
        let new = self.flags.difference(OFlags::TRUNC) | OFlags::CREATE | OFlags::EXCL;
        if ledger.take_file().is_err() {
            let there = if self.exclusive { self.flags.difference(OFlags::TRUNC) } else { self.flags };
            return match open(there) {
                Ok(_) if self.exclusive => Err(Refused::Code(ErrorCode::Exist)),
                Err(Refused::Code(ErrorCode::NoEntry)) => Err(Refused::Exhausted),
                other => other,
            };
        }
        let made = open(new);
        let there = matches!(made, Err(Refused::Code(ErrorCode::Exist)));
        if there && !self.exclusive {
            ledger.give_file();
            return match open(self.flags) {
                // A link to what is not there: following it makes that.
                Err(Refused::Code(ErrorCode::NoEntry)) => self.through_link(open, ledger),
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
        open: impl Fn(OFlags) -> Result<OwnedFd, Refused>,
        ledger: &Ledger,
    ) -> Result<OwnedFd, Refused> {
        ledger.take_file().map_err(|_| Refused::Exhausted)?;
        let made = open(self.flags | OFlags::CREATE);
        if made.is_err() {
            ledger.give_file();
        }
        made
    }

    fn regular(&self, fd: OwnedFd) -> Result<Opened, Refused> {
        let stat = rustix::fs::fstat(&fd)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(Opened { fd, stat }),
            _ if self.directory => Err(Refused::Code(ErrorCode::NotDirectory)),
            FileType::RegularFile => Ok(Opened { fd, stat }),
            _ => Err(Refused::Special),
        }
    }

    /// Returns the rights that a descriptor gets.
    pub(super) fn perms(writable: bool) -> FsPerms {
        if writable { FsPerms::ReadWrite } else { FsPerms::ReadOnly }
    }
}

/// Opens a path that may not lead out of a directory.
pub(super) fn open_beneath(dir: BorrowedFd<'_>, path: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Refused> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..TRIES {
        match rustix::fs::openat2(dir, path, flags, mode, resolve) {
            Ok(fd) => return Ok(fd),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // The second is what some seccomp filters say for a call that they do not know.
            Err(Errno::NOSYS | Errno::PERM) => return Err(Refused::Unavailable),
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(Refused::Unavailable)
}

/// Looks at a path that may not lead out of a directory. A single name leads nowhere else unless it is a link that is
/// followed, so one call is enough for it.
pub(super) fn stat_beneath(dir: BorrowedFd<'_>, path: &str, follow: bool) -> Result<Stat, Refused> {
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

/// Looks at a name in a directory, never through a link.
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
    fn a_look_at_a_path_follows_links_only_when_asked_and_never_out() {
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
            assert!(matches!(look("nothing", follow), Err(Refused::Code(ErrorCode::NoEntry))));
            assert!(matches!(look("file/", follow), Err(Refused::Code(ErrorCode::NotDirectory))));
            for path in ["..", "../secret", "./../secret", "/", "absolute/", "absolute/etc"] {
                assert!(matches!(look(path, follow), Err(Refused::Escape)), "{path}");
            }
        }
        for (link, _) in links {
            assert!(matches!(look(link, false), Ok((FileType::Symlink, _))), "{link}");
        }
        assert!(matches!(look("link", true), Ok((FileType::RegularFile, 4))));
        assert!(matches!(look("out", true), Err(Refused::Escape)));
        assert!(matches!(look("absolute", true), Err(Refused::Escape)));
        assert!(matches!(look("gone", true), Err(Refused::Code(ErrorCode::NoEntry))));
        assert!(matches!(look("round", true), Err(Refused::Code(ErrorCode::Loop))));
    }

    #[test]
    fn a_look_at_a_fifo_waits_for_nobody() {
        let dir = tempfile::tempdir().unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("fifo"), Mode::from_raw_mode(0o600)).unwrap();
        let open = File::open(dir.path()).unwrap();
        for path in ["fifo", "./fifo"] {
            let stat = stat_beneath(open.as_fd(), path, true).unwrap();
            assert_eq!(FileType::from_raw_mode(stat.st_mode), FileType::Fifo);
        }
    }
}
