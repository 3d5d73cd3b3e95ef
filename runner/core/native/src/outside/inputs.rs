//! Private copies of files of the room, for operands that are such files.
//!
//! A file is read once, with the rights of the task's user and below the root of the process that asks, or below what a guest is
//! granted. What is judged and what the program gets is this copy.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use modbox_kernel::as_user;
use modbox_vocabulary::User;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

/// Maximum size of a file.
const MAX_INPUT: u64 = 16 << 20;

/// The kinds of file systems whose files the kernel makes: `/proc` and `/sys`.
const OF_THE_KERNEL: [u64; 2] = [0x9fa0, 0x6265_6572];

/// A file that cannot be an operand.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("failed to open it")]
    Open(#[source] io::Error),
    #[error("the module does not see it")]
    NotSeen,
    #[error("it is not a regular file")]
    NotRegular,
    #[error("it is longer than 16 MiB")]
    Long,
    #[error("failed to copy it")]
    Copy(#[source] io::Error),
}

/// A path of a guest, as a path on the machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GuestPlace<'a, D = BorrowedFd<'a>> {
    /// In the guest's `/tmp`, which is open.
    Temporary { directory: D, below: PathBuf },
    /// In a directory that is granted.
    Directory { host: &'a Path, below: PathBuf },
    /// What is granted by name.
    Name { host: &'a Path },
}

/// Reads a file of the room whose root is open.
pub(crate) fn read(root: BorrowedFd<'_>, path: &str, user: Option<&User>) -> Result<Vec<u8>, InputError> {
    let below = path.trim_start_matches('/');
    as_user(user, || read_below(root, below)).map_err(InputError::Open)?
}

/// Reads a file of a guest: below a directory that it sees, or one that is granted by name, which no link may have replaced.
pub(crate) fn read_of_guest(place: &GuestPlace<'_>, user: Option<&User>) -> Result<Vec<u8>, InputError> {
    let read = || match place {
        GuestPlace::Temporary { directory, below } => read_beneath(*directory, below),
        GuestPlace::Directory { host, below } => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let directory = rustix::fs::openat2(CWD, *host, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
            let directory = directory.map_err(|errno| InputError::Open(errno.into()))?;
            read_beneath(directory.as_fd(), below)
        }
        GuestPlace::Name { host } => read_at(CWD, host, ResolveFlags::NO_SYMLINKS),
    };
    as_user(user, read).map_err(InputError::Open)?
}

/// Reads a file of the machine; a missing one is empty.
pub(crate) fn read_of_machine(path: &str, user: Option<&User>) -> Result<Vec<u8>, InputError> {
    match as_user(user, || read_below(CWD, path)).map_err(InputError::Open)? {
        Err(InputError::Open(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

fn read_below(root: BorrowedFd<'_>, path: &str) -> Result<Vec<u8>, InputError> {
    let within = if path.starts_with('/') { ResolveFlags::empty() } else { ResolveFlags::IN_ROOT };
    read_at(root, Path::new(path), within | ResolveFlags::NO_MAGICLINKS)
}

fn read_beneath(directory: BorrowedFd<'_>, below: &Path) -> Result<Vec<u8>, InputError> {
    read_at(directory, below, ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
}

fn read_at(root: BorrowedFd<'_>, path: &Path, resolve: ResolveFlags) -> Result<Vec<u8>, InputError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = || -> io::Result<(File, bool)> {
        let file = rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)?;
        let is_regular = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) == FileType::RegularFile;
        let kind = u64::try_from(rustix::fs::fstatfs(file.as_fd())?.f_type).unwrap_or_default();
        Ok((file.into(), is_regular && !OF_THE_KERNEL.contains(&kind)))
    };
    let (file, is_regular) = open().map_err(InputError::Open)?;
    if !is_regular {
        return Err(InputError::NotRegular);
    }
    let mut bytes = Vec::new();
    file.take(MAX_INPUT + 1).read_to_end(&mut bytes).map_err(InputError::Copy)?;
    if bytes.len() as u64 > MAX_INPUT { Err(InputError::Long) } else { Ok(bytes) }
}

/// Writes a copy into the directory of copies, and returns its path. It belongs to the task's user, and no one else can read it.
pub(crate) fn write(
    directory: &Path,
    number: u64,
    argument: usize,
    path: &str,
    bytes: &[u8],
    user: Option<&User>,
) -> Result<PathBuf, InputError> {
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    // A name of this length fits with what is put before it.
    let name: String = name.chars().take(48).collect();
    let to = directory.join(format!("{number}-{argument}-{name}"));
    let make = || -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        File::from(rustix::fs::open(&to, flags, Mode::RUSR | Mode::WUSR)?).write_all(bytes)
    };
    as_user(user, make).and_then(|made| made).map_err(InputError::Copy)?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_below_the_root_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("etc")).unwrap();
        fs::write(dir.path().join("secret"), "secret").unwrap();
        fs::write(root.join("etc/plain"), "plain").unwrap();
        symlink("/etc/plain", root.join("link")).unwrap();
        for (at, target) in [("up", "../../../secret"), ("absolute", "/proc/self/status"), ("circle", "circle")] {
            symlink(target, root.join(at)).unwrap();
        }
        symlink(dir.path().join("secret"), root.join("out")).unwrap();
        rustix::fs::mknodat(CWD, root.join("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let open = File::open(&root).unwrap();
        let read = |path: &str| super::read(open.as_fd(), path, None);
        assert_eq!((read("/etc/plain").unwrap(), read("/link").unwrap()), (b"plain".to_vec(), b"plain".to_vec()));
        for path in ["/up", "/absolute", "/circle", "/out", "/none", "/etc/../../secret"] {
            assert!(matches!(read(path), Err(InputError::Open(_))), "{path}");
        }
        for path in ["/fifo", "/etc"] {
            assert!(matches!(read(path), Err(InputError::NotRegular)), "{path}");
        }
        assert!(matches!(read_of_machine("/proc/self/status", None), Err(InputError::NotRegular)));
        assert_eq!(read_of_machine("/proc/no/such/file", None).unwrap(), b"");
        let long = File::create(root.join("long")).unwrap();
        long.set_len(MAX_INPUT + 1).unwrap();
        assert!(matches!(read("/long"), Err(InputError::Long)));
        long.set_len(MAX_INPUT).unwrap();
        assert_eq!(read("/long").unwrap().len() as u64, MAX_INPUT);
    }

    fn text(path: &Path) -> String {
        io::read_to_string(File::open(path).unwrap()).unwrap()
    }

    #[test]
    fn a_copy_is_private_and_replaces_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let to = write(dir.path(), 3, 1, "/tmp/crontab", b"x", None).unwrap();
        assert_eq!((text(&to), to.metadata().unwrap().permissions().mode() & 0o777), ("x".to_owned(), 0o600));
        assert!(matches!(write(dir.path(), 3, 1, "/var/crontab", b"y", None), Err(InputError::Copy(_))));
        assert_eq!(text(&to), "x");
    }
}
