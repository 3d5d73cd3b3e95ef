//! Whether this user can write a single file, as far as that is known before a module runs.

use std::io;
use std::path::Path;

use modbox_policy::accounts::Accounts;
use modbox_vocabulary::error_text;
use rustix::fs::{Access, AtFlags, CWD, FileType, Stat, StatxAttributes, StatxFlags};
use rustix::io::Errno;

/// Mode bit of directories in which only owners replace files.
const STICKY: u32 = 0o1000;

/// What helps where this user lacks a right.
const OTHER_USER: &str = "run modbox as a user who can, or grant the file for reading";

/// Returns why a native module cannot have a single file for writing, and what to do, or `None` if nothing is known
/// against it. Then the file can be taken back from the module, unless something changes while the module runs.
#[must_use]
pub fn write_obstacle(file: &Path) -> Option<String> {
    let parent = file.parent()?;
    let stat = match rustix::fs::lstat(file) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => {
            let refused = access(parent, Access::WRITE_OK | Access::EXEC_OK).err()?;
            return Some(format!("{} cannot make it in its directory ({}); {OTHER_USER}", user(), cause(refused)));
        }
        Err(errno) => return Some(format!("{} cannot look at it ({}); {OTHER_USER}", user(), cause(errno))),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => return Some("it is a symbolic link; grant the file to which it leads".to_owned()),
        FileType::RegularFile => {}
        _ => {
            let refused = refused_to_write(file)?;
            return Some(format!("{} cannot write it ({}); {OTHER_USER}", user(), cause(refused)));
        }
    }
    if let Err(errno) = access(file, Access::READ_OK) {
        return Some(format!("{} cannot read it ({}); {OTHER_USER}", user(), cause(errno)));
    }
    let flags = rustix::fs::statx(CWD, file, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
    let fixed = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
    if flags.is_ok_and(|found| found.stx_attributes.intersects(fixed)) {
        return Some(
            "its flags forbid changes; remove them with `chattr -ai`, or grant the file for reading".to_owned(),
        );
    }
    let writing = refused_to_write(file)?;
    let replacing = refused_to_replace(parent, &stat)?;
    let (user, writing) = (user(), cause(writing));
    Some(format!("{user} can neither write it ({writing}) nor replace it in its directory ({replacing}); {OTHER_USER}"))
}

fn refused_to_write(file: &Path) -> Option<Errno> {
    access(file, Access::WRITE_OK).err()
}

fn refused_to_replace(parent: &Path, file: &Stat) -> Option<String> {
    if let Err(errno) = access(parent, Access::WRITE_OK | Access::EXEC_OK) {
        return Some(cause(errno));
    }
    let user = rustix::process::geteuid();
    let is_owner = user.is_root() || file.st_uid == user.as_raw();
    let is_member = || {
        let groups = rustix::process::getgroups().unwrap_or_default();
        user.is_root() || groups.iter().chain([&rustix::process::getegid()]).any(|group| group.as_raw() == file.st_gid)
    };
    let is_sticky =
        || rustix::fs::stat(parent).is_ok_and(|stat| stat.st_mode & STICKY != 0 && stat.st_uid != user.as_raw());
    match (is_owner, is_owner && is_member()) {
        (false, _) if is_sticky() => Some("only its owner may".to_owned()),
        (_, false) => Some("it would lose its owner".to_owned()),
        (_, true) => None,
    }
}

fn access(path: &Path, access: Access) -> rustix::io::Result<()> {
    rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS)
}

/// Describes an error without its number.
fn cause(errno: Errno) -> String {
    error_text(&io::Error::from(errno))
}

/// Returns the user whose rights count, by name if that is another one than the user who runs modbox.
pub(crate) fn user() -> String {
    let (real, acting) = (rustix::process::getuid(), rustix::process::geteuid());
    if real == acting {
        return "this user".to_owned();
    }
    let accounts = Accounts::host();
    accounts
        .users()
        .name(acting.as_raw())
        .map_or_else(|| format!("the user {acting}"), |name| format!("the user `{name}`"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn own_files_and_new_names_can_be_written() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        for name in ["file", "new"] {
            assert_eq!(write_obstacle(&dir.path().join(name)), None, "{name}");
        }
        assert_eq!(write_obstacle(Path::new("/dev/null")), None);
    }

    #[test]
    fn links_and_names_in_missing_directories_cannot() {
        let dir = tempfile::tempdir().unwrap();
        symlink("file", dir.path().join("link")).unwrap();
        for (name, reason) in [("link", "symbolic link"), ("missing/file", "cannot make it")] {
            let told = write_obstacle(&dir.path().join(name)).unwrap();
            assert!(told.contains(reason), "{told}");
        }
    }
}
