//! Takes one file back from a module: first decides how and prepares it, then does it.
//!
//! Nothing on the machine is changed while it is prepared. So if one of several files cannot be taken back, all of them
//! are left as they were.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use modbox_vocabulary::{FileFingerprint, error_text};
use rustix::fs::{OFlags, Stat};

use crate::copies::attributes::{self, Attributes, Before, Target};
use crate::copies::beside::{Beside, OpenFile, Place};
use crate::copies::module_copy::{Circumstances, Copy};
use crate::copies::new_directory::NewDirectory;
use crate::copies::{content, flags};
use crate::rooms::writable::user;

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
    /// A directory is made where there was nothing.
    Make(NewDirectory<'a>),
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

    /// Prepares to make a directory that the module has made, where there was nothing.
    pub(crate) fn directory(
        place: &'a Place,
        made: (&OwnedFd, &str),
        circumstances: Circumstances<'a>,
    ) -> io::Result<Self> {
        place.check_unchanged()?;
        let way = Way::Make(NewDirectory::prepare(made, circumstances)?);
        Ok(Self { place, way, lost_bits: None, is_linked: false })
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
            Way::Make(directory) => place.check_unchanged().and_then(|()| directory.finish(place)),
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
