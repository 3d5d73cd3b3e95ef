//! Which owners a module may give to a file in a directory: those that are granted, and those that are there already.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use modbox_policy::{KnownOwners, Owners};
use modbox_vocabulary::{Capability, Denial, Operation};

use crate::rooms::room::Room;

/// Returns whether a file in a directory may be given to a user and a group; `None` leaves that one unchanged.
pub(crate) fn are_allowed(directory: Option<&OwnedFd>, user: Option<u32>, group: Option<u32>, room: &Room) -> bool {
    let owners = Owners::Some(room.own.clone());
    if owners.cover(user, group) {
        return true;
    }
    let mut known = KnownOwners::default();
    if let Some(directory) = directory {
        known.add_directory(Path::new(&format!("/proc/self/fd/{}/.", directory.as_raw_fd())));
    }
    known.or_granted(&owners, user, group)
}

/// Returns the denial of giving a file to a user and a group.
pub(crate) fn denial(path: &Path, user: Option<u32>, group: Option<u32>) -> Denial {
    let id = |id: Option<u32>| id.map(|id| id.to_string()).unwrap_or_default();
    let group = group.map(|group| format!(":{group}")).unwrap_or_default();
    Denial {
        capability: Capability::Own,
        subject: path.to_string_lossy().into_owned(),
        operation: Operation::SetOwner,
        allow: format!("--allow-own {}{group}", id(user)),
    }
}
