//! The module's copy of a file, as the launcher finds it, and what bounds how it is taken back.
//!
//! Nothing here changes the machine.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use modbox_policy::{Owners, PathGrant, SingleFiles};
use rustix::fs::{FileType, Mode, OFlags, Stat};

use crate::copies::attributes::Attributes;
use crate::copies::clock::Moment;
use crate::copies::xattrs;
use crate::rooms::modes::MODE;
use crate::rooms::room::Room;

/// The module's copy of a file.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) file: File,
    pub(crate) attributes: Attributes,
}

/// Facts that all files of a run share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances<'a> {
    /// Directory for notes of files that a killed launcher leaves behind.
    pub(crate) notes: &'a Path,
    /// When the module began.
    pub(crate) begun: Moment,
    /// Maximum size of a file.
    pub(crate) limit: u64,
    /// The owners that the module may give, and whose files may have set-id bits.
    pub(crate) own: &'a Owners,
    /// What the module may use, where it can have seen other names of a file.
    pub(crate) grants: &'a [PathGrant],
    /// Whether the places are copies that stand for the machine's files, which have one name each. A change that is made in its
    /// place tells that the machine's file would change under all of its names.
    pub(crate) are_stand_ins: bool,
}

impl<'a> Circumstances<'a> {
    /// Returns the facts of a room, whose module began at some moment.
    pub(crate) fn of(room: &'a Room, own: &'a Owners, begun: Moment) -> Self {
        Self {
            notes: &room.tmpdir,
            begun,
            limit: room.limits.max_disk,
            own,
            grants: &room.grants,
            are_stand_ins: matches!(room.single_files, SingleFiles::StandIns(_)),
        }
    }
}

/// What a module has made under a name that only files are taken back from.
#[derive(Debug, thiserror::Error)]
#[error("the module has made {} {}, and only files and new directories are taken back", self.what(), self.place())]
pub(crate) struct NotAFile {
    kind: FileType,
    /// Whether it is in a directory that the module has made under the name.
    within: bool,
}

impl NotAFile {
    /// Returns the error for something in a new directory.
    pub(crate) fn in_directory(kind: FileType) -> Self {
        Self { kind, within: true }
    }

    fn place(&self) -> &'static str {
        if self.within { "in it" } else { "of it" }
    }

    fn what(&self) -> &'static str {
        match self.kind {
            FileType::Directory => "a directory",
            FileType::Symlink => "a link",
            _ => "something else than a file",
        }
    }
}

/// Opens a module's copy of a file, which may have any mode and may be anything.
pub(crate) fn open_copy(
    directory: &OwnedFd,
    name: impl rustix::path::Arg + std::marker::Copy,
    stat: Stat,
    limit: u64,
) -> io::Result<Copy> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other(NotAFile { kind: FileType::from_raw_mode(stat.st_mode), within: false }));
    }
    if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > limit {
        return Err(io::Error::other("it is longer than the limit of what may be written; raise it with `--max-disk`"));
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let open = || rustix::fs::openat(directory, name, flags, Mode::empty());
    let is_readable = stat.st_mode & 0o400 != 0;
    if !is_readable {
        // Its owner, who is this user, may read neither the file nor its attributes otherwise.
        let mode = Mode::from_raw_mode(stat.st_mode & MODE | 0o400);
        rustix::fs::chmodat(directory, name, mode, rustix::fs::AtFlags::empty())?;
    }
    let file = File::from(open()?);
    let xattrs = xattrs::read(&file);
    if !is_readable {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(stat.st_mode & MODE))?;
    }
    Ok(Copy { file, attributes: Attributes { stat, xattrs: xattrs? } })
}
