//! Files of the machine that a room shows as copies, made anew after each command outside: a module that has made a user by one
//! looks it up.
//!
//! Where rules make homes, the homes of all users are directories of the room, if the machine has them. There is nothing in them:
//! `user` of Ansible asks only whether a home exists (ansible-core 2.21, `main`), and makes one itself if not.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use modbox_vocabulary::FileFingerprint;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};

use crate::copies::stage;
use crate::rooms::base;
use crate::rooms::directories::open_below;

/// Name of a copy until it takes the place of the one before.
const NEW: &str = ".modbox-new";

/// Directory of the room's root in the module's own file system.
const ROOT: &str = "root";

/// The list of users.
const PASSWD: &str = "/etc/passwd";

/// Maximum number of homes that a room shows.
const MAX_HOMES: usize = 512;

/// The copies of a room.
#[derive(Debug)]
pub(crate) struct Refresher {
    /// The module's own file system.
    private: OwnedFd,
    /// What each file was when it was copied last.
    known: Vec<(&'static str, Option<FileFingerprint>)>,
    shows_homes: bool,
}

impl Refresher {
    pub(crate) fn new(private: OwnedFd, shows_homes: bool) -> Self {
        let known = base::CHANGED_BY_COMMANDS.into_iter().map(|path| (path, None)).collect();
        let mut refresher = Self { private, known, shows_homes };
        if shows_homes {
            refresher.show_homes();
        }
        refresher
    }

    /// Copies the files that have changed. One that cannot be copied stays as it was.
    pub(crate) fn refresh(&mut self) {
        // The copies have exactly the modes of the files.
        let umask = rustix::process::umask(Mode::empty());
        for (path, known) in &mut self.known {
            if let Err(error) = refresh_one(&self.private, Path::new(path), known) {
                tracing::debug!(path, %error, "failed to copy a file into a room again");
            }
        }
        if self.shows_homes {
            self.show_homes();
        }
        rustix::process::umask(umask);
    }
}

impl Refresher {
    /// Makes a directory in the room for each home that the machine has.
    fn show_homes(&mut self) {
        let mut passwd = Vec::new();
        let read = File::open(PASSWD).and_then(|file| file.take(base::MAX_COPY).read_to_end(&mut passwd));
        if let Err(error) = read {
            tracing::debug!(%error, "failed to read the users");
        }
        for home in homes(&passwd).into_iter().filter(|home| home.is_dir()).take(MAX_HOMES) {
            let below = Path::new(ROOT).join(home.strip_prefix("/").unwrap_or(&home));
            if let Err(error) = open_below(&self.private, &below) {
                tracing::debug!(home = %home.display(), %error, "failed to show that a home exists");
            }
        }
    }
}

/// Returns the homes of a list of users (passwd(5)), each once.
fn homes(passwd: &[u8]) -> BTreeSet<PathBuf> {
    let home = |line: &[u8]| {
        let home = Path::new(OsStr::from_bytes(line.split(|byte| *byte == b':').nth(5)?)).to_owned();
        let is_plain = home.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        (home.is_absolute() && is_plain).then_some(home)
    };
    passwd.split(|byte| *byte == b'\n').filter_map(home).collect()
}

fn refresh_one(private: &OwnedFd, path: &Path, known: &mut Option<FileFingerprint>) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let from = rustix::fs::open(path, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&from)?;
    let found = FileFingerprint::from(&stat);
    let fits = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && base::is_copied(&stat);
    if !fits || *known == Some(found) {
        return Ok(());
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let below = Path::new(ROOT).join(parent.strip_prefix("/").unwrap_or(parent));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let directory = rustix::fs::openat2(private, &below, flags, Mode::empty(), within)?;
    // Where the room shows the machine's own directory, there is no copy.
    if !is_copy(&directory, name)? {
        return Ok(());
    }
    // Left by a copy that failed.
    let _ = rustix::fs::unlinkat(&directory, NEW, AtFlags::empty());
    stage::copy_base(&from, &stat, &directory, OsStr::new(NEW))?;
    rustix::fs::renameat(&directory, NEW, &directory, name)?;
    *known = Some(found);
    Ok(())
}

fn is_copy(directory: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    let found = stage::look(directory, name)?;
    Ok(found.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_size > 0))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn homes_are_plain_paths() {
        let passwd =
            b"root:x:0:0:root:/root:/bin/sh\napp:x:1:1::/srv/app:\nother:x:2:2::/srv/app:\nup:x:3:3::/srv/../etc:\n\
            relative:x:4:4::home:\nshort:x:5\nlast:x:6:6:a,b:/home/\xff:/bin/sh";
        let expect = [Path::new("/home").join(OsStr::from_bytes(b"\xff")), "/root".into(), "/srv/app".into()];
        assert_eq!(homes(passwd).into_iter().collect::<Vec<_>>(), expect);
    }

    #[test]
    fn a_copy_is_replaced_if_the_file_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let (machine, room) = (dir.path().join("machine"), dir.path().join("private"));
        let copy = room.join(format!("root{}", machine.display()));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        let private = || OwnedFd::from(fs::File::open(&room).unwrap());
        let mut known = None;
        fs::write(&machine, "one").unwrap();
        refresh_one(&private(), &machine, &mut known).unwrap();
        assert!(!copy.exists() && known.is_none(), "what the room does not show is not made");
        fs::write(&copy, "before").unwrap();
        refresh_one(&private(), &machine, &mut known).unwrap();
        assert_eq!(io::read_to_string(File::open(&copy).unwrap()).unwrap(), "one");
        let first = copy.metadata().unwrap().ino();
        refresh_one(&private(), &machine, &mut known).unwrap();
        assert_eq!(copy.metadata().unwrap().ino(), first, "an unchanged file is not copied again");
        // Programs of the system replace it by another file.
        fs::write(dir.path().join("new"), "two").unwrap();
        fs::rename(dir.path().join("new"), &machine).unwrap();
        refresh_one(&private(), &machine, &mut known).unwrap();
        assert_eq!(io::read_to_string(File::open(&copy).unwrap()).unwrap(), "two");
        let names = fs::read_dir(copy.parent().unwrap()).unwrap().count();
        assert_eq!(names, 1);
        fs::remove_file(&machine).unwrap();
        assert!(refresh_one(&private(), &machine, &mut known).is_err());
        assert_eq!(io::read_to_string(File::open(&copy).unwrap()).unwrap(), "two");
    }
}
