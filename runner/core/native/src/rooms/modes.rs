//! The bits of modes that a module may set: the rule for set-id bits, and what of a mode the copy of a file shows.
//!
//! This file sets no mode.

use modbox_policy::Owners;
use rustix::fs::{FileType, Mode, Stat};

use crate::rooms::room::Room;

/// Bits that every module may set. Set-id bits need a grant.
pub(crate) const MODE: u32 = 0o1777;

/// Bits that make a program run as its owner or group.
pub(crate) const SET_ID: u32 = 0o6000;

/// Returns the set-id bits of a mode that a module may not set: none of a directory, and those of a file whose owner is not
/// granted with them.
pub(crate) fn refused(room: &Room, stat: &Stat, mode: u32) -> u32 {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => 0,
        _ => mode & SET_ID & !Owners::Some(room.own.clone()).set_id_bits(stat.st_uid, stat.st_gid),
    }
}

/// Returns the mode of a copy of a file: permissions, the sticky bit, and the set-id bits that its owner is granted with.
pub(crate) fn shown(own: &Owners, stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode & (MODE | own.set_id_bits(stat.st_uid, stat.st_gid)))
}
