//! Files of the machine that a room shows as copies, made anew after each command outside: a module that has made a user by one
//! looks it up.
//!
//! Where rules make homes, the homes of all users are directories of the room, if the machine has them. There is nothing in them:
//! `user` of Ansible asks only whether a home exists (ansible-core 2.21, `main`), and makes one itself if not. The passwords of the users
//! that rules name are in a file of the room; see [`passwords`].

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use modbox_policy::outside::BoundNames;
use modbox_vocabulary::FileFingerprint;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};

use crate::copies::commit::Stage;
use crate::copies::stage;
use crate::rooms::base;
use crate::rooms::directories::open_below;
use crate::rooms::passwords;

/// Name of a copy until it takes the place of the one before.
const NEW: &str = ".modbox-new";

/// Directory of the room's root in the module's own file system.
const ROOT: &str = "root";

/// The list of users.
const PASSWD: &str = "/etc/passwd";

/// Maximum number of homes that a room shows.
const MAX_HOMES: usize = 512;

/// A directory of the room's own in the place of one of the machine's, since the module may write single names in it.
#[derive(Debug)]
pub(crate) struct ShownStage {
    at: PathBuf,
    opened: OwnedFd,
    /// The names that the module may write. They are its own until it ends.
    granted: Vec<String>,
}

impl ShownStage {
    pub(crate) fn of(stage: &Stage) -> io::Result<Self> {
        let (names, opened) = stage.directory();
        let granted = names.names.iter().map(|staged| staged.name.clone()).collect();
        Ok(Self { at: PathBuf::from(&names.directory), opened: opened.try_clone()?, granted })
    }
}

/// Where the copies of a room are.
#[derive(Debug)]
struct Copies {
    /// The module's own file system.
    private: OwnedFd,
    stages: Vec<ShownStage>,
}

/// The copies of a room.
#[derive(Debug)]
pub(crate) struct Refresher {
    copies: Copies,
    /// What each file was when it was copied last.
    known: Vec<(&'static str, Option<FileFingerprint>)>,
    shows_homes: bool,
    /// Names of the users whose passwords the room shows.
    passwords_of: Vec<BoundNames>,
}

impl Refresher {
    pub(crate) fn new(
        (private, stages): (OwnedFd, Vec<ShownStage>),
        shows_homes: bool,
        passwords_of: Vec<BoundNames>,
    ) -> Self {
        let copies = Copies { private, stages };
        let known = base::CHANGED_BY_COMMANDS.into_iter().map(|path| (path, None)).collect();
        let mut refresher = Self { copies, known, shows_homes, passwords_of };
        if shows_homes {
            refresher.show_homes();
        }
        refresher.show_passwords();
        refresher
    }

    /// Copies the files that have changed. One that cannot be copied stays as it was.
    pub(crate) fn refresh(&mut self) {
        // The copies have exactly the modes of the files.
        let umask = rustix::process::umask(Mode::empty());
        for (path, known) in &mut self.known {
            if let Err(error) = refresh_one(&self.copies, Path::new(path), known) {
                tracing::debug!(path, %error, "failed to copy a file into a room again");
            }
        }
        if self.shows_homes {
            self.show_homes();
        }
        rustix::process::umask(umask);
        self.show_passwords();
    }
}

impl Refresher {
    /// Writes the passwords of named users into the room.
    fn show_passwords(&self) {
        if self.passwords_of.is_empty() {
            return;
        }
        let written = passwords::lines_of(&self.passwords_of).and_then(|lines| write_passwords(&self.copies, &lines));
        if let Err(error) = written {
            tracing::debug!(%error, "failed to show the passwords of named users");
        }
    }

    /// Makes a directory in the room for each home that the machine has.
    fn show_homes(&mut self) {
        let mut passwd = Vec::new();
        let read = File::open(PASSWD).and_then(|file| file.take(base::MAX_COPY).read_to_end(&mut passwd));
        if let Err(error) = read {
            tracing::debug!(%error, "failed to read the users");
        }
        for home in homes(&passwd).into_iter().filter(|home| home.is_dir()).take(MAX_HOMES) {
            let below = Path::new(ROOT).join(home.strip_prefix("/").unwrap_or(&home));
            if let Err(error) = open_below(&self.copies.private, &below) {
                tracing::debug!(home = %home.display(), %error, "failed to show that a home exists");
            }
        }
    }
}

impl Copies {
    /// Opens the directory in which the room has the copy of a file; `None` if the module may write that itself.
    fn around(&self, path: &Path) -> io::Result<Option<(OwnedFd, OsString)>> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        if let Some(stage) = self.stages.iter().find(|stage| stage.at == parent) {
            let is_granted = stage.granted.iter().any(|granted| *name == **granted);
            return (!is_granted).then(|| Ok((stage.opened.try_clone()?, name.to_owned()))).transpose();
        }
        let below = Path::new(ROOT).join(parent.strip_prefix("/").unwrap_or(parent));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        Ok(Some((rustix::fs::openat2(&self.private, &below, flags, Mode::empty(), within)?, name.to_owned())))
    }
}

/// Writes a file of passwords into a room, in the place of the one before.
fn write_passwords(copies: &Copies, lines: &[u8]) -> io::Result<()> {
    let Some((directory, name)) = copies.around(Path::new("/etc/shadow"))? else { return Ok(()) };
    let _ = rustix::fs::unlinkat(&directory, NEW, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(&directory, NEW, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(lines)?;
    Ok(rustix::fs::renameat(&directory, NEW, &directory, &name)?)
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

fn refresh_one(copies: &Copies, path: &Path, known: &mut Option<FileFingerprint>) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let from = rustix::fs::open(path, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&from)?;
    let found = FileFingerprint::from(&stat);
    let fits = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && base::is_copied(&stat);
    if !fits || *known == Some(found) {
        return Ok(());
    }
    let Some((directory, name)) = copies.around(path)? else { return Ok(()) };
    // Where the room shows the machine's own directory, there is no copy.
    if !is_copy(&directory, &name)? {
        return Ok(());
    }
    // Left by a copy that failed.
    let _ = rustix::fs::unlinkat(&directory, NEW, AtFlags::empty());
    stage::copy_base(&from, &stat, &directory, OsStr::new(NEW))?;
    rustix::fs::renameat(&directory, NEW, &directory, &name)?;
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
    fn passwords_are_written_for_the_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let private = || Copies { private: OwnedFd::from(fs::File::open(dir.path()).unwrap()), stages: Vec::new() };
        assert!(write_passwords(&private(), b"x").is_err(), "nothing is made around it");
        fs::create_dir_all(dir.path().join("root/etc")).unwrap();
        for lines in ["app:one\n", "app:other\n"] {
            write_passwords(&private(), lines.as_bytes()).unwrap();
            let file = dir.path().join("root/etc/shadow");
            let written = fs::File::open(&file).unwrap();
            assert_eq!(io::read_to_string(written.take(64)).unwrap(), lines);
            assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(dir.path().join("root/etc")).unwrap().count(), 1);
    }

    #[test]
    fn a_copy_is_replaced_if_the_file_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let (machine, room) = (dir.path().join("machine"), dir.path().join("private"));
        let copy = room.join(format!("root{}", machine.display()));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        let private = || Copies { private: OwnedFd::from(fs::File::open(&room).unwrap()), stages: Vec::new() };
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

    #[test]
    fn a_copy_beside_a_name_that_the_module_writes_is_replaced_and_that_name_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (machine, staged) = (dir.path().join("machine"), dir.path().join("staged"));
        [&machine, &staged].iter().for_each(|path| fs::create_dir(path).unwrap());
        for name in ["followed", "granted"] {
            fs::write(machine.join(name), "now").unwrap();
            fs::write(staged.join(name), "before").unwrap();
        }
        let open = |path: &Path| OwnedFd::from(fs::File::open(path).unwrap());
        let stage = ShownStage { at: machine.clone(), opened: open(&staged), granted: vec!["granted".to_owned()] };
        let copies = Copies { private: open(dir.path()), stages: vec![stage] };
        for (name, expect) in [("followed", "now"), ("granted", "before")] {
            refresh_one(&copies, &machine.join(name), &mut None).unwrap();
            assert_eq!(io::read_to_string(File::open(staged.join(name)).unwrap()).unwrap(), expect, "{name}");
        }
    }
}
