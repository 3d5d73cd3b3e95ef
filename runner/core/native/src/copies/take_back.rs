//! Takes one file back from a module: first decides how and prepares it, then does it.
//!
//! Nothing on the machine is changed while it is prepared. So if one of several files cannot be taken back, all of them
//! are left as they were.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use modbox_policy::{Owners, PathGrant, SingleFiles};
use modbox_vocabulary::{FileFingerprint, error_text};
use rustix::fs::{FileType, Mode, OFlags, Stat};

use crate::copies::attributes::{self, Attributes, Before, Target};
use crate::copies::beside::{Beside, OpenFile, Place};
use crate::copies::clock::Moment;
use crate::copies::{content, flags, xattrs};
use crate::rooms::modes::MODE;
use crate::rooms::room::Room;
use crate::rooms::writable::user;

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
#[error("the module has made {} of it, and only files are taken back", self.what())]
pub(crate) struct NotAFile {
    kind: FileType,
}

impl NotAFile {
    pub(crate) fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }

    fn what(&self) -> &'static str {
        match self.kind {
            FileType::Directory => "a directory",
            FileType::Symlink => "a link",
            _ => "something else than a file",
        }
    }
}

/// Prepared way to take a file back.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    place: &'a Place,
    way: Way<'a>,
    /// The file, if it loses set-id bits.
    pub(crate) lost_bits: Option<Stat>,
    /// Whether the file keeps other names, which show the change, too.
    pub(crate) is_linked: bool,
}

#[derive(Debug)]
enum Way<'a> {
    Remove {
        notes: &'a Path,
    },
    /// Only the attributes have changed.
    Change {
        file: OpenFile,
        target: Target,
        before: Target,
    },
    /// A new file is put in the place of the old one, which keeps readers from seeing half of it.
    Replace {
        new: Beside<'a>,
        copy: File,
        target: Target,
    },
    /// The old file is written, where it cannot be replaced.
    Overwrite(Overwrite),
}

/// Old file that is written in its place.
#[derive(Debug)]
struct Overwrite {
    file: OpenFile,
    copy: File,
    target: Target,
    before: Target,
}

impl<'a> Plan<'a> {
    /// Prepares the removal of a file that the module has removed.
    pub(crate) fn removal(place: &'a Place, circumstances: Circumstances<'a>) -> io::Result<Self> {
        place.check_unchanged()?;
        Ok(Self { place, way: Way::Remove { notes: circumstances.notes }, lost_bits: None, is_linked: false })
    }

    /// Prepares to take a copy back. `shown` has the attributes of the copy when the module began.
    pub(crate) fn new(
        place: &'a Place,
        shown: Option<&Attributes>,
        copy: Copy,
        circumstances: Circumstances<'a>,
    ) -> io::Result<Self> {
        place.check_unchanged()?;
        let Circumstances { begun, own, .. } = circumstances;
        let (Some(_), Some(shown)) = (&place.was, shown) else {
            attributes::check(None, &copy.attributes, own)?;
            let target = attributes::target(None, &copy.attributes, true, begun, own);
            let way = replace(place, None, copy.file, target, circumstances)?;
            return Ok(Self { place, way, lost_bits: None, is_linked: false });
        };
        let old = place.open(OFlags::RDONLY)?;
        let file = Attributes::read(&old.file)?;
        let before = Before { file: &file, copy: shown };
        attributes::check(Some(before), &copy.attributes, own)?;
        let is_written = !content::is_same(&copy.file, &old.file)?;
        let target = || attributes::target(Some(before), &copy.attributes, is_written, begun, own);
        let lost_bits = attributes::loses_set_id(&file, &target()).then_some(file.stat);
        let is_same = copy.attributes.stat.st_ino == shown.stat.st_ino;
        let is_linked = file.stat.st_nlink > 1 && is_same;
        let in_place = || -> Option<Overwrite> {
            let tells = circumstances.are_stand_ins && is_same;
            tells.then(|| Overwrite::prepare(place, copy.file.try_clone().ok()?, target()).ok())?
        };
        let way = if !is_written {
            Way::Change { file: old, target: target(), before: Target::unchanged(&file) }
        } else if is_linked {
            // The other names of the file must show the change, too.
            Way::Overwrite(Overwrite::prepare(place, copy.file, target())?)
        } else if let Some(overwrite) = in_place() {
            Way::Overwrite(overwrite)
        } else {
            let again = copy.file.try_clone()?;
            match replace(place, Some(&old.file), copy.file, target(), circumstances) {
                Ok(way) => way,
                Err(error) => {
                    let overwrite = Overwrite::prepare(place, again, target());
                    Way::Overwrite(overwrite.map_err(|second| neither(&error, &second))?)
                }
            }
        };
        Ok(Self { place, way, lost_bits, is_linked })
    }

    /// Returns whether the file is changed in its place, which fails more often than replacing it after that is
    /// prepared.
    pub(crate) fn is_in_place(&self) -> bool {
        matches!(self.way, Way::Change { .. } | Way::Overwrite(_))
    }

    /// Returns the file as it was when the module's copy was made; `None` if it did not exist.
    pub(crate) fn file(&self) -> Option<FileFingerprint> {
        self.place.was
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &'a Path {
        &self.place.path
    }

    /// Takes the file back.
    ///
    /// # Errors
    ///
    /// Fails when another process has changed the file meanwhile, and for every change that cannot be made.
    pub(crate) fn finish(self) -> io::Result<()> {
        let Self { place, way, .. } = self;
        match way {
            Way::Remove { notes } => {
                place.check_unchanged().and_then(|()| place.remove(notes)).map_err(|error| match error.raw_os_error() {
                    Some(_) => io::Error::other(format!("it cannot be removed: {error}")),
                    None => error,
                })
            }
            Way::Change { file, target, before } => {
                place.check_open(&file)?;
                target.apply(&file.file).inspect_err(|_| drop(before.apply(&file.file)))
            }
            Way::Replace { new, copy, target } => match place.check_unchanged().and_then(|()| place.put(&new)) {
                // The place may be a mount point, or in a directory where only owners replace files.
                Err(error) if error.raw_os_error().is_some() && place.was.is_some() => {
                    drop(new);
                    let overwrite = Overwrite::prepare(place, copy, target);
                    overwrite.map_err(|second| neither(&error, &second))?.finish(place)
                }
                put => put,
            },
            Way::Overwrite(overwrite) => overwrite.finish(place),
        }
    }
}

impl Overwrite {
    /// Opens the old file for writing; nothing is written yet.
    fn prepare(place: &Place, copy: File, target: Target) -> io::Result<Self> {
        let file = place.open(OFlags::WRONLY)?;
        let before = Target::unchanged(&Attributes::read(&file.file)?);
        Ok(Self { file, copy, target, before })
    }

    fn finish(self, place: &Place) -> io::Result<()> {
        let Self { file, copy, target, before } = self;
        place.check_open(&file)?;
        let file = file.file;
        // Attributes are set first, since the old ones can be restored.
        let written = target.apply(&file).and_then(|()| content::overwrite(&copy, &file));
        written.inspect_err(|_| drop(before.apply(&file)))?;
        // Writing has changed times.
        target.apply(&file)
    }
}

/// Writes a new file beside the place, with everything that it will have.
fn replace<'a>(
    place: &'a Place,
    old: Option<&File>,
    copy: File,
    target: Target,
    circumstances: Circumstances<'a>,
) -> io::Result<Way<'a>> {
    let (new, file) = Beside::make(place, circumstances.notes)?;
    if let Some(old) = old {
        // Some flags can only be set while a file is empty.
        flags::keep(&file, flags::read(old))?;
    }
    content::write_new(&copy, &file)?;
    target.apply(&file)?;
    Ok(Way::Replace { new, copy, target })
}

fn neither(replacing: &io::Error, writing: &io::Error) -> io::Error {
    let (user, replacing, writing) = (user(), error_text(replacing), error_text(writing));
    io::Error::other(format!("{user} may neither replace it ({replacing}) nor write it ({writing})"))
}

/// Opens a module's copy of a file, which may have any mode and may be anything.
pub(crate) fn open_copy(directory: &OwnedFd, name: &str, stat: Stat, limit: u64) -> io::Result<Copy> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other(NotAFile { kind: FileType::from_raw_mode(stat.st_mode) }));
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
