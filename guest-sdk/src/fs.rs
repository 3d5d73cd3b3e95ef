//! File functions that `std::fs` lacks: reads with a limit, and writes that are complete or have no effect.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use modbox_python_json::Value;

pub use crate::backup::backup;
use crate::bounded_read::read as read_file;
pub use crate::file_error::{words, write_cause};
use crate::module::Module;
pub use crate::output_file::OutputFile;
use crate::platform;
use crate::replacement::{privately, replace};
pub use crate::whole_read::{read, read_json, read_text};

/// How many names are tried for a temporary file.
const NAME_ATTEMPTS: u32 = 16;

/// The longest name of a file in bytes (Linux, `NAME_MAX`).
const MAX_NAME: usize = 255;

/// The random part of the name of a temporary file, in hexadecimal digits.
const RANDOM_DIGITS: usize = 16;

/// The most links on the way to a file, as in the kernel.
const MAX_LINKS: usize = 40;

/// The most bytes of a file's old contents that are kept while it is written in place.
pub(crate) const MAX_PUT_BACK: u64 = 64 << 20;

/// Returns whether a path exists. Links are followed. An empty path is nothing, as on Linux; a component's C library takes
/// it for the current directory.
#[must_use]
pub fn exists(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    !path.as_os_str().is_empty() && path.exists()
}

/// Returns whether a path is a directory. Links are followed. An empty path is nothing, as in [`exists`].
#[must_use]
pub fn is_dir(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    !path.as_os_str().is_empty() && path.is_dir()
}

/// Writes a file if its contents differ, and returns whether they differed. In check mode, nothing is written. Links
/// and folders are not created.
///
/// # Errors
///
/// The file system refused; the error names the path.
pub fn update(module: &Module, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<bool> {
    let (path, contents) = (path.as_ref(), contents.as_ref());
    let about = |error: io::Error| {
        io::Error::new(error.kind(), format!("failed to write `{}`: {}", path.display(), words(&error)))
    };
    let limit = u64::try_from(contents.len()).unwrap_or(u64::MAX);
    let differs = match read_file(path, limit) {
        Ok(old) => old != contents,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::FileTooLarge) => true,
        Err(error) => return Err(about(error)),
    };
    if differs && !module.check_mode() {
        write_atomic(path, contents).map_err(about)?;
    }
    Ok(differs)
}

/// Writes a file so that readers see the old contents or the new ones, but no mixture: it writes a temporary file in
/// the same folder and renames it. Mode and, where allowed, owner stay.
///
/// A component with the feature `host-files` keeps the access list and the attributes of users, too; what it cannot keep is
/// a warning of the result. One without it writes every existing file in place: a new file would have the host's default
/// mode, and others could read what was private. A build for a Unix host writes in place where it may write the file and not
/// the folder. If that fails half-way, the old contents are restored.
///
/// # Errors
///
/// The file system refused. The temporary file is removed.
pub fn write_atomic(path: &Path, contents: &[u8]) -> io::Result<()> {
    let there = fs::symlink_metadata(path).is_ok();
    if cfg!(not(unix)) && there && !platform::REPLACES {
        return write_in_place(path, contents);
    }
    let create = || create_beside(path, ".modbox_tmp");
    let created = if there { privately(create) } else { create() };
    let (temporary, mut file) = match created {
        Ok(created) => created,
        Err(error) if !platform::REPLACES && may_not_create(&error) => return write_in_place(path, contents),
        Err(error) => return Err(error),
    };
    let written = file
        .write_all(contents)
        .and_then(|()| file.sync_all())
        .map_err(|error| write_cause(&temporary, error))
        .and_then(|()| keep_attributes(path, &temporary))
        .and_then(|()| replace(&temporary, path));
    if written.is_err() {
        // The first error is more useful than that of the clean-up.
        let _ = fs::remove_file(&temporary);
    }
    match written {
        // Creating the temporary file was allowed, and renaming it was not.
        Err(error) if !platform::REPLACES && may_not_create(&error) => write_in_place(path, contents),
        other => other,
    }
}

/// Follows symbolic links until the target exists. Unlike `canonicalize`, it needs no access to the parent folders.
///
/// # Errors
///
/// The file system refused, or links form a circle ([`io::ErrorKind::InvalidInput`]).
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

/// Returns an absolute path without links, `.` and `..`, as Python's `os.path.realpath` does: missing parts stay as
/// they are. A sandbox follows no absolute link; this function does, if the sandbox contains the target.
///
/// # Errors
///
/// The file system refused, or links form a circle ([`io::ErrorKind::InvalidInput`]).
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

/// Returns the folder that a path is in: `.` for a bare name.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// Returns a path without `.` and `..`, which are taken away by their letters: links are not looked at, as in Python's
/// `os.path.abspath`. A relative path stays relative.
#[must_use]
pub fn by_letters(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Finds out whether a path can be removed, before something is done that must not be half done. In a build for a Unix host,
/// nothing is known before it is tried.
///
/// # Errors
///
/// Neither the folder of the path may be changed, nor, for anything but a folder, the path itself.
pub fn check_removal(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    let folder = folder_of(path);
    match platform::may_change_folder(folder) {
        Err(_) if !is_dir(path) => platform::may_write(path),
        may => may,
    }
}

/// Finds out whether a file that is there can be written, before it is replaced by one that is made beside it: a module that
/// writes files in place, as Ansible's do, could not change it. A path without a file passes.
///
/// # Errors
///
/// The user of the run may not write the file, or grants do not allow it.
pub fn check_write(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    if exists(path) { platform::may_write(path) } else { Ok(()) }
}

/// Finds out whether the user of the run may make and replace entries in the folder of a path, for check mode. Where only the path is
/// granted, and not its folder, the host answers for the files that would be made beside it. In a build for a Unix host, nothing
/// is known before it is tried.
///
/// # Errors
///
/// The permissions of the folder do not allow it.
pub fn check_replacement(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    let folder = folder_of(path);
    let Err(error) = platform::may_change_folder(folder) else { return Ok(()) };
    let Ok(found) = platform::stat(folder, true) else { return Err(error) };
    // A folder that only the sandbox has.
    let is_of_host = (found.inode, found.device) != (0, 0);
    if !is_of_host {
        return platform::may_make_beside(path);
    }
    // The host may also have refused for want of a grant of the folder, which a grant of the path does not need, so that the
    // mode decides.
    if platform::user_number().is_some_and(|user| forbids_writing(found.mode, user, found.uid)) {
        return Err(error);
    }
    Ok(())
}

/// Returns whether a mode lets a user write in no way: neither as the owner nor by any group or access list, whose mask are the
/// bits of the group (acl(5)). The super-user may always write.
fn forbids_writing(mode: u32, user: u32, owner: u32) -> bool {
    const OF_OWNER: u32 = 0o200;
    const OF_OTHERS: u32 = 0o022;
    user != 0 && mode & if user == owner { OF_OWNER } else { OF_OTHERS } == 0
}

/// Returns a path as a value of a result: as ansible-core, with a lone surrogate for each byte that is not UTF-8.
#[must_use]
pub fn path_value(path: impl AsRef<Path>) -> Value {
    Value::from_os_bytes(&host_bytes(path.as_ref()))
}

/// Returns the bytes of a path on the host.
#[must_use]
pub fn host_bytes<P: AsRef<Path> + ?Sized>(path: &P) -> Cow<'_, [u8]> {
    platform::host_bytes(path.as_ref().as_os_str())
}

/// Creates a folder and the missing ones above it, as Python's `os.makedirs` does: it is an error if there is one in the end,
/// as behind `gone/..`, whose first name was missing.
///
/// # Errors
///
/// The file system refused, or the path exists. Folders above it stay.
pub fn create_folders(path: &Path) -> io::Result<()> {
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty() && !exists(above)) {
        match create_folders(above) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
    }
    fs::create_dir(path)
}

/// Creates a symbolic link. In a sandbox, the target of an absolute link must be granted.
///
/// # Errors
///
/// The file system refused.
#[expect(deprecated, reason = "for WASI the standard library has no other stable one; on Unix it is the same")]
pub fn symlink(says: &Path, link: &Path) -> io::Result<()> {
    fs::soft_link(says, link)
}

/// Returns the names in a path in reverse order.
fn parts(path: &Path) -> Vec<OsString> {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.map(|part| part.as_os_str().to_owned()).rev().collect()
}

/// Returns the target of a link, or `None` if the path is not a link or does not exist.
fn read_link(path: &Path) -> io::Result<Option<PathBuf>> {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Ok(None);
    }
    if cfg!(unix) || !platform::AVAILABLE {
        return fs::read_link(path).map(Some);
    }
    // WASI does not read links to absolute paths.
    let target = platform::stat(path, false)?.target;
    Ok(target.and_then(|bytes| platform::path_text(&bytes)).map(PathBuf::from))
}

fn circle() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "too many levels of symbolic links")
}

/// Creates a file with an unused name in a folder, and returns path and file.
///
/// # Errors
///
/// The file system refused.
pub fn temporary(folder: &Path) -> io::Result<(PathBuf, OutputFile)> {
    let (path, file) = create_beside(&folder.join("file"), "tmp")?;
    Ok((path.clone(), OutputFile::new(file, path)))
}

fn may_not_create(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy, Unsupported};
    matches!(error.kind(), PermissionDenied | CrossesDevices | ReadOnlyFilesystem | ResourceBusy | Unsupported)
}

/// Creates a file in the folder of another one.
pub(crate) fn create_beside(path: &Path, prefix: &str) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    // The whole name has to be as short as any.
    let end = name.floor_char_boundary(MAX_NAME.saturating_sub(prefix.len() + RANDOM_DIGITS));
    for attempt in 0..NAME_ATTEMPTS {
        let random = RandomState::new().hash_one(attempt);
        let temporary = format!("{prefix}{random:0RANDOM_DIGITS$x}{}", &name[..end]);
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
    // A file that cannot be read, or is too large, is not restored.
    let before = read(path, MAX_PUT_BACK).ok();
    let written = overwrite(path, contents);
    if let (Err(_), Some(before)) = (&written, before) {
        // The space of the file is still allocated. The first error is more useful than one of this call.
        let _ = overwrite(path, &before);
    }
    written
}

pub(crate) fn overwrite(path: &Path, contents: &[u8]) -> io::Result<()> {
    // The file is truncated last: on a full disk, its old blocks can then still be used.
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.write_all(contents).map_err(|error| write_cause(path, error))?;
    file.set_len(u64::try_from(contents.len()).unwrap_or(u64::MAX))?;
    file.sync_all()
}

#[cfg(unix)]
fn keep_attributes(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, chown};
    let Ok(metadata) = fs::metadata(from) else { return Ok(()) };
    // Only root may change the owner; for other users, the mode is enough.
    let _ = chown(to, Some(metadata.uid()), Some(metadata.gid()));
    fs::set_permissions(to, metadata.permissions())
}

#[cfg(not(unix))]
fn keep_attributes(_from: &Path, _to: &Path) -> io::Result<()> {
    Ok(()) // WASI has no modes and owners; the host sets those of new files.
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
    fn modes_forbid_writing() {
        for (mode, user, owner, forbids) in [
            (0o555, 7, 7, true),
            (0o577, 7, 7, true),
            (0o755, 7, 7, false),
            (0o755, 7, 8, true),
            (0o775, 7, 8, false),
            (0o757, 7, 8, false),
            (0o555, 0, 8, false),
        ] {
            assert_eq!(forbids_writing(mode, user, owner), forbids, "{mode:o} {user} {owner}");
        }
    }

    #[test]
    fn replaces_whole_files() {
        let folder = folder("replace");
        let path = folder.join("file");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(read(&path, 3).unwrap(), b"two");
        let error = read(&path, 2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        let shown = path.display();
        assert_eq!(error.to_string(), format!("failed to read `{shown}`: longer than 2 bytes"));
        // A text will do, as for `update`.
        let text = path.to_str().unwrap().to_owned();
        assert_eq!(read(text, 3).unwrap(), b"two");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        let longest = folder.join("é".repeat(127));
        write_atomic(&longest, b"three").unwrap();
        assert_eq!(read(&longest, 5).unwrap(), b"three");
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
