//! Takes a directory back that a module has made where there was nothing, with the directories and files in it.
//!
//! All of it is looked at before anything is made. Then it is made in its place, where only its owner can enter it until it is
//! complete. Links and special files are not taken back: they could lead anywhere.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::copies::attributes::{self, Attributes};
use crate::copies::beside::{Place, changed};
use crate::copies::module_copy::{Circumstances, NotAFile, open_copy};
use crate::copies::{content, stage, xattrs};
use crate::rooms::modes::MODE;

/// Maximum number of directories in each other.
const MAX_DEPTH: usize = 32;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 10_000;

/// The bit by which the group of a directory goes to what is made in it. New directories take it over.
const GROUP_BIT: u32 = 0o2000;

/// Bits by which a file runs as its owner. On a directory they give no rights.
const SET_ID: u32 = 0o6000;

/// A directory that a module has made.
#[derive(Debug)]
pub(crate) struct NewDirectory<'a> {
    made: MadeDirectory,
    circumstances: Circumstances<'a>,
}

/// A directory of the module, as it left it.
#[derive(Debug)]
struct MadeDirectory {
    opened: OwnedFd,
    attributes: Attributes,
}

/// What the entries looked at so far amount to.
#[derive(Debug, Default)]
struct Size {
    entries: usize,
    bytes: u64,
}

impl<'a> NewDirectory<'a> {
    /// Looks at all that the module has made.
    ///
    /// # Errors
    ///
    /// It has something else than directories and files, more than the limits allow, or attributes that the module may not give.
    pub(crate) fn prepare((staged, name): (&OwnedFd, &str), circumstances: Circumstances<'a>) -> io::Result<Self> {
        let made = MadeDirectory::open(staged, name)?;
        made.check(circumstances, &mut Size::default(), 0)?;
        Ok(Self { made, circumstances })
    }

    /// Makes the directory in its place.
    ///
    /// # Errors
    ///
    /// Another process has made something there, or a part cannot be made; then nothing stays.
    pub(crate) fn finish(self, place: &Place) -> io::Result<()> {
        let name = place.name().to_owned();
        match make(&self.made, (&place.parent, name.clone()), self.circumstances) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(changed()),
            Err(error) => {
                remove(&place.parent, &name, 0);
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }
}

impl MadeDirectory {
    fn open(around: &OwnedFd, name: impl rustix::path::Arg + Copy) -> io::Result<Self> {
        let stat = stage::look(around, name)?.ok_or(Errno::NOENT)?;
        if stat.st_mode & 0o700 != 0o700 {
            let mode = Mode::from_raw_mode(stat.st_mode & MODE | 0o700);
            rustix::fs::chmodat(around, name, mode, AtFlags::empty())?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(around, name, flags, Mode::empty())?;
        let xattrs = xattrs::read(&opened)?;
        Ok(Self { opened, attributes: Attributes { stat, xattrs } })
    }

    fn entries(&self) -> io::Result<Vec<(OsString, Stat)>> {
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.opened)? {
            let name = OsString::from_vec(entry.map_err(io::Error::from)?.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() >= MAX_ENTRIES {
                return Err(io::Error::other(format!("it has more than {MAX_ENTRIES} entries")));
            }
            entries.extend(stage::look(&self.opened, &name)?.map(|stat| (name, stat)));
        }
        Ok(entries)
    }

    /// Checks a directory with all that is in it.
    fn check(&self, circumstances: Circumstances<'_>, size: &mut Size, depth: usize) -> io::Result<()> {
        if depth >= MAX_DEPTH {
            return Err(io::Error::other(format!("it has more than {MAX_DEPTH} directories in each other")));
        }
        let mut own = self.attributes.clone();
        own.stat.st_mode &= !SET_ID;
        attributes::check(None, &own, circumstances.own)?;
        for (name, stat) in self.entries()? {
            size.entries += 1;
            size.bytes = size.bytes.saturating_add(u64::try_from(stat.st_size).unwrap_or(u64::MAX));
            if size.entries > MAX_ENTRIES || size.bytes > circumstances.limit {
                let limit = format!("{MAX_ENTRIES} entries, or more bytes than `--max-disk` allows");
                return Err(io::Error::other(format!("it has more than {limit}")));
            }
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {
                    Self::open(&self.opened, &name)?.check(circumstances, size, depth + 1)?;
                }
                FileType::RegularFile => {
                    let copy = open_copy(&self.opened, &name, stat, circumstances.limit)?;
                    attributes::check(None, &copy.attributes, circumstances.own)?;
                }
                kind => return Err(io::Error::other(NotAFile::in_directory(kind))),
            }
        }
        Ok(())
    }
}

/// Makes a directory with all that is in it.
fn make(
    made: &MadeDirectory,
    (around, name): (&OwnedFd, OsString),
    circumstances: Circumstances<'_>,
) -> io::Result<()> {
    let Circumstances { begun, own, limit, .. } = circumstances;
    let target = |now: &Attributes| attributes::target(None, now, true, begun, own);
    rustix::fs::mkdirat(around, &name, Mode::RWXU)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let new = rustix::fs::openat(around, &name, flags, Mode::empty())?;
    let group_bit = (rustix::fs::fstat(&new)?.st_mode | made.attributes.stat.st_mode) & GROUP_BIT;
    for (name, stat) in made.entries()? {
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            make(&MadeDirectory::open(&made.opened, &name)?, (&new, name), circumstances)?;
            continue;
        }
        let copy = open_copy(&made.opened, &name, stat, limit)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&new, &name, flags, Mode::RUSR | Mode::WUSR)?);
        content::write_new(&copy.file, &file)?;
        target(&copy.attributes).apply(&file)?;
    }
    let new = File::from(new);
    target(&made.attributes).apply(&new)?;
    if group_bit != 0 {
        let mode = rustix::fs::fstat(&new)?.st_mode & MODE | group_bit;
        rustix::fs::fchmod(&new, Mode::from_raw_mode(mode))?;
    }
    Ok(())
}

/// Removes what was made of a directory, as far as that is possible.
fn remove(around: &OwnedFd, name: &OsString, depth: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(around, name, flags, Mode::empty()).ok().filter(|_| depth <= MAX_DEPTH);
    let Some(opened) = opened else { return };
    for entry in rustix::fs::Dir::read_from(&opened).into_iter().flatten().flatten() {
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        match entry.file_type() {
            _ if name == "." || name == ".." => {}
            FileType::Directory => remove(&opened, &name, depth + 1),
            _ => drop(rustix::fs::unlinkat(&opened, &name, AtFlags::empty())),
        }
    }
    let _ = rustix::fs::unlinkat(around, name, AtFlags::REMOVEDIR);
}
