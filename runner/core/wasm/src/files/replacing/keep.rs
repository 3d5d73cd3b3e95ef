//! What a file keeps that takes the place of another one: owner, permissions, access list, and extended attributes of users.
//! Other attributes belong to the kernel, to security modules and to root.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};

use modbox_policy::Owners;
use rustix::fs::{Gid, Mode, OFlags, Stat, Uid, XattrFlags};
use rustix::io::Errno;

/// The most bytes of a list of names or of one value (Linux, `XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const MAX_PART: usize = 64 << 10;

/// The permissions. The set-id bits need a grant, since the guest wrote the bytes.
const PERMISSIONS: u32 = 0o1777;

/// The set-user-id and set-group-id bits.
pub(crate) const SET_ID: u32 = 0o6000;

/// What a file could not keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) owner: bool,
    pub(crate) set_id: bool,
    pub(crate) attributes: bool,
}

/// Which properties the guest has set itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chosen {
    pub(crate) owner: bool,
    pub(crate) mode: Option<Mode>,
}

/// Opens a file that is to be replaced. `None` if this user cannot read it, or it is not a file.
pub(crate) fn open_to_keep(dir: BorrowedFd<'_>, name: &OsStr) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty()).ok()
}

/// Opens a file that takes the place of another one, to change what it has.
pub(crate) fn open_to_change(dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::openat(dir, name, flags | OFlags::WRONLY, Mode::empty()) {
        Err(Errno::ACCESS) => rustix::fs::openat(dir, name, flags | OFlags::RDONLY, Mode::empty()),
        other => other,
    }
}

/// Gives a new file what the old one has. `old` is the old file, opened for reading, if this user can read it. `own` says whose
/// files may have set-id bits.
pub(crate) fn keep(
    new: BorrowedFd<'_>,
    stat: &Stat,
    old: Option<BorrowedFd<'_>>,
    chosen: Chosen,
    own: &Owners,
) -> Lost {
    let mut lost = Lost::default();
    if !chosen.owner {
        let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        // Only root can give a file away. Any other user can still choose one of their groups.
        lost.owner = rustix::fs::fchown(new, Some(owner), Some(group)).is_err();
        if lost.owner {
            let _ = rustix::fs::fchown(new, None, Some(group));
        }
    }
    // The access list holds the permissions of the group, so the mode comes first.
    let mode = chosen.mode.map_or(stat.st_mode & 0o7777, |mode| mode.bits());
    lost.set_id = !set_mode(new, mode, own);
    lost.attributes = match old {
        Some(old) => copy_attributes(old, new, chosen.mode.is_some()).is_err(),
        None => true,
    };
    lost
}

/// Gives a new file a mode, with those set-id bits that its owner may have. Returns whether it has all that were wanted.
pub(crate) fn set_mode(file: BorrowedFd<'_>, mode: u32, own: &Owners) -> bool {
    let allowed = rustix::fs::fstat(file).map_or(0, |stat| own.set_id_bits(stat.st_uid, stat.st_gid));
    let set = |mode: u32| rustix::fs::fchmod(file, Mode::from_raw_mode(mode));
    let wanted = mode & SET_ID;
    // A kernel without a listener sets none.
    if wanted & !allowed == 0 && set(mode).is_ok() {
        return true;
    }
    let _ = set(mode & PERMISSIONS);
    wanted == 0
}

fn copy_attributes(old: BorrowedFd<'_>, new: BorrowedFd<'_>, is_mode_chosen: bool) -> rustix::io::Result<()> {
    const ACCESS_LIST: &[u8] = b"system.posix_acl_access";
    let mut names = vec![0_u8; MAX_PART];
    let length = match rustix::fs::flistxattr(old, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => 0,
        Err(errno) => return Err(errno),
    };
    let is_kept = |name: &&[u8]| name.starts_with(b"user.") || (*name == ACCESS_LIST && !is_mode_chosen);
    let mut value = vec![0_u8; if length > 0 { MAX_PART } else { 0 }];
    for name in names[..length].split(|byte| *byte == 0).filter(is_kept) {
        match rustix::fs::fgetxattr(old, name, &mut value[..]) {
            Ok(length) => rustix::fs::fsetxattr(new, name, &value[..length], XattrFlags::empty())?,
            Err(Errno::NODATA) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use modbox_policy::OwnerGrant;
    use modbox_vocabulary::GrantSource;

    use super::*;

    #[test]
    fn a_new_file_keeps_mode_and_attributes_but_no_set_id_bits() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::write(&old, "old").unwrap();
        fs::write(&new, "new").unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o4750)).unwrap();
        let open = |path| File::options().read(true).write(true).open(path).unwrap();
        let (before, after) = (open(&old), open(&new));
        let has_attributes = rustix::fs::fsetxattr(&before, "user.test", b"1", XattrFlags::empty()).is_ok();
        let stat = rustix::fs::fstat(&before).unwrap();
        let none = Owners::Some(Vec::new());
        let lost = keep(after.as_fd(), &stat, Some(before.as_fd()), Chosen::default(), &none);
        assert_eq!(lost, Lost { set_id: true, ..Lost::default() });
        assert_eq!(after.metadata().unwrap().mode() & 0o7777, 0o750);
        let mut value = [0; 8];
        let kept = rustix::fs::fgetxattr(&after, "user.test", &mut value[..]);
        assert_eq!(kept.is_ok(), has_attributes);
        let chosen = Chosen { mode: Some(Mode::from_raw_mode(0o600)), ..Chosen::default() };
        assert_eq!(keep(after.as_fd(), &stat, None, chosen, &none), Lost { attributes: true, ..Lost::default() });
        assert_eq!(after.metadata().unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn set_id_bits_stay_as_far_as_the_owner_may_have_them() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "x").unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let stat = rustix::fs::fstat(&file).unwrap();
        let grant = |text: String| OwnerGrant::parse(&text, &GrantSource::named("test"), |_| None, |_| None).unwrap();
        let own = Owners::Some(vec![grant(format!("{}+setid", stat.st_uid))]);
        let mode = || path.metadata().unwrap().mode() & 0o7777;
        assert_eq!((set_mode(file.as_fd(), 0o4755, &own), mode()), (true, 0o4755));
        assert_eq!((set_mode(file.as_fd(), 0o6755, &own), mode()), (false, 0o755));
        assert_eq!((set_mode(file.as_fd(), 0o1755, &own), mode()), (true, 0o1755));
    }
}
