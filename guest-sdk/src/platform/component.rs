//! Files for a component on a host that implements `modbox:host/files` and `modbox:host/file-changes`, as modbox does.

use std::io;
use std::path::Path;

use modbox_host::file_changes;
pub(crate) use modbox_host::file_changes::{replace, restrict_new, set_id_bits, set_mode};
use modbox_host::files;
pub(crate) use modbox_host::files::{group_id, set_owner, umask, user_id};

use crate::platform::attributes::{Attributes, FileTime, NewTime, Special, Times};

pub(crate) const AVAILABLE: bool = true;

pub(crate) const REPLACES: bool = true;

/// Returns the user that runs the component. The host shows it as the owner of the arguments file.
pub(crate) fn user() -> Option<String> {
    let found = arguments_file()?;
    Some(found.user.unwrap_or_else(|| found.uid.to_string()))
}

/// Returns the number of the user that runs the component.
pub(crate) fn user_number() -> Option<u32> {
    arguments_file().map(|found| found.uid)
}

/// Returns the numbers of the user that runs the component, and of that user's group.
pub(crate) fn user_and_group() -> Option<(u32, u32)> {
    arguments_file().map(|found| (found.uid, found.gid))
}

fn arguments_file() -> Option<files::Attributes> {
    files::stat(std::env::args_os().nth(1)?.as_ref(), true).ok()
}

pub(crate) fn stat(path: &Path, follow: bool) -> io::Result<Attributes> {
    let found = files::stat(path, follow)?;
    Ok(Attributes {
        mode: found.mode,
        uid: found.uid,
        gid: found.gid,
        user: found.user,
        group: found.group,
        links: found.links,
        inode: found.inode,
        device: found.device,
        size: found.size,
        blocks: found.blocks,
        block_size: found.block_size,
        device_type: found.device_type,
        special: match found.kind {
            files::Kind::BlockDevice => Some(Special::BlockDevice),
            files::Kind::CharacterDevice => Some(Special::CharacterDevice),
            files::Kind::Fifo => Some(Special::Fifo),
            files::Kind::Socket => Some(Special::Socket),
            _ => None,
        },
        directory: found.kind == files::Kind::Directory,
        target: found.target,
    })
}

pub(crate) fn times(path: &Path, follow: bool) -> io::Result<Times> {
    let found = file_changes::times(path, follow)?;
    let time = |time: file_changes::FileTime| FileTime { seconds: time.seconds, nanoseconds: time.nanoseconds };
    Ok(Times { access: time(found.access), modification: time(found.modification), change: time(found.change) })
}

pub(crate) fn set_times(path: &Path, follow: bool, access: NewTime, modification: NewTime) -> io::Result<()> {
    let new = |time: NewTime| match time {
        NewTime::Keep => file_changes::NewTime::Keep,
        NewTime::Now => file_changes::NewTime::Now,
        NewTime::At(FileTime { seconds, nanoseconds }) => {
            file_changes::NewTime::At(file_changes::FileTime { seconds, nanoseconds })
        }
    };
    file_changes::set_times(path, follow, new(access), new(modification))
}

/// Returns whether the user of the run may make entries in a folder, and grants allow it.
pub(crate) fn may_change_folder(folder: &Path) -> io::Result<()> {
    file_changes::access(folder, false, true, true)
}

/// Returns whether the user of the run may make files beside a path that is granted for writing, and its folder is not.
pub(crate) fn may_make_beside(path: &Path) -> io::Result<()> {
    // Any name does. One made of the path's own could be too long.
    match file_changes::access(&path.with_file_name(".new"), false, true, false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        asked => asked,
    }
}

/// Returns whether the user of the run may use a path so, and grants allow it; `None` if that is not known.
pub(crate) fn allows(path: &Path, read: bool, write: bool, execute: bool) -> Option<bool> {
    match file_changes::access(path, read, write, execute) {
        Ok(()) => Some(true),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Some(false),
        Err(_) => None,
    }
}

/// Returns whether the user of the run may write a path, and grants allow it.
pub(crate) fn may_write(path: &Path) -> io::Result<()> {
    file_changes::access(path, false, true, false)
}
