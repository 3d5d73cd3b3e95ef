//! Files for a component on a host that implements `modbox:host/files` and `modbox:host/file-changes`, as modbox does.

use std::io;
use std::path::Path;

pub(crate) use modbox_host::file_changes::{replace, restrict_new, set_mode};
use modbox_host::files;
pub(crate) use modbox_host::files::{group_id, set_owner, umask, user_id};

use crate::platform::attributes::{Attributes, Special};

pub(crate) const AVAILABLE: bool = true;

pub(crate) const REPLACES: bool = true;

/// Returns the user that runs the component. The host shows it as the owner of the arguments file.
pub(crate) fn user() -> Option<String> {
    let found = files::stat(std::env::args_os().nth(1)?.as_ref(), true).ok()?;
    Some(found.user.unwrap_or_else(|| found.uid.to_string()))
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
