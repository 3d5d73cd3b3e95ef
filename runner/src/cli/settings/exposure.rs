//! Tells whether another user can change a policy file: by its owner, its mode, or the directory that it is in.
//!
//! Root can change every file, so files of root count as the user's own. Access lists need no look of their own: the
//! group bits of a mode include what an access list grants to other users.

use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Mode bit of a directory in which users can remove and rename only their own files.
const STICKY: u32 = 0o1000;

/// Mode bits that let the group or all users write.
const OTHERS_WRITE: u32 = 0o022;

/// A way in which another user can change a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Exposure {
    /// The file or its directory belongs to another user.
    Owner(PathBuf, u32),
    /// The mode of the file or its directory lets other users write it.
    Mode(PathBuf, u32),
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(path, owner) => {
                let shown = path.display();
                write!(f, "`{shown}` belongs to user {owner}; make root or yourself its owner")
            }
            Self::Mode(path, mode) => {
                let shown = path.display();
                write!(f, "other users can write `{shown}` (mode {mode:04o}); run `chmod go-w` on it")
            }
        }
    }
}

/// Returns how another user can change the open file at `path`, if one can.
pub(crate) fn find(path: &Path, metadata: &Metadata) -> Option<Exposure> {
    // Behind a link, both the link's directory and the file's own count.
    let directories = [Some(path.to_owned()), path.canonicalize().ok()].into_iter().flatten();
    of_node(path, metadata).or_else(|| directories.into_iter().find_map(|path| of_directory(path.parent()?)))
}

fn of_directory(directory: &Path) -> Option<Exposure> {
    // An empty path is the working directory.
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let metadata = fs::metadata(directory).ok()?;
    if metadata.mode() & STICKY != 0 && is_trusted(metadata.uid()) { None } else { of_node(directory, &metadata) }
}

fn of_node(path: &Path, metadata: &Metadata) -> Option<Exposure> {
    if !is_trusted(metadata.uid()) {
        return Some(Exposure::Owner(path.to_owned(), metadata.uid()));
    }
    let mode = metadata.mode() & 0o7777;
    (mode & OTHERS_WRITE != 0).then(|| Exposure::Mode(path.to_owned(), mode))
}

fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn found(path: &Path) -> Option<Exposure> {
        find(path, &path.metadata().unwrap())
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Makes a directory with a file that only this user can change.
    fn private() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("policy.yaml");
        fs::write(&path, "").unwrap();
        set_mode(&path, 0o644);
        (dir, path)
    }

    #[test]
    fn a_file_that_others_can_write_is_found() {
        let (_dir, path) = private();
        for (mode, expect) in [(0o600, false), (0o644, false), (0o664, true), (0o646, true)] {
            set_mode(&path, mode);
            assert_eq!(found(&path), expect.then(|| Exposure::Mode(path.clone(), mode)), "{mode:o}");
        }
    }

    #[test]
    fn a_file_that_others_can_replace_is_found() {
        let (dir, path) = private();
        for (mode, expect) in [(0o755, false), (0o775, true), (0o777, true), (0o1777, false)] {
            set_mode(dir.path(), mode);
            let exposed = expect.then(|| Exposure::Mode(dir.path().to_owned(), mode));
            assert_eq!(found(&path), exposed, "{mode:o}");
        }
    }

    #[test]
    fn behind_a_link_both_directories_count() {
        let (dir, path) = private();
        let (other, _) = private();
        let link = other.path().join("link");
        symlink(&path, &link).unwrap();
        assert_eq!(found(&link), None);
        set_mode(dir.path(), 0o777);
        assert_eq!(found(&link), Some(Exposure::Mode(dir.path().canonicalize().unwrap(), 0o777)));
        set_mode(dir.path(), 0o700);
        set_mode(other.path(), 0o777);
        assert_eq!(found(&link), Some(Exposure::Mode(other.path().to_owned(), 0o777)));
    }
}
