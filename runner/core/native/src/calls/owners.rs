//! Owners that a module gives to files: each needs a grant, as for guests.
//!
//! No grant is needed for what changes nothing, and for an owner that the directory or another file in it has already: the
//! module could write that file. Programs that replace a file by a new one give it the owner of the old one. The
//! module's own directories are its own.
//!
//! In namespaces the launcher gives root's files their owners in the place of the module, with the file that it has judged: the module
//! could exchange what it names before the kernel looks for it. Other users cannot give their files away.

use std::fs::read_link;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use modbox_kernel::{Caller, ReportedCall};
use modbox_policy::Owners;
use modbox_vocabulary::Denial;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, ResolveFlags, StatxFlags, Uid};
use rustix::io::Errno;

use crate::calls::attribute_calls::{self, OwnerCall};
use crate::calls::owner_grants;
use crate::rooms::room::{Room, TMP};

/// Judgement of a call that may give a file an owner.
#[derive(Debug)]
pub(crate) enum Judgement {
    /// It goes on: every owner that it names is granted, the kernel refuses other ones, or it is another call.
    Allowed,
    /// The launcher has given the file the owner.
    Made,
    /// The owner needs a grant.
    Refused(Denial),
    /// The kernel refused, or there is no such file. The call must not go on, since there may be one by then.
    Failed(Errno),
}

/// Judges a call that gives a file an owner.
pub(crate) fn judge(report: &ReportedCall, room: &Room) -> Judgement {
    let Some(OwnerCall { path, follow, descriptor, user, group }) = attribute_calls::owner_call(report) else {
        return Judgement::Allowed;
    };
    if Owners::Some(room.own.clone()).cover(user, group) {
        return Judgement::Allowed;
    }
    let judged = || -> Result<Judgement, Errno> {
        let root = module_root(report).ok_or(Errno::SRCH)?;
        let (path, file) = match (path, descriptor) {
            (Some(path), Some(descriptor)) => (path, open_descriptor(report, descriptor)?),
            (Some(path), None) => {
                let file = try_open_in(&root, &path, follow)?;
                (path, file)
            }
            // A pipe or a file without a name, which nothing finds by its owner.
            (None, Some(descriptor)) => {
                return give(report, &open_descriptor(report, descriptor)?, (user, group), room);
            }
            (None, None) => return Err(Errno::FAULT),
        };
        let stat = rustix::fs::fstat(&file)?;
        let wanted = (user, group);
        let user = user.filter(|user| *user != stat.st_uid);
        let group = group.filter(|group| *group != stat.st_gid);
        if Owners::Some(room.own.clone()).cover(user, group) || !room.observed && is_in_own_mount(&root, &file, room) {
            return give(report, &file, wanted, room);
        }
        let directory = directory_of(&root, &file, &path);
        if owner_grants::are_allowed(directory.as_ref(), user, group, room) {
            return give(report, &file, wanted, room);
        }
        Ok(Judgement::Refused(owner_grants::denial(&path, user, group)))
    };
    judged().unwrap_or_else(Judgement::Failed)
}

/// Gives a file of root's module an owner. Calls of other users go on.
fn give(
    report: &ReportedCall,
    file: &OwnedFd,
    (user, group): (Option<u32>, Option<u32>),
    room: &Room,
) -> Result<Judgement, Errno> {
    let caller = Caller::of(report.thread).ok_or(Errno::SRCH)?;
    if room.observed || !caller.is_root() {
        return Ok(Judgement::Allowed);
    }
    let (user, group) = (user.map(Uid::from_raw), group.map(Gid::from_raw));
    rustix::fs::chownat(file, "", user, group, AtFlags::EMPTY_PATH)?;
    Ok(Judgement::Made)
}

/// Opens what a descriptor of the module is open on.
fn open_descriptor(report: &ReportedCall, descriptor: i32) -> Result<OwnedFd, Errno> {
    let link = format!("/proc/{}/fd/{descriptor}", report.thread);
    rustix::fs::open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|_| Errno::BADF)
}

pub(crate) fn module_root(report: &ReportedCall) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(format!("/proc/{}/root", report.thread), flags, Mode::empty()).ok()
}

/// Opens a path as the module finds it.
pub(crate) fn open_in(root: &OwnedFd, path: &Path, follow: bool) -> Option<OwnedFd> {
    try_open_in(root, path, follow).ok()
}

fn try_open_in(root: &OwnedFd, path: &Path, follow: bool) -> Result<OwnedFd, Errno> {
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follow);
    rustix::fs::openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)
}

/// Opens the directory of a file, which is not that of a link by which the module names it. A directory of the module's own, in which
/// it makes files of any owner, is not one of a file of the machine.
fn directory_of(root: &OwnedFd, file: &OwnedFd, path: &Path) -> Option<OwnedFd> {
    let real = read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_else(|_| path.to_owned());
    let directory = open_in(root, real.parent()?, true)?;
    (mount_of(&directory) == mount_of(file)).then_some(directory)
}

/// Returns the number of a file's mount, where the kernel tells it.
fn mount_of(file: &OwnedFd) -> Option<u64> {
    let found = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

/// Returns whether a file is in the mount of the module's `/tmp`, or in that of its own files.
pub(crate) fn is_in_own_mount(root: &OwnedFd, file: &OwnedFd, room: &Room) -> bool {
    let Some(own) = mount_of(file) else { return false };
    let places = [Path::new(TMP), &room.tmpdir];
    let is_granted = |place: &Path| room.grants.iter().any(|grant| Path::new(&grant.guest) == place);
    places.into_iter().filter(|place| !is_granted(place)).any(|place| {
        let opened = open_in(root, place, true);
        opened.is_some_and(|opened| mount_of(&opened) == Some(own))
    })
}
