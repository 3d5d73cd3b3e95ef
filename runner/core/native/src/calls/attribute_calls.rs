//! Calls of a module without namespaces that set modes and times, made by the launcher in its place.
//!
//! Landlock checks neither modes nor times, so the filter refuses these calls. Ansible's modules set the mode of each file
//! that they write. The launcher therefore makes the call itself, if the file lies where the module may write, and
//! answers with the result. It opens the path by itself and asks the kernel where the opened file is, so it does not
//! matter what the module changes meanwhile.
//!
//! Only the owner's calls are made; set-id bits follow the rule of `modes`. Setting an owner succeeds if it changes nothing. For
//! root's module, whose grants give root's rights, the launcher makes these calls on files of others, too, and sets owners as far
//! as they are granted or known; see `owner_grants`. Extended attributes stay refused.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use modbox_kernel::ReportedCall;
use modbox_policy::Access;
use modbox_vocabulary::Denial;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Timespec, Timestamps};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use crate::caller::call_arguments::{low, named_path, path_of};
use crate::caller::memory;
use crate::calls::owner_grants;
use crate::rooms::modes;
use crate::rooms::room::Room;

/// Argument that leaves an owner or a group as it is.
const UNCHANGED: u32 = u32::MAX;

/// The call `fchmodat2`, which has this number on every architecture. The crate `libc` lacks it for some C libraries.
const FCHMODAT2: libc::c_long = 452;

/// Whose files a module may change, among those that it may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileRights {
    /// Those of its user.
    Owner,
    /// Those of all users.
    Root,
}

/// End of a call that the launcher made, or did not make.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AttributeCall {
    /// It was made.
    Done,
    /// It failed with this error.
    Failed(Errno),
    /// The module may not write the path.
    NotGranted(PathBuf),
    /// The module may not give the file this owner.
    OwnerNotGranted(Denial),
    /// The launcher does not make it.
    Refused,
}

/// What a call sets.
#[derive(Debug, Clone, Copy)]
enum Setting {
    Mode(u64),
    /// Address of two times; 0 for the present.
    Times(u64),
    Owner {
        user: u64,
        group: u64,
    },
}

/// Returns the file and the setting of a call; `None` for other calls.
fn decode(report: &ReportedCall) -> Option<(File, Setting)> {
    let [first, second, third, fourth, fifth, _] = report.arguments;
    let at = |flags: u64| File::Path { directory: Some(0), path: 1, flags: low(flags) };
    Some(match report.number {
        libc::SYS_fchmod => (File::Open(low(first)), Setting::Mode(second)),
        libc::SYS_fchmodat => (at(0), Setting::Mode(third)),
        FCHMODAT2 => (at(fourth), Setting::Mode(third)),
        libc::SYS_utimensat if second == 0 => (File::Open(low(first)), Setting::Times(third)),
        libc::SYS_utimensat => (at(fourth), Setting::Times(third)),
        libc::SYS_fchown => (File::Open(low(first)), Setting::Owner { user: second, group: third }),
        libc::SYS_fchownat => (at(fifth), Setting::Owner { user: third, group: fourth }),
        _ => return legacy(report),
    })
}

#[cfg(target_arch = "x86_64")]
fn legacy(report: &ReportedCall) -> Option<(File, Setting)> {
    let [_, second, third, ..] = report.arguments;
    let path = |flags| File::Path { directory: None, path: 0, flags };
    Some(match report.number {
        libc::SYS_chmod => (path(0), Setting::Mode(second)),
        libc::SYS_chown => (path(0), Setting::Owner { user: second, group: third }),
        libc::SYS_lchown => (path(libc::AT_SYMLINK_NOFOLLOW), Setting::Owner { user: second, group: third }),
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn legacy(_: &ReportedCall) -> Option<(File, Setting)> {
    None
}

/// The file that a call names.
#[derive(Debug, Clone, Copy)]
enum File {
    /// By a descriptor of the module.
    Open(i32),
    /// By a path, with the indexes of its arguments.
    Path { directory: Option<usize>, path: usize, flags: i32 },
}

impl File {
    /// Opens the file as a place, without access to its content.
    fn open(self, report: &ReportedCall) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match self {
            Self::Open(descriptor) => {
                let link = format!("/proc/{}/fd/{descriptor}", report.thread);
                rustix::fs::open(link, flags, Mode::empty()).map_err(|_| Errno::BADF)
            }
            Self::Path { directory, path, flags: at } => {
                let path = path_of(report, directory, path).ok_or(Errno::NOENT)?;
                let is_link = at & libc::AT_SYMLINK_NOFOLLOW != 0;
                if let Some(descriptor) = descriptor_of(&path).filter(|_| !is_link) {
                    return Self::Open(descriptor).open(report);
                }
                rustix::fs::open(path, if is_link { flags | OFlags::NOFOLLOW } else { flags }, Mode::empty())
            }
        }
    }
}

/// A call that gives a file an owner.
#[derive(Debug)]
pub(crate) struct OwnerCall {
    /// The absolute path, as the module sees it; `None` if it cannot be read.
    pub(crate) path: Option<PathBuf>,
    /// Whether a link at its end is followed.
    pub(crate) follow: bool,
    /// The descriptor, if the call names the file by it alone.
    pub(crate) descriptor: Option<i32>,
    /// The user; `None` leaves it.
    pub(crate) user: Option<u32>,
    /// The group; `None` leaves it.
    pub(crate) group: Option<u32>,
}

/// Reads a call that gives a file an owner; `None` for other calls.
pub(crate) fn owner_call(report: &ReportedCall) -> Option<OwnerCall> {
    let (file, Setting::Owner { user, group }) = decode(report)? else { return None };
    let id = |argument: u64| Some(low(argument).cast_unsigned()).filter(|id| *id != UNCHANGED);
    let named = match file {
        File::Open(descriptor) => Named::Descriptor(descriptor),
        File::Path { directory, path, flags } => named(report, directory, path, flags),
    };
    let (path, descriptor, follow) = match named {
        Named::Descriptor(descriptor) => (open_path(report, descriptor), Some(descriptor), false),
        Named::Path { path, follow } => (Some(path), None, follow),
        Named::Unknown => (None, None, false),
    };
    Some(OwnerCall { path, follow, descriptor, user: id(user), group: id(group) })
}

/// A call that sets a mode.
#[derive(Debug)]
pub(crate) struct ModeCall {
    /// The absolute path, as the module sees it.
    pub(crate) path: PathBuf,
    /// Whether a link at its end is followed.
    pub(crate) follow: bool,
    /// The descriptor, if the call names the file by it alone.
    pub(crate) descriptor: Option<i32>,
    /// The mode.
    pub(crate) mode: u32,
}

/// Reads a call that sets a mode; `None` for other calls.
pub(crate) fn mode_call(report: &ReportedCall) -> Option<ModeCall> {
    let (file, Setting::Mode(mode)) = decode(report)? else { return None };
    let mode = u32::try_from(mode & 0o7777).unwrap_or_default();
    let named = match file {
        File::Open(descriptor) => Named::Descriptor(descriptor),
        File::Path { directory, path, flags } => named(report, directory, path, flags),
    };
    let (path, descriptor, follow) = match named {
        Named::Descriptor(descriptor) => (open_path(report, descriptor)?, Some(descriptor), false),
        Named::Path { path, follow } => (path, None, follow),
        Named::Unknown => return None,
    };
    Some(ModeCall { path, follow, descriptor, mode })
}

/// What a call names a file by.
enum Named {
    Descriptor(i32),
    Path {
        path: PathBuf,
        follow: bool,
    },
    /// Neither: the path cannot be read from the caller's memory, so that the kernel cannot read it either.
    Unknown,
}

/// Returns what a call with a path and flags names a file by. A path of the kernel's for a descriptor is that descriptor: another
/// process than the caller finds another file there.
fn named(report: &ReportedCall, directory: Option<usize>, path: usize, flags: i32) -> Named {
    let follow = flags & libc::AT_SYMLINK_NOFOLLOW == 0;
    let itself = || directory.filter(|_| flags & libc::AT_EMPTY_PATH != 0).map(|index| low(report.arguments[index]));
    match named_path(report, directory, path) {
        Some(path) => match descriptor_of(&path).filter(|_| follow) {
            Some(descriptor) => Named::Descriptor(descriptor),
            None => Named::Path { path, follow },
        },
        None => itself().map_or(Named::Unknown, Named::Descriptor),
    }
}

fn descriptor_of(path: &Path) -> Option<i32> {
    let folders = ["/proc/self/fd", "/proc/thread-self/fd", "/dev/fd"];
    let below = folders.iter().find_map(|folder| path.strip_prefix(folder).ok())?;
    below.to_str()?.parse().ok().filter(|descriptor| *descriptor >= 0)
}

/// Returns the path of an open file of a module.
fn open_path(report: &ReportedCall, descriptor: i32) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/{}/fd/{descriptor}", report.thread)).ok()?;
    path.is_absolute().then_some(path)
}

/// Makes a call in the place of a module; `None` for calls that set neither a mode, nor times, nor an owner.
pub(crate) fn make(report: &ReportedCall, room: &Room, rights: FileRights) -> Option<AttributeCall> {
    let (file, setting) = decode(report)?;
    let made = file.open(report).and_then(|file| {
        let real = fs::read_link(own_link(&file)).map_err(|_| Errno::PERM)?;
        if !may_write(room, &real) {
            return Ok(AttributeCall::NotGranted(real));
        }
        match (setting, rights) {
            (Setting::Owner { user, group }, FileRights::Root) => give(&file, &real, [user, group], room),
            _ => set(report, room, &file, setting, rights),
        }
    });
    Some(made.unwrap_or_else(AttributeCall::Failed))
}

/// Returns whether a module writes the file at a path of the machine.
fn may_write(room: &Room, real: &Path) -> bool {
    let is_granted =
        room.grant_at(real).is_some_and(|grant| grant.access == Access::Write && Path::new(&grant.guest) == grant.host);
    is_granted || is_own(room, real)
}

/// Returns whether a path of the machine is in the module's own directory.
fn is_own(room: &Room, real: &Path) -> bool {
    real.starts_with(&room.tmpdir) && real != room.tmpdir
}

/// Returns whether no file of the module's own directory gets out of it. A grant around it lets it be moved.
fn stays_own(room: &Room, real: &Path) -> bool {
    is_own(room, real) && room.grant_at(&room.tmpdir).is_none()
}

/// Gives a file an owner, with the rights of root.
fn give(file: &OwnedFd, real: &Path, owner: [u64; 2], room: &Room) -> Result<AttributeCall, Errno> {
    let stat = rustix::fs::fstat(file)?;
    let [user, group] = owner.map(|id| Some(low(id).cast_unsigned()).filter(|id| *id != UNCHANGED));
    let (new_user, new_group) = (user.filter(|id| *id != stat.st_uid), group.filter(|id| *id != stat.st_gid));
    let directory = real.parent().and_then(|directory| writable_directory(directory, room));
    if !stays_own(room, real) && !owner_grants::are_allowed(directory.as_ref(), new_user, new_group, room) {
        return Ok(AttributeCall::OwnerNotGranted(owner_grants::denial(real, new_user, new_group)));
    }
    let (user, group) = (user.map(Uid::from_raw), group.map(Gid::from_raw));
    rustix::fs::chownat(file, "", user, group, AtFlags::EMPTY_PATH)?;
    Ok(AttributeCall::Done)
}

/// Opens a directory, if the module may write it. It may have exchanged the directory for another one or for a link.
fn writable_directory(path: &Path, room: &Room) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    let real = fs::read_link(own_link(&opened)).ok()?;
    may_write(room, &real).then_some(opened)
}

fn set(
    report: &ReportedCall,
    room: &Room,
    file: &OwnedFd,
    setting: Setting,
    rights: FileRights,
) -> Result<AttributeCall, Errno> {
    let stat = rustix::fs::fstat(file)?;
    if rights == FileRights::Owner {
        let caller = fs::metadata(format!("/proc/{}", report.thread)).map_err(|_| Errno::SRCH)?.uid();
        if stat.st_uid != caller {
            return Err(Errno::PERM);
        }
    }
    match setting {
        Setting::Mode(mode) => {
            let mode = u32::try_from(mode & 0o7777).unwrap_or_default();
            if modes::refused(room, &stat, mode) != 0 {
                return Ok(AttributeCall::Refused);
            }
            if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
                return Err(Errno::OPNOTSUPP);
            }
            rustix::fs::chmodat(CWD, own_link(file), Mode::from_raw_mode(mode), AtFlags::empty())?;
        }
        Setting::Times(address) => {
            let times = times(report, address)?;
            rustix::fs::utimensat(file.as_fd(), "", &times, AtFlags::EMPTY_PATH)?;
        }
        Setting::Owner { user, group } => {
            let keeps = |argument: u64, present: u32| {
                u32::try_from(argument & 0xffff_ffff).is_ok_and(|id| id == UNCHANGED || id == present)
            };
            if !keeps(user, stat.st_uid) || !keeps(group, stat.st_gid) {
                return Ok(AttributeCall::Refused);
            }
        }
    }
    Ok(AttributeCall::Done)
}

/// Returns the link to a file of this process.
fn own_link(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Reads two times: each has seconds and nanoseconds of 64 bits.
fn times(report: &ReportedCall, address: u64) -> Result<Timestamps, Errno> {
    let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    if address == 0 {
        return Ok(Timestamps { last_access: now, last_modification: now });
    }
    let mut bytes = [0; 32];
    if memory::read(report.thread, address, &mut bytes) != bytes.len() {
        return Err(Errno::FAULT);
    }
    let mut words = bytes.chunks_exact(8).map(|word| word.try_into().map(i64::from_ne_bytes).unwrap_or_default());
    let mut time = || Timespec { tv_sec: words.next().unwrap_or_default(), tv_nsec: words.next().unwrap_or_default() };
    Ok(Timestamps { last_access: time(), last_modification: time() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_name_a_descriptor() {
        for (path, expect) in [
            ("/proc/self/fd/7", Some(7)),
            ("/proc/thread-self/fd/0", Some(0)),
            ("/dev/fd/12", Some(12)),
            ("/proc/self/fd", None),
            ("/proc/self/fd/-1", None),
            ("/proc/1/fd/7", None),
            ("/srv/fd/7", None),
        ] {
            assert_eq!(descriptor_of(Path::new(path)), expect, "{path}");
        }
    }
}
