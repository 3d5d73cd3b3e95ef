//! A quick look at a user's tree: whether an overlay over it is exact, and what a copy of it costs.
//!
//! The look ends at a bound of entries and of time. What was not seen is not known to be exact. This file decides
//! nothing.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, Stat};
use rustix::io::Errno;

use crate::tree_root::TreeRoot;

/// Upper bound of the entries that are looked at.
const MAX_ENTRIES: u64 = 16_384;

/// Upper bound of the time of a look. A copy of as many entries takes ten times as long.
const MAX_TIME: Duration = Duration::from_millis(200);

/// Size of the list of names of extended attributes that a plain entry has at most.
const ROOM: usize = 1024;

/// What was seen of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TreeSurvey {
    /// Whether all of it was seen, and each entry is one that a user's overlay holds as it is.
    pub(crate) is_exact: bool,
    /// Whether it has directories, which a user's overlay does not rename.
    pub(crate) has_directories: bool,
    /// Number of entries.
    pub(crate) entries: u64,
    /// Bytes of files.
    pub(crate) bytes: u64,
}

/// Looks at a tree.
///
/// # Errors
///
/// The tree cannot be read.
pub(crate) fn survey(root: &TreeRoot) -> io::Result<TreeSurvey> {
    let deadline = Instant::now() + MAX_TIME;
    let mut seen =
        TreeSurvey { is_exact: is_plain(&rustix::fs::fstat(root)?, &place(root).join("."))?, ..TreeSurvey::default() };
    let mut pending = vec![PathBuf::new()];
    while let Some(path) = pending.pop() {
        let Some(directory) = opened(root, &path)? else {
            return Ok(TreeSurvey { is_exact: false, ..seen });
        };
        for entry in Dir::read_from(&directory)? {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            let stat = match rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            seen.entries += 1;
            seen.bytes = seen.bytes.saturating_add(u64::try_from(stat.st_size).unwrap_or(0));
            if !is_plain(&stat, &place(&directory).join(&name))?
                || seen.entries > MAX_ENTRIES
                || Instant::now() > deadline
            {
                return Ok(TreeSurvey { is_exact: false, ..seen });
            }
            if FileType::from_raw_mode(stat.st_mode).is_dir() {
                seen.has_directories = true;
                pending.push(path.join(name));
            }
        }
    }
    Ok(seen)
}

/// Opens a directory of a tree. Returns `None` if this user may not read it.
fn opened(root: &TreeRoot, path: &Path) -> io::Result<Option<OwnedFd>> {
    match root.open_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        opened => opened.map(Some),
    }
}

fn place(directory: impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd()).into()
}

/// Returns whether a user's overlay holds an entry as it is: it is the user's and the user's group's, has one name, and
/// no extended attribute but those of users. The overlay's own marks are not plain.
pub(crate) fn is_plain(stat: &Stat, place: &Path) -> io::Result<bool> {
    let is_own =
        stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_gid == rustix::process::getegid().as_raw();
    let is_directory = FileType::from_raw_mode(stat.st_mode).is_dir();
    if !is_own || (!is_directory && stat.st_nlink != 1) {
        return Ok(false);
    }
    let mut names = [0; ROOM];
    let length = match rustix::fs::llistxattr(place, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => 0,
        Err(Errno::RANGE | Errno::NOENT) => return Ok(false),
        Err(errno) => return Err(errno.into()),
    };
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let is_plain = |name: &[u8]| name.starts_with(b"user.") && !name.starts_with(b"user.overlay.");
    Ok(names.into_iter().all(is_plain))
}
