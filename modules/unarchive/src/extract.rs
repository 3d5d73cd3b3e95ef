//! Writes members to `dest`. Each file is first complete under a temporary name, and no link out of `dest` is followed.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use modbox_sdk::Failure;
use modbox_sdk::files::{self, NewTime};
use modbox_sdk::fs::{symlink, words, write_cause};

use crate::dest::Dest;
use crate::member::{Kind, Member};

/// An extraction in progress.
pub(crate) struct Extraction<'d> {
    dest: &'d Dest,
    keep_newer: bool,
    /// Whether entries are replaced as by `unzip`, and not as by `tar`.
    is_zip: bool,
    /// The folders whose attributes are set at the end: earlier, the mode could prevent writing into a folder, and
    /// writing would change its times.
    folders: BTreeMap<PathBuf, Member>,
    /// The parent folders that exist.
    made: HashSet<PathBuf>,
}

impl<'d> Extraction<'d> {
    pub(crate) fn new(dest: &'d Dest, keep_newer: bool, is_zip: bool) -> Self {
        Self { dest, keep_newer, is_zip, folders: BTreeMap::new(), made: HashSet::new() }
    }

    /// Writes one member.
    pub(crate) fn extract(&mut self, member: &Member, contents: &mut dyn Read) -> Result<(), Failure> {
        let path = self.dest.path.join(&member.path);
        if self.keep_newer && is_newer(member, &path) {
            return Ok(());
        }
        self.make_folders(member)?;
        let failed = |error: io::Error| Failure::new(format!("failed to unpack `{}`: {}", member.name, words(&error)));
        match &member.kind {
            Kind::Directory => {
                let is_new = self.make_folder(&path).map_err(failed)?;
                // `unzip` leaves a folder that is there as it is.
                if is_new || !self.is_zip {
                    self.folders.insert(path, member.clone());
                }
                Ok(())
            }
            Kind::File => self.replace(&path, |temporary| self.write(member, temporary, contents)).map_err(failed),
            Kind::Link(says) => self.replace(&path, |temporary| symlink(Path::new(says), temporary)).map_err(failed),
            Kind::Hard(target) => {
                if !self.dest.holds(target) {
                    let why = "it is a hard link to a path below a link that leads out of dest";
                    return Err(Failure::new(format!("refused to unpack the member `{}`: {why}", member.name)));
                }
                let target = self.dest.path.join(target);
                if same_file(&target, &path) {
                    return Ok(());
                }
                self.replace(&path, |temporary| fs::hard_link(&target, temporary)).map_err(failed)
            }
        }
    }

    /// Sets the attributes of folders, inner ones first.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        for (path, member) in self.folders.iter().rev() {
            self.dress(member, path)
                .map_err(|error| Failure::new(format!("failed to unpack `{}`: {}", member.name, words(&error))))?;
        }
        Ok(())
    }

    /// Creates the parent folders of a member. An existing one may be a link, if it leads to a folder in `dest`.
    fn make_folders(&mut self, member: &Member) -> Result<(), Failure> {
        let folders: Vec<&Path> =
            member.path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).collect();
        for folder in folders.into_iter().rev() {
            if self.made.contains(folder) {
                continue;
            }
            if !self.dest.holds(&folder.join("x")) {
                let why = format!("`{}` is a link that leads out of dest", folder.display());
                return Err(Failure::new(format!("refused to unpack the member `{}`: {why}", member.name)));
            }
            let path = self.dest.path.join(folder);
            let there = modbox_sdk::fs::real_path(&path).is_ok_and(|path| path.is_dir());
            if !there {
                fs::create_dir(&path).map_err(|error| {
                    Failure::new(format!(
                        "failed to create the folder `{}` for `{}`: {}",
                        folder.display(),
                        member.name,
                        words(&error)
                    ))
                })?;
            }
            self.made.insert(folder.to_owned());
        }
        Ok(())
    }

    /// Makes a folder, and returns whether it is new.
    fn make_folder(&self, path: &Path) -> io::Result<bool> {
        match files::stat(path, false) {
            Ok(found) if found.directory => return Ok(false),
            Ok(found) if self.is_zip && found.target.is_some() && path.is_dir() => return Ok(false),
            Ok(_) if self.is_zip => {
                return Err(io::Error::new(ErrorKind::AlreadyExists, "another file is in its place"));
            }
            Ok(_) => fs::remove_file(path)?,
            Err(_) => {}
        }
        fs::create_dir(path).map(|()| true)
    }

    /// Creates a file under a temporary name and then renames it, so that no existing link is followed.
    fn replace(&self, path: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        let is_folder = files::stat(path, false).is_ok_and(|found| found.directory);
        if is_folder && self.is_zip {
            return Err(io::Error::new(ErrorKind::IsADirectory, "a folder is in its place"));
        }
        let temporary = path.with_file_name(format!(".modbox_tmp{:016x}", RandomState::new().hash_one(path)));
        // `tar` replaces an empty folder.
        let clear = || if is_folder { fs::remove_dir(path) } else { Ok(()) };
        let made = make(&temporary).and_then(|()| clear()).and_then(|()| fs::rename(&temporary, path));
        if made.is_err() {
            // The first error is more useful than that of the clean-up.
            let _ = fs::remove_file(&temporary);
        }
        made
    }

    fn write(&self, member: &Member, path: &Path, contents: &mut dyn Read) -> io::Result<()> {
        let mut file = File::create_new(path)?;
        // Other users must not read the file before it has its mode.
        files::set_mode(path, 0o600)?;
        let written = io::copy(contents, &mut file).map_err(|error| write_cause(path, error))?;
        drop(file);
        if written != member.size {
            return Err(io::Error::new(ErrorKind::InvalidData, "it is not as long as the archive says"));
        }
        self.dress(member, path)
    }

    fn dress(&self, member: &Member, path: &Path) -> io::Result<()> {
        if let Some(modified) = member.modified {
            files::set_times(path, true, NewTime::Keep, NewTime::At(modified.into()))?;
        }
        files::set_mode(path, self.dest.mode(member))
    }
}

/// Returns whether `tar` keeps what is in a member's place, since it is as new, or cannot be seen.
pub(crate) fn is_newer(member: &Member, path: &Path) -> bool {
    let found = match files::stat(path, false) {
        Ok(found) => found,
        Err(error) => return error.kind() != ErrorKind::NotFound,
    };
    let there = || files::times(path, false).ok().map(|times| times.modification);
    !found.directory && there().is_none_or(|there| member.modified.is_none_or(|modified| there >= modified.into()))
}

fn same_file(left: &Path, right: &Path) -> bool {
    let id = |path: &Path| files::stat(path, false).ok().map(|found| (found.device, found.inode));
    id(left).is_some() && id(left) == id(right)
}
