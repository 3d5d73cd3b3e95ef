//! Links that another user can have planted in a folder that all may write, such as `/tmp`.
//!
//! The kernel does not follow them at the end of a path where `fs.protected_symlinks` is set (Linux, `may_follow_link`), as on
//! nearly all machines. The guard follows links itself, and holds the rule on each machine.

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

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{PermissionsExt, symlink};

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
}
