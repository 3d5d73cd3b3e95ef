//! The private folder of a user in the system's folder for temporary files.
//!
//! Its name is `modbox-UID`. In a folder that all users share, another user may have taken that name first. Then the
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

/// Prefix of the folder; the user's number follows.
pub(crate) const PREFIX: &str = "modbox-";

/// A private folder, open.
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
pub(crate) fn open_or_make(temp_dir: &Path) -> Result<PrivateFolder, ScratchError> {
    let path = first(temp_dir);
    let opened = match open(&path) {
        Err(ScratchError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            make(&path)?;
            open(&path)
        }
        opened => opened,
    };
    match opened {
        Err(ScratchError::NotPrivate(taken)) => second(temp_dir, &taken),
        opened => opened,
    }
}

/// Finds the user's folder in `temp_dir`, and makes nothing.
pub(crate) fn find(temp_dir: &Path) -> Option<PrivateFolder> {
    match open(&first(temp_dir)) {
        Err(ScratchError::NotPrivate(_)) => find_second(temp_dir),
        opened => opened.ok(),
    }
}

/// Opens a folder without following a link, and checks that it is private: it belongs to this user and is open to no
/// other.
///
/// # Errors
///
/// Fails if the folder is not private or cannot be opened.
pub(crate) fn open(path: &Path) -> Result<PrivateFolder, ScratchError> {
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
    if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o077 != 0 {
        return Err(not_private());
    }
    Ok(PrivateFolder { path: path.to_owned(), dir: dir.into() })
}

fn first(temp_dir: &Path) -> PathBuf {
    temp_dir.join(format!("{PREFIX}{}", rustix::process::geteuid().as_raw()))
}

/// Makes a folder, unless something has its name.
fn make(path: &Path) -> Result<(), ScratchError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(ScratchError::Io { verb: "create", path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Opens the second folder, and makes it if it does not exist.
fn second(temp_dir: &Path, taken: &Path) -> Result<PrivateFolder, ScratchError> {
    tracing::warn!(folder = %taken.display(), "the folder is not private to this user; another one takes its place");
    if let Some(found) = find_second(temp_dir) {
        return Ok(found);
    }
    let failed = |source| ScratchError::Io { verb: "choose a name in", path: temp_dir.to_owned(), source };
    let mut random = [0; 16];
    let filled = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    filled.map_err(|errno| failed(errno.into()))?;
    let mut path = first(temp_dir).into_os_string();
    path.push(format!("-{:032x}", u128::from_le_bytes(random)));
    let path = PathBuf::from(path);
    make(&path)?;
    open(&path)
}

/// Finds the second folder. If two processes have made one each at the same time, both return the same one.
fn find_second(temp_dir: &Path) -> Option<PrivateFolder> {
    let prefix = format!("{PREFIX}{}-", rustix::process::geteuid().as_raw());
    let entries = fs::read_dir(temp_dir).ok()?.flatten();
    let named = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()));
    named.filter_map(|entry| open(&entry.path()).ok()).min_by(|one, other| one.path.cmp(&other.path))
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
        for take in takes {
            let dir = tempfile::tempdir().unwrap();
            assert!(find(dir.path()).is_none());
            take(&first(dir.path()));
            assert!(find(dir.path()).is_none());
            let second = open_or_make(dir.path()).unwrap();
            assert_ne!(second.path, first(dir.path()));
            assert_eq!(second.path.metadata().unwrap().mode() & 0o777, 0o700);
            assert_eq!(open_or_make(dir.path()).unwrap().path, second.path);
            assert_eq!(find(dir.path()).unwrap().path, second.path);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        }
    }

    #[test]
    fn a_folder_that_is_open_to_others_is_not_the_second_one() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(first(dir.path()), "").unwrap();
        let mut decoy = first(dir.path()).into_os_string();
        decoy.push("-0");
        let decoy = PathBuf::from(decoy);
        fs::create_dir(&decoy).unwrap();
        fs::set_permissions(&decoy, fs::Permissions::from_mode(0o777)).unwrap();
        assert_ne!(open_or_make(dir.path()).unwrap().path, decoy);
    }

    #[test]
    fn the_first_name_is_used_when_it_is_free() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(open_or_make(dir.path()).unwrap().path, first(dir.path()));
        assert_eq!(find(dir.path()).unwrap().path, first(dir.path()));
    }
}
