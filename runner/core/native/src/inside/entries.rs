//! Mounts, links and small files that a room is made of, opened while the machine's own root is still the root.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use modbox_kernel::{Absent, Links, PathRule, Rights};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::inside::mounts::{self, Attributes};
use crate::link::Failure;
use crate::rooms::base;
use crate::step::Step;

/// Maximum size of a small file in bytes.
const SMALL: u64 = 32 << 10;

/// Mount or link to make in the room.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) at: PathBuf,
    pub(crate) source: Source,
}

impl Entry {
    pub(crate) fn depth(&self) -> usize {
        self.at.components().count()
    }
}

#[derive(Debug)]
pub(crate) enum Source {
    /// Copy of a mount. `directory` is whether it is a directory, and `writable` whether the module may write it.
    Tree {
        tree: OwnedFd,
        directory: bool,
        writable: bool,
    },
    /// Directory of the room's own file system.
    Own(String),
    /// Empty directory, through which the way to a granted path leads.
    Way,
    Link(PathBuf),
    /// Script in the room's own file system, over the program that it stands for.
    Script(String),
    /// File of the base that is so small that a copy is cheaper than a mount.
    Copy(OwnedFd, Stat),
}

/// Returns the entry for a path of the configuration, or `None` if the path does not exist. `is_copied` says that a file is copied
/// even if that takes longer than a mount.
pub(crate) fn configuration(path: &Path, is_copied: bool) -> Result<Option<Source>, Failure> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        opened => opened.and_then(|opened| rustix::fs::fstat(&opened).map(|stat| (opened, stat))),
    };
    match opened {
        Ok((opened, stat)) if is_file(&stat) && (is_small(&stat) || is_copied && base::is_copied(&stat)) => {
            Ok(Some(Source::Copy(opened, stat)))
        }
        _ => tree(path, Attributes::READ_ONLY, false, Links::Follow),
    }
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn is_small(stat: &Stat) -> bool {
    u64::try_from(stat.st_size).is_ok_and(|size| size <= SMALL)
}

/// Copies the mounts at a path of the machine. Returns `None` if the path does not exist.
pub(crate) fn tree(
    path: &Path,
    attributes: Attributes,
    writable: bool,
    links: Links,
) -> Result<Option<Source>, Failure> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = match links {
        Links::Follow => rustix::fs::open(path, flags, Mode::empty()),
        Links::Refuse => {
            let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)
        }
    };
    let opened = match opened {
        Ok(opened) => opened,
        // A path of the base that this user cannot reach is left out: the module could not reach it either.
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::ACCESS) if links == Links::Follow => return Ok(None),
        Err(errno) => return Err(Failure::with(Step::Grant, path)(errno.into())),
    };
    let copy = || -> io::Result<Source> {
        let file_type = FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
        let tree = mounts::copy_of(&opened)?;
        mounts::restrict(&tree, attributes)?;
        Ok(Source::Tree { tree, directory: file_type == FileType::Directory, writable })
    };
    copy().map(Some).map_err(|error| {
        // EPERM means that this user may not mount at all, for base and grants alike.
        let step = if error.raw_os_error() == Some(libc::EPERM) { Step::Mounts } else { Step::Grant };
        Failure::with(step, path)(error)
    })
}

pub(crate) fn os_string(target: CString) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(target.into_bytes())
}

/// List of Landlock rules under construction.
#[derive(Debug, Default)]
pub(crate) struct Rules(pub(crate) Vec<PathRule>);

impl Rules {
    pub(crate) fn add(&mut self, path: &Path, rights: Rights) {
        self.0.push(PathRule { path: path.to_owned(), rights, links: Links::Follow, absent: Absent::Error });
    }
}
