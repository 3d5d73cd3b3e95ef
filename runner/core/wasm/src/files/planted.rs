//! Links and files that another user can have planted in a folder that all may write, such as `/tmp`.
//!
//! The kernel does not follow such links at the end of a path where `fs.protected_symlinks` is set (Linux, `may_follow_link`), as on
//! nearly all machines. The guard follows links itself, and holds the rule on each machine. The kernel does not open such files with
//! `O_CREAT` where `fs.protected_regular` is set (Linux, `may_create_in_sticky`). The guard opens what is granted for reading without
//! `O_CREAT`, and holds that rule where the kernel does.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::BorrowedFd;

use rustix::fs::{Mode, Stat};
use rustix::io::Errno;

/// Asks whether a link at the end of a path is followed: in a sticky folder that all may write, only if it belongs to the process's
/// user or to the folder's.
///
/// # Errors
///
/// [`Errno::ACCESS`] for a link of another user, and errors of looking at the folder.
pub(crate) fn may_follow(folder: BorrowedFd<'_>, link: &Stat) -> Result<(), Errno> {
    if link.st_uid == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let folder = rustix::fs::fstat(folder)?;
    let shared = Mode::SVTX | Mode::WOTH;
    let is_shared = Mode::from_raw_mode(folder.st_mode).contains(shared);
    if is_shared && folder.st_uid != link.st_uid { Err(Errno::ACCESS) } else { Ok(()) }
}

/// Asks whether a file that is there is opened by a call that would have made it. `folder` returns the status of its folder.
///
/// # Errors
///
/// The refusal of [`Errno::ACCESS`] for a file of another user, and errors of looking at the folder.
pub(crate) fn may_open_existing<E: From<Errno>>(
    file: &Stat,
    folder: impl FnOnce() -> Result<Stat, E>,
) -> Result<(), E> {
    if file.st_uid == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let folder = folder()?;
    let mode = Mode::from_raw_mode(folder.st_mode);
    if !mode.contains(Mode::SVTX) || folder.st_uid == file.st_uid {
        return Ok(());
    }
    let writers = match protected_regular() {
        b'0' => return Ok(()),
        b'1' => Mode::WOTH,
        _ => Mode::WOTH | Mode::WGRP,
    };
    if mode.intersects(writers) { Err(Errno::ACCESS.into()) } else { Ok(()) }
}

/// Returns the first digit of `fs.protected_regular`: the strictest one where it cannot be read.
fn protected_regular() -> u8 {
    let mut level = [0];
    let read = File::open("/proc/sys/fs/protected_regular").and_then(|mut file| file.read_exact(&mut level));
    if read.is_ok() { level[0] } else { b'2' }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, statat};

    use super::*;

    #[test]
    fn a_link_of_another_user_is_followed_only_where_few_may_write() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        symlink("target", &link).unwrap();
        let mut stat = statat(CWD, &link, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        let folder = fs::File::open(dir.path()).unwrap();
        let asked = |mode: u32, stat: &Stat| {
            fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
            may_follow(folder.as_fd(), stat)
        };
        assert_eq!(asked(0o1777, &stat), Ok(()), "its own");
        stat.st_uid += 4321;
        for (mode, expect) in [
            (0o1777, Err(Errno::ACCESS)),
            (0o1313, Err(Errno::ACCESS)),
            (0o777, Ok(())),
            (0o1775, Ok(())),
            (0o755, Ok(())),
        ] {
            assert_eq!(asked(mode, &stat), expect, "{mode:o}");
        }
    }

    #[test]
    fn a_file_of_another_user_is_opened_as_the_kernel_does() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "").unwrap();
        let stat = |path: &Path| statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        let (own, folder) = (stat(&path), stat(dir.path()));
        let asked = |mode: u32, uid: u32| {
            let (mut file, mut folder) = (own, folder);
            file.st_uid = uid;
            folder.st_mode = folder.st_mode & !0o7777 | mode;
            may_open_existing(&file, || Ok::<_, Errno>(folder)).is_ok()
        };
        let level = protected_regular();
        let other = own.st_uid + 4321;
        assert!(asked(0o1777, own.st_uid) && asked(0o777, other) && asked(0o755, other) && asked(0o1755, other));
        assert_eq!(asked(0o1777, other), level == b'0');
        assert_eq!(asked(0o1770, other), level < b'2');
        if rustix::process::geteuid().is_root() {
            // The kernel itself, in a folder of a third user.
            std::os::unix::fs::chown(&path, Some(other), None).unwrap();
            std::os::unix::fs::chown(dir.path(), Some(other + 1), None).unwrap();
            for mode in [0o1777, 0o1770, 0o1755, 0o777] {
                fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
                let opened = fs::File::options().append(true).create(true).open(&path);
                assert_eq!(opened.is_ok(), asked(mode, other), "{mode:o}");
            }
        }
    }
}
