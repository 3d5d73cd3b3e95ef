//! Resolves a named path on the machine, name by name as the kernel does, and keeps what is met on the way: links, and where
//! the way ends if it does not reach the path.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use modbox_policy::Shape;
use modbox_vocabulary::names_from_last;
use rustix::io::Errno;

/// The most links on the way to a file (Linux, `MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// The way to a path.
#[derive(Debug)]
pub struct Way {
    /// Each link that was followed, by its path without links.
    pub links: Vec<PathBuf>,
    /// Each directory that was left by `..`, without links.
    pub passed: Vec<PathBuf>,
    /// What the path leads to.
    pub end: End,
}

/// The end of a way.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The path without links. The last name need not exist.
    At(PathBuf, Shape),
    /// The kernel refuses the path.
    Failed {
        /// The path without links, up to the name that fails.
        at: PathBuf,
        /// The kernel's error.
        errno: Errno,
    },
}

/// Resolves an absolute path. `follow`: a link at its end is followed; one with a `/` behind it always is.
pub fn resolve(path: &Path, follow: bool) -> Way {
    let mut way = Way { links: Vec::new(), passed: Vec::new(), end: End::At(PathBuf::from("/"), Shape::Directory) };
    way.end = walk(path, follow, &mut way).unwrap_or_else(|(at, errno)| End::Failed { at, errno });
    way
}

fn walk(path: &Path, follow: bool, way: &mut Way) -> Result<End, (PathBuf, Errno)> {
    let mut slash = ends_as_directory(path);
    let mut real = PathBuf::from("/");
    let mut rest = names_from_last(path);
    while let Some(name) = rest.pop() {
        if name == ".." {
            // The kernel looks for `..` in the directory, which needs the right to search it.
            let above = real.join("..").symlink_metadata();
            above.map_err(|error| (real.clone(), Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
            way.passed.push(real.clone());
            real.pop();
            continue;
        }
        let next = real.join(&name);
        let is_last = rest.is_empty();
        let found = match next.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && is_last => {
                return Ok(End::At(next, Shape::Name));
            }
            Err(error) => return Err((next, Errno::from_io_error(&error).unwrap_or(Errno::IO))),
        };
        if found.is_symlink() && (!is_last || follow || slash) {
            if way.links.len() == MAX_LINKS {
                return Err((next, Errno::LOOP));
            }
            let target = next.read_link().map_err(|error| {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                (next.clone(), errno)
            })?;
            way.links.push(next);
            slash |= is_last && ends_as_directory(&target);
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            rest.extend(names_from_last(&target));
        } else if found.is_dir() {
            real = next;
        } else if is_last && !slash {
            return Ok(End::At(next, Shape::Name));
        } else {
            return Err((next, Errno::NOTDIR));
        }
    }
    Ok(End::At(real, Shape::Directory))
}

fn ends_as_directory(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

/// Returns whether a link can be followed for writing: no user can have made it but root and the one whose run it is. Another
/// user who can write a directory could have put it there, to have a file changed that this user may not change.
pub(crate) fn is_trusted(link: &Path) -> bool {
    let run = rustix::process::geteuid().as_raw();
    let is_own = |uid: u32| uid == 0 || uid == run;
    let (Ok(found), Some(Ok(directory))) = (link.symlink_metadata(), link.parent().map(Path::symlink_metadata)) else {
        return false;
    };
    /// The sticky bit: only the owner can replace an entry.
    const STICKY: u32 = 0o1000;
    const OTHERS_WRITE: u32 = 0o022;
    let is_shared = directory.mode() & OTHERS_WRITE != 0 && directory.mode() & STICKY == 0;
    is_own(found.uid()) && is_own(directory.uid()) && !is_shared
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn case() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        fs::create_dir_all(real.join("d/in")).unwrap();
        fs::write(real.join("d/file"), "").unwrap();
        for (link, target) in [("l", "d/file"), ("ld", "d"), ("round", "round"), ("gone", "d/new")] {
            symlink(target, real.join(link)).unwrap();
        }
        (dir, real)
    }

    #[test]
    fn a_way_ends_where_the_kernel_does() {
        let (_dir, real) = case();
        let at = |path: &str, shape| End::At(real.join(path), shape);
        let failed = |path: &str, errno| End::Failed { at: real.join(path), errno };
        for (path, follow, links, end) in [
            ("d", true, vec![], at("d", Shape::Directory)),
            ("d/file", true, vec![], at("d/file", Shape::Name)),
            ("d/file/", true, vec![], failed("d/file", Errno::NOTDIR)),
            ("d/file/below", true, vec![], failed("d/file", Errno::NOTDIR)),
            ("d/new", true, vec![], at("d/new", Shape::Name)),
            ("typo/..", true, vec![], failed("typo", Errno::NOENT)),
            ("typo/../d", false, vec![], failed("typo", Errno::NOENT)),
            ("l", false, vec![], at("l", Shape::Name)),
            ("l", true, vec!["l"], at("d/file", Shape::Name)),
            ("ld/../l", true, vec!["ld", "l"], at("d/file", Shape::Name)),
            ("ld/", false, vec!["ld"], at("d", Shape::Directory)),
            ("ld/in/..", false, vec!["ld"], at("d", Shape::Directory)),
            ("round", false, vec![], at("round", Shape::Name)),
            ("gone", true, vec!["gone"], at("d/new", Shape::Name)),
        ] {
            let way = resolve(&real.join(path), follow);
            let expect: Vec<PathBuf> = links.into_iter().map(|link| real.join(link)).collect();
            assert_eq!((way.links, way.end), (expect, end), "{path}");
        }
        assert_eq!(resolve(&real.join("round"), true).end, failed("round", Errno::LOOP));
    }

    #[test]
    fn a_link_in_a_directory_of_others_is_not_trusted() {
        let (_dir, real) = case();
        assert!(is_trusted(&real.join("l")));
        fs::set_permissions(&real, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!is_trusted(&real.join("l")));
        fs::set_permissions(&real, fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(is_trusted(&real.join("l")), "only its owner can replace it");
        assert!(!is_trusted(&real.join("missing")));
    }
}
