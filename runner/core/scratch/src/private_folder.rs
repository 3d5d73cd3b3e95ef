//! The folders of a user in the system's folder for temporary files.
//!
//! The name of the private one is `modbox-UID`, and only the user can enter it. The name of the other one is
//! `modbox-become-UID`: it holds the directories of runs that belong to other users, so all users can enter it, and only
//! its owner can list it or make anything in it. In a folder that all users share, another user may have taken that name first. Then the
//! folder is a second one, whose name ends in random characters, so that it cannot be taken in advance. Later processes
//! find it again by its beginning and its owner: no other user can make a folder that this user owns.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::error::ScratchError;

/// Prefix of the folders.
pub(crate) const PREFIX: &str = "modbox-";

/// Sort of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderKind {
    /// Only its owner can enter it.
    Private,
    /// Other users can enter it, to reach what belongs to them there.
    Entered,
}

impl FolderKind {
    /// Returns the beginning of the folder's name; the owner's number follows.
    fn prefix(self) -> &'static str {
        match self {
            Self::Private => PREFIX,
            Self::Entered => "modbox-become-",
        }
    }

    fn mode(self) -> u32 {
        match self {
            Self::Private => 0o700,
            Self::Entered => 0o711,
        }
    }
}

/// A folder of this user, open.
#[derive(Debug)]
pub(crate) struct PrivateFolder {
    pub(crate) path: PathBuf,
    pub(crate) dir: OwnedFd,
}

/// Opens the user's folder in `temp_dir`, and makes it if it does not exist.
///
/// # Errors
///
/// Fails if no folder can be made or opened.
pub(crate) fn open_or_make(temp_dir: &Path, kind: FolderKind) -> Result<PrivateFolder, ScratchError> {
    let path = first(temp_dir, kind);
    let opened = match open(&path, kind) {
        Err(ScratchError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            make(&path, kind)?;
            open(&path, kind)
        }
        opened => opened,
    };
    match opened {
        Err(ScratchError::NotPrivate(taken)) => second(temp_dir, &taken, kind),
        opened => opened,
    }
}

/// Finds the user's folder in `temp_dir`, and makes nothing.
pub(crate) fn find(temp_dir: &Path, kind: FolderKind) -> Option<PrivateFolder> {
    match open(&first(temp_dir, kind), kind) {
        Err(ScratchError::NotPrivate(_)) => find_second(temp_dir, kind),
        opened => opened.ok(),
    }
}

/// Opens a folder without following a link, and checks that it belongs to this user and is open to no other, except to be
/// entered where it is for that.
///
/// # Errors
///
/// Fails if the folder is not this user's alone or cannot be opened.
pub(crate) fn open(path: &Path, kind: FolderKind) -> Result<PrivateFolder, ScratchError> {
    let failed = |verb| move |source| ScratchError::Io { verb, path: path.to_owned(), source };
    let not_private = || ScratchError::NotPrivate(path.to_owned());
    let opened =
        rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    let dir = match opened {
        // A link, a file, or the folder of a user who lets no other user in.
        Err(Errno::LOOP | Errno::NOTDIR | Errno::ACCESS) => return Err(not_private()),
        opened => File::from(opened.map_err(|errno| failed("open")(errno.into()))?),
    };
    let metadata = dir.metadata().map_err(failed("look at"))?;
    if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o077 & !kind.mode() != 0 {
        return Err(not_private());
    }
    if metadata.mode() & 0o777 != kind.mode() {
        // The umask removes bits when the folder is made.
        rustix::fs::fchmod(&dir, Mode::from_raw_mode(kind.mode())).map_err(|errno| failed("open up")(errno.into()))?;
    }
    Ok(PrivateFolder { path: path.to_owned(), dir: dir.into() })
}

fn first(temp_dir: &Path, kind: FolderKind) -> PathBuf {
    temp_dir.join(format!("{}{}", kind.prefix(), rustix::process::geteuid().as_raw()))
}

/// Makes a folder, unless something has its name.
fn make(path: &Path, kind: FolderKind) -> Result<(), ScratchError> {
    match DirBuilder::new().mode(kind.mode()).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(ScratchError::Io { verb: "create", path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Opens the second folder, and makes it if it does not exist.
fn second(temp_dir: &Path, taken: &Path, kind: FolderKind) -> Result<PrivateFolder, ScratchError> {
    tracing::warn!(folder = %taken.display(), "the folder is not private to this user; another one takes its place");
    if let Some(found) = find_second(temp_dir, kind) {
        return Ok(found);
    }
    let failed = |source| ScratchError::Io { verb: "choose a name in", path: temp_dir.to_owned(), source };
    let mut random = [0; 16];
    let filled = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    filled.map_err(|errno| failed(errno.into()))?;
    let mut path = first(temp_dir, kind).into_os_string();
    path.push(format!("-{:032x}", u128::from_le_bytes(random)));
    let path = PathBuf::from(path);
    make(&path, kind)?;
    open(&path, kind)
}

/// Finds the second folder. If two processes have made one each at the same time, both return the same one.
fn find_second(temp_dir: &Path, kind: FolderKind) -> Option<PrivateFolder> {
    let prefix = format!("{}{}-", kind.prefix(), rustix::process::geteuid().as_raw());
    let entries = fs::read_dir(temp_dir).ok()?.flatten();
    let named = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()));
    named.filter_map(|entry| open(&entry.path(), kind).ok()).min_by(|one, other| one.path.cmp(&other.path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_name_that_is_taken_is_evaded_and_the_second_folder_is_found_again() {
        let takes: [fn(&Path); 3] = [
            |path| fs::write(path, "").unwrap(),
            |path| symlink("/", path).unwrap(),
            |path| {
                fs::create_dir(path).unwrap();
                fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
            },
        ];
        for (take, kind) in takes.iter().flat_map(|take| [(take, FolderKind::Private), (take, FolderKind::Entered)]) {
            let dir = tempfile::tempdir().unwrap();
            assert!(find(dir.path(), kind).is_none());
            take(&first(dir.path(), kind));
            assert!(find(dir.path(), kind).is_none());
            let second = open_or_make(dir.path(), kind).unwrap();
            assert_ne!(second.path, first(dir.path(), kind));
            assert_eq!(second.path.metadata().unwrap().mode() & 0o777, kind.mode());
            assert_eq!(open_or_make(dir.path(), kind).unwrap().path, second.path);
            assert_eq!(find(dir.path(), kind).unwrap().path, second.path);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        }
    }

    #[test]
    fn a_folder_that_is_open_to_others_is_not_the_second_one() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(first(dir.path(), FolderKind::Private), "").unwrap();
        let mut decoy = first(dir.path(), FolderKind::Private).into_os_string();
        decoy.push("-0");
        let decoy = PathBuf::from(decoy);
        fs::create_dir(&decoy).unwrap();
        fs::set_permissions(&decoy, fs::Permissions::from_mode(0o777)).unwrap();
        assert_ne!(open_or_make(dir.path(), FolderKind::Private).unwrap().path, decoy);
    }

    #[test]
    fn the_first_name_is_used_when_it_is_free() {
        let dir = tempfile::tempdir().unwrap();
        for kind in [FolderKind::Private, FolderKind::Entered] {
            assert_eq!(open_or_make(dir.path(), kind).unwrap().path, first(dir.path(), kind));
            assert_eq!(find(dir.path(), kind).unwrap().path, first(dir.path(), kind));
        }
    }
}
