//! What modules need of files beyond `std::fs`: bounded reads, and writes that are whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

pub use crate::backup::backup;
pub use crate::bounded_read::read;
use crate::module::Module;
use crate::platform;

/// How often a name for a temporary file may turn out to be taken.
const NAME_ATTEMPTS: u32 = 16;

/// How many links lead to a file at most, as the kernel has it.
const MAX_LINKS: usize = 40;

/// How much of a file is held while it is written in place.
pub(crate) const MAX_PUT_BACK: u64 = 64 << 20;

/// Makes sure that a file holds contents, and returns whether it did not: it is written when that is so, and not in check
/// mode. Neither links nor folders are made.
///
/// # Errors
///
/// What the file system says, with the path.
pub fn update(module: &Module, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<bool> {
    let (path, contents) = (path.as_ref(), contents.as_ref());
    let about =
        |error: io::Error| io::Error::new(error.kind(), format!("failed to write `{}`: {error}", path.display()));
    let limit = u64::try_from(contents.len()).unwrap_or(u64::MAX);
    let differs = match read(path, limit) {
        Ok(old) => old != contents,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::FileTooLarge) => true,
        Err(error) => return Err(about(error)),
    };
    if differs && !module.check_mode() {
        write_atomic(path, contents).map_err(about)?;
    }
    Ok(differs)
}

/// Writes a file so that others see the old contents or the new ones, never half of them: into a
/// temporary file beside it, which then takes its name. Mode and, where allowed, owner stay.
///
/// A sandbox may grant the file but nothing beside it. Then it is written in place. So is every file that exists
/// where modes cannot be set, which is everywhere on WASI 0.2: a new file in its place would have the host's
/// default mode, and what only its owner could read, everybody could. What it held is put back when
/// writing fails half-way.
///
/// # Errors
///
/// What the file system says. The temporary file is gone then.
pub fn write_atomic(path: &Path, contents: &[u8]) -> io::Result<()> {
    if cfg!(not(unix)) && fs::metadata(path).is_ok() {
        return write_in_place(path, contents);
    }
    let (temporary, mut file) = match create_beside(path, ".modbox_tmp") {
        Ok(created) => created,
        Err(error) if may_not_create(&error) => return write_in_place(path, contents),
        Err(error) => return Err(error),
    };
    let written = file
        .write_all(contents)
        .and_then(|()| file.sync_all())
        .and_then(|()| keep_attributes(path, &temporary))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error tells more than a failed clean-up.
        let _ = fs::remove_file(&temporary);
    }
    match written {
        // The new name was allowed, but taking the old one's place was not.
        Err(error) if may_not_create(&error) => write_in_place(path, contents),
        other => other,
    }
}

/// Follows symbolic links, as far as they lead to something: `canonicalize` needs more of the file system
/// than a sandbox has to show.
///
/// # Errors
///
/// What the file system says, and [`io::ErrorKind::InvalidInput`] for links that lead in circles.
pub fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match read_link(&path)? {
            Some(target) => path = path.parent().unwrap_or_else(|| Path::new("")).join(target),
            None => return Ok(path),
        }
    }
    Err(circle())
}

/// Returns an absolute path without links, `.` and `..`, as Python's `os.path.realpath` does: what is not there stays as it
/// is. A sandbox follows no absolute link; this does, as far as the sandbox has what it leads to.
///
/// # Errors
///
/// What the file system says, and [`io::ErrorKind::InvalidInput`] for links that lead in circles.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    let start = if path.is_absolute() { PathBuf::new() } else { std::env::current_dir()? };
    let mut left: Vec<OsString> = parts(&start.join(path));
    let (mut real, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = left.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        let here = real.join(&part);
        match read_link(&here)? {
            Some(_) if links == MAX_LINKS => return Err(circle()),
            Some(target) => {
                links += 1;
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                left.extend(parts(&target));
            }
            None => real = here,
        }
    }
    Ok(real)
}

/// Makes a symbolic link. In a sandbox one to an absolute path needs a grant of that path.
///
/// # Errors
///
/// What the file system says.
#[expect(deprecated, reason = "for WASI the standard library has no other stable one; on Unix it is the same")]
pub fn symlink(says: &Path, link: &Path) -> io::Result<()> {
    fs::soft_link(says, link)
}

/// The names in a path, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.map(|part| part.as_os_str().to_owned()).rev().collect()
}

/// Returns what a link says; nothing for what is no link, or is not there.
fn read_link(path: &Path) -> io::Result<Option<PathBuf>> {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Ok(None);
    }
    if !platform::AVAILABLE {
        return fs::read_link(path).map(Some);
    }
    // WASI does not read links to absolute paths.
    let target = platform::stat(path, false)?.target;
    Ok(target.map(|bytes| PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())))
}

fn circle() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "too many levels of symbolic links")
}

/// Makes a new file in a folder, under a name that nobody has, and returns both.
///
/// # Errors
///
/// What the file system says.
pub fn temporary(folder: &Path) -> io::Result<(PathBuf, File)> {
    create_beside(&folder.join("file"), "tmp")
}

fn may_not_create(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy, Unsupported};
    matches!(error.kind(), PermissionDenied | CrossesDevices | ReadOnlyFilesystem | ResourceBusy | Unsupported)
}

/// Makes a new file beside another one.
pub(crate) fn create_beside(path: &Path, prefix: &str) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    for attempt in 0..NAME_ATTEMPTS {
        let mut temporary = OsString::from(format!("{prefix}{:016x}", RandomState::new().hash_one(attempt)));
        temporary.push(name);
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn write_in_place(path: &Path, contents: &[u8]) -> io::Result<()> {
    // A file that cannot be read, or is too large to hold, is not put back.
    let before = read(path, MAX_PUT_BACK).ok();
    let written = overwrite(path, contents);
    if let (Err(_), Some(before)) = (&written, before) {
        // The space that it took is still its own. The first error tells more than this one could.
        let _ = overwrite(path, &before);
    }
    written
}

pub(crate) fn overwrite(path: &Path, contents: &[u8]) -> io::Result<()> {
    // Cut to length only afterwards: a full disk then still has the blocks of what was there.
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.write_all(contents)?;
    file.set_len(u64::try_from(contents.len()).unwrap_or(u64::MAX))?;
    file.sync_all()
}

#[cfg(unix)]
fn keep_attributes(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, chown};
    let Ok(metadata) = fs::metadata(from) else { return Ok(()) };
    // Only root may give files away; others keep the mode.
    let _ = chown(to, Some(metadata.uid()), Some(metadata.gid()));
    fs::set_permissions(to, metadata.permissions())
}

#[cfg(not(unix))]
fn keep_attributes(_from: &Path, _to: &Path) -> io::Result<()> {
    Ok(()) // WASI has neither modes nor owners; the host gives new files its own.
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("modbox-sdk-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn replaces_whole_files() {
        let folder = folder("replace");
        let path = folder.join("file");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(read(&path, 3).unwrap(), b"two");
        assert_eq!(read(&path, 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn keeps_the_mode_and_follows_links() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = folder("mode");
        let path = folder.join("file");
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write_atomic(&path, b"y").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
        symlink("file", folder.join("link")).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        assert_eq!(follow_links(&folder.join("link")).unwrap(), path);
        assert!(follow_links(&folder.join("loop")).is_err());
        let real = folder.canonicalize().unwrap();
        symlink(&real, folder.join("whole")).unwrap();
        assert_eq!(real_path(&folder.join("whole/./gone/../link")).unwrap(), real.join("file"));
        assert_eq!(real_path(&folder.join("whole/gone/x")).unwrap(), real.join("gone/x"));
        assert!(real_path(&folder.join("loop/x")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
