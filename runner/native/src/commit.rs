//! Copies the files of single-name write grants back to the machine, once no process of the module runs any more.
//!
//! The launcher does this, outside the room. It expects anything in the staged directory: a file is copied back, a name
//! that is gone is removed, and all else is refused. A file is written beside the old one and renamed over it, so that
//! readers never see half of it; where this user may not write the directory, it is written in place. Files that
//! another process changed meanwhile are not overwritten.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use modbox_scratch::LEFTOVER_PREFIX;
use modbox_vocabulary::FileFingerprint;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::link::StageNames;
use crate::stage::{self, MODE};

/// Upper bound of the names in a report.
const MAX_STRAYS: usize = 64;

/// Directory of single-name write grants, while the module runs.
#[derive(Debug)]
pub(super) struct Stage {
    names: StageNames,
    directory: OwnedFd,
    /// Names in the directory before the module ran.
    present: BTreeSet<String>,
    files: Vec<Name>,
}

#[derive(Debug)]
struct Name {
    name: String,
    host: PathBuf,
    /// The machine's directory that the file belongs to.
    parent: OwnedFd,
    /// The file on the machine and the module's copy, as they were at the beginning.
    was: Option<Stat>,
    shown: Option<Stat>,
}

impl Stage {
    /// Records the state before the module runs.
    pub(super) fn new(names: StageNames, directory: OwnedFd) -> io::Result<Self> {
        let mut files = Vec::new();
        for (name, host) in &names.names {
            let (Some(parent), Some(own)) = (host.parent(), host.file_name().and_then(|own| own.to_str())) else {
                continue;
            };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let parent = rustix::fs::openat2(rustix::fs::CWD, parent, flags, Mode::empty(), resolve)?;
            let (was, shown) = (stage::look(&parent, own)?, stage::look(&directory, name)?);
            files.push(Name { name: name.clone(), host: host.clone(), parent, was, shown });
        }
        let present = list(&directory)?;
        Ok(Self { names, directory, present, files })
    }

    /// Copies every name back. Returns the failures, each with its path.
    pub(super) fn commit(&self, limit: u64) -> Vec<(PathBuf, io::Error)> {
        let one = |name: &Name| Some((name.host.clone(), name.commit(&self.directory, limit).err()?));
        self.files.iter().filter_map(one).collect()
    }

    /// Returns the paths of files that the module made here beside its granted names; they are not kept.
    pub(super) fn strays(&self) -> Vec<PathBuf> {
        if self.names.private {
            return Vec::new();
        }
        let found = list(&self.directory).unwrap_or_default();
        let granted = |name: &String| self.files.iter().any(|file| file.name == *name);
        let strays = found.into_iter().filter(|name| !granted(name) && !self.present.contains(name));
        strays.take(MAX_STRAYS).map(|name| Path::new(&self.names.directory).join(name)).collect()
    }
}

impl Name {
    fn commit(&self, staged: &OwnedFd, limit: u64) -> io::Result<()> {
        let now = stage::look(staged, &self.name)?;
        if same(now.as_ref(), self.shown.as_ref()) {
            return Ok(());
        }
        let own = self.host.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !same(stage::look(&self.parent, own)?.as_ref(), self.was.as_ref()) {
            return Err(io::Error::other("another process has changed it meanwhile, so it was left as it is"));
        }
        let Some(now) = now else { return Ok(rustix::fs::unlinkat(&self.parent, own, AtFlags::empty())?) };
        if FileType::from_raw_mode(now.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("the module has made something else than a file of it"));
        }
        if u64::try_from(now.st_size).unwrap_or(u64::MAX) > limit {
            return Err(io::Error::other("it is longer than the limit of what may be written"));
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::openat(staged, &self.name, flags, Mode::empty())?);
        match self.replace(own, &file, &now) {
            Err(error) if is_refused(&error) && self.was.is_some() => self.overwrite(own, &file, &now),
            replaced => replaced,
        }
    }

    /// Writes the file beside the old one, and renames it over the old one.
    fn replace(&self, own: &str, file: &File, now: &Stat) -> io::Result<()> {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let beside = format!("{LEFTOVER_PREFIX}{:016x}", u64::from_ne_bytes(random));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut new = File::from(rustix::fs::openat(&self.parent, &*beside, flags, Mode::RUSR | Mode::WUSR)?);
        let mut written = || -> io::Result<()> {
            let mut file = file;
            io::copy(&mut file, &mut new)?;
            self.keep_attributes(own, &new);
            stage::describe(&new, now)?;
            Ok(rustix::fs::renameat(&self.parent, &*beside, &self.parent, own)?)
        };
        let written = written();
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.parent, &*beside, AtFlags::empty());
        }
        written
    }

    /// Copies the extended attributes of the old file: access lists, labels.
    fn keep_attributes(&self, own: &str, new: &File) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let Ok(old) = rustix::fs::openat(&self.parent, own, flags, Mode::empty()) else { return };
        let mut names = vec![0_u8; 64 << 10];
        let Ok(length) = rustix::fs::flistxattr(&old, &mut names[..]) else { return };
        let mut value = vec![0_u8; 64 << 10];
        for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            // The capabilities of a file belong to its old content.
            if name == b"security.capability" {
                continue;
            }
            if let Ok(length) = rustix::fs::fgetxattr(&old, name, &mut value[..]) {
                let _ = rustix::fs::fsetxattr(new, name, &value[..length], rustix::fs::XattrFlags::empty());
            }
        }
    }

    /// Writes into the old file, where it cannot be replaced.
    fn overwrite(&self, own: &str, file: &File, now: &Stat) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mut old = File::from(rustix::fs::openat(&self.parent, own, flags, Mode::empty())?);
        let mut file = file;
        io::Seek::rewind(&mut file)?;
        io::copy(&mut file, &mut old)?;
        // Fails if this user does not own the file; its mode then stays.
        let _ = rustix::fs::fchmod(&old, Mode::from_raw_mode(now.st_mode & MODE));
        Ok(())
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM | libc::EROFS | libc::EBUSY))
}

/// Returns whether a file is unchanged between two looks.
fn same(one: Option<&Stat>, other: Option<&Stat>) -> bool {
    one.map(FileFingerprint::from) == other.map(FileFingerprint::from)
}

fn list(directory: &OwnedFd) -> io::Result<BTreeSet<String>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, ".", flags, Mode::empty())?;
    let mut names = BTreeSet::new();
    for entry in rustix::fs::Dir::read_from(&opened)? {
        let name = entry.map_err(|errno: Errno| io::Error::from(errno))?.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            names.insert(name);
        }
    }
    Ok(names)
}
