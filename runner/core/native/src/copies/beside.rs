//! A new file beside the one that it will replace, and the replacement itself.
//!
//! The kernel can exchange two names in one step. So what was replaced can still be looked at afterwards: if another
//! process has written it in the last moment, the exchange is undone.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use modbox_scratch::LEFTOVER_PREFIX;
use modbox_vocabulary::FileFingerprint;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::copies::stage;

/// Name on the machine that is taken back.
#[derive(Debug)]
pub(crate) struct Place {
    /// Path of the file.
    pub(crate) path: PathBuf,
    /// Its directory.
    pub(crate) parent: OwnedFd,
    /// The file as it was when the module's copy was made; `None` if it did not exist.
    pub(crate) was: Option<FileFingerprint>,
}

impl Place {
    pub(crate) fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// Checks that no other process has changed, made, removed or replaced the file, or replaced its directory.
    ///
    /// # Errors
    ///
    /// Fails when one has, or when the file cannot be looked at.
    pub(crate) fn check_unchanged(&self) -> io::Result<()> {
        self.check(self.was)
    }

    /// Checks that the file is in another state, and its directory is still there.
    fn check(&self, state: Option<FileFingerprint>) -> io::Result<()> {
        let parent = self.path.parent().unwrap_or_else(|| Path::new("/"));
        let (there, held) = (rustix::fs::lstat(parent)?, rustix::fs::fstat(&self.parent)?);
        if (there.st_dev, there.st_ino) != (held.st_dev, held.st_ino) {
            return Err(io::Error::other("another process has replaced its directory meanwhile"));
        }
        let now = stage::look(&self.parent, self.name())?;
        if now.as_ref().map(FileFingerprint::from) == state { Ok(()) } else { Err(changed()) }
    }

    /// Returns whether a state is that of the file with unchanged content. Renaming a file changes the time of its last
    /// status change, and so does opening one for writing on file systems in layers, which then copy it.
    fn is_same_content(&self, state: FileFingerprint) -> bool {
        let content = |state: FileFingerprint| FileFingerprint { changed: 0, ..state };
        self.was.map(content) == Some(content(state))
    }

    fn is_untouched(&self, displaced: &OsStr) -> io::Result<bool> {
        let now = stage::look(&self.parent, displaced)?;
        Ok(now.as_ref().map(FileFingerprint::from).is_some_and(|state| self.is_same_content(state)))
    }

    /// Opens the file, which no other process has changed.
    pub(crate) fn open(&self, access: OFlags) -> io::Result<OpenFile> {
        self.check_unchanged()?;
        let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::openat(&self.parent, self.name(), flags, Mode::empty())?);
        let state = FileFingerprint::from(&rustix::fs::fstat(&file)?);
        if self.is_same_content(state) { Ok(OpenFile { file, state }) } else { Err(changed()) }
    }

    /// Checks that no other process has changed a file since it was opened.
    pub(crate) fn check_open(&self, file: &OpenFile) -> io::Result<()> {
        self.check(Some(file.state))
    }

    /// Removes the file, if no other process has just changed it.
    pub(crate) fn remove(&self, notes: &Path) -> io::Result<()> {
        let beside = Beside::reserve(self, notes)?;
        let rename = |from, to| rustix::fs::renameat_with(&self.parent, from, &self.parent, to, RenameFlags::NOREPLACE);
        match rename(self.name(), beside.name()) {
            Ok(()) if self.is_untouched(beside.name())? => Ok(()),
            Ok(()) => {
                rename(beside.name(), self.name())?;
                Err(changed())
            }
            Err(errno) if is_unknown(errno) => Ok(rustix::fs::unlinkat(&self.parent, self.name(), AtFlags::empty())?),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Puts a new file in the place, if no other process has just changed the old one.
    pub(crate) fn put(&self, new: &Beside<'_>) -> io::Result<()> {
        let rename = |flags| rustix::fs::renameat_with(&self.parent, new.name(), &self.parent, self.name(), flags);
        let flags = if self.was.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        match rename(flags) {
            Ok(()) if self.was.is_none() || self.is_untouched(new.name())? => Ok(()),
            Ok(()) => {
                rename(flags)?;
                Err(changed())
            }
            Err(Errno::EXIST | Errno::NOENT) => Err(changed()),
            Err(errno) if is_unknown(errno) => {
                self.check_unchanged()?;
                Ok(rustix::fs::renameat(&self.parent, new.name(), &self.parent, self.name())?)
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

/// File in its place, which was opened.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: File,
    /// State of the file just after that.
    state: FileFingerprint,
}

/// Returns whether the file system has no renames with conditions.
fn is_unknown(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Returns the error for a file that another process has changed.
pub(crate) fn changed() -> io::Error {
    io::Error::other("another process has changed it meanwhile, so it was left as it is")
}

/// Reserved name beside a place. What has the name is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Beside<'a> {
    place: &'a Place,
    name: String,
    /// Link in the run's directory, by which the next run removes the file if this process is killed.
    note: PathBuf,
}

impl<'a> Beside<'a> {
    fn reserve(place: &'a Place, notes: &Path) -> io::Result<Self> {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let name = format!("{LEFTOVER_PREFIX}{:016x}", u64::from_ne_bytes(random));
        let note = notes.join(&name);
        // Without a note only a killed launcher leaves the file behind.
        let _ = symlink(place.path.with_file_name(&name), &note);
        Ok(Self { place, name, note })
    }

    /// Makes an empty file that only this user can read.
    pub(crate) fn make(place: &'a Place, notes: &Path) -> io::Result<(Self, File)> {
        let beside = Self::reserve(place, notes)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&place.parent, beside.name(), flags, Mode::RUSR | Mode::WUSR)?;
        Ok((beside, File::from(file)))
    }

    fn name(&self) -> &OsStr {
        OsStr::new(&self.name)
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.place.parent, self.name(), AtFlags::empty());
        let _ = std::fs::remove_file(&self.note);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    fn place(directory: &Path) -> Place {
        let path = directory.join("file");
        let was = path.symlink_metadata().ok().map(|found| FileFingerprint::from(&found));
        Place { parent: File::open(directory).unwrap().into(), path, was }
    }

    fn new<'a>(place: &'a Place, notes: &Path) -> Beside<'a> {
        let (new, mut file) = Beside::make(place, notes).unwrap();
        file.write_all(b"new").unwrap();
        new
    }

    fn content(path: impl AsRef<Path>) -> String {
        std::io::read_to_string(File::open(path).unwrap()).unwrap()
    }

    fn names(directory: &Path) -> Vec<String> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_made_and_removed_and_nothing_is_left() {
        let (dir, notes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for _made_then_replaced in 0..2 {
            let place = place(dir.path());
            place.put(&new(&place, notes.path())).unwrap();
            assert_eq!((content(&place.path).as_str(), names(dir.path()).len()), ("new", 1));
        }
        place(dir.path()).remove(notes.path()).unwrap();
        assert!(names(dir.path()).is_empty() && names(notes.path()).is_empty());
    }

    #[test]
    fn a_file_that_is_changed_in_the_last_moment_stays() {
        let (dir, notes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(dir.path().join("file"), "old").unwrap();
        let place = place(dir.path());
        let beside = new(&place, notes.path());
        fs::write(&place.path, "theirs").unwrap();
        for error in [place.put(&beside).unwrap_err(), place.remove(notes.path()).unwrap_err()] {
            assert!(error.to_string().contains("another process has changed it"), "{error}");
            assert_eq!(content(&place.path), "theirs");
        }
        drop(beside);
        assert_eq!(names(dir.path()), ["file"]);
    }

    #[test]
    fn a_file_that_is_made_in_the_last_moment_stays() {
        let (dir, notes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = place(dir.path());
        let beside = new(&place, notes.path());
        fs::write(&place.path, "theirs").unwrap();
        place.put(&beside).unwrap_err();
        assert_eq!(content(&place.path), "theirs");
    }

    #[test]
    fn a_file_that_a_killed_launcher_leaves_is_noted() {
        let (dir, notes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = place(dir.path());
        std::mem::forget(new(&place, notes.path()));
        let note = notes.path().join(&names(notes.path())[0]);
        assert_eq!(content(fs::read_link(note).unwrap()), "new");
    }
}
