//! Finds files that a module has made in its own directories under names that it meant on the machine.
//!
//! The room has its own `/tmp`, and directories of its own on the way to granted paths. A path that an argument names is
//! not granted if its directory is missing on the machine. Then a module that first makes the directory makes both in
//! its own file system, where they are lost. What else it leaves in its `/tmp` may be no more than scrap, or what it says that it
//! made; the caller is told of it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use modbox_policy::MissingPath;
use modbox_vocabulary::LostChange;
use rustix::fs::{Dir, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::link::StageNames;
use crate::rooms::room::Room;

/// The room's own directories: path in the room, and in its own file system. The last one holds the rest.
const OWN: [(&str, &str); 4] = [("/tmp", "tmp"), ("/dev/shm", "shm"), ("/dev", "dev"), ("/", "root")];

/// Returns the paths that exist only in the room's own file system. `missing` are paths without a directory, and
/// `unmade` are names that cannot be made in theirs.
pub(crate) fn find<'a>(
    private: &OwnedFd,
    stages: impl Iterator<Item = (&'a StageNames, &'a OwnedFd)> + Clone,
    missing: &[MissingPath],
    unmade: &[PathBuf],
) -> Vec<LostChange> {
    let exists = |path: &Path| {
        let around = stages.clone().filter(|(names, _)| path.starts_with(&names.directory));
        let innermost = around.max_by_key(|(names, _)| names.directory.len());
        let staged = innermost.and_then(|(names, directory)| {
            let below = path.strip_prefix(&names.directory).ok()?;
            // Links that the module has made are not followed.
            Some(is_there(directory, below, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS))
        });
        staged.unwrap_or_else(|| {
            let own = OWN.iter().find_map(|(at, own)| Some(Path::new(own).join(path.strip_prefix(at).ok()?)));
            // The room's own links, such as `/bin`, are on the way to names of the machine.
            own.is_some_and(|own| is_there(private, &own, ResolveFlags::IN_ROOT))
        })
    };
    let missing = missing.iter().filter(|missing| exists(Path::new(&missing.first))).map(MissingPath::to_lost);
    let unmade = unmade.iter().filter(|path| exists(path)).map(|path| LostChange {
        path: path.display().to_string(),
        reason: "the module made it in a directory of its own, since it cannot be made in the machine's".to_owned(),
        allow: String::new(),
    });
    missing.chain(unmade).collect()
}

/// Entries of `/tmp` that are looked at; a caller is told of fewer.
const MAX_LEFT: usize = 256;

/// Returns what a module has left in the room's own `/tmp`, in order. What leads to granted paths is not the module's.
pub(crate) fn left_in_tmp(private: &OwnedFd, room: &Room) -> Vec<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(private, OWN[0].1, flags, Mode::empty());
    let Ok(entries) = opened.and_then(Dir::read_from) else { return Vec::new() };
    let granted = room.grants.iter().map(|grant| Path::new(&grant.guest));
    let shown = room.links.iter().map(|link| link.at.as_path()).chain(room.passed.iter().map(PathBuf::as_path));
    let programs = room.outside.iter().flat_map(|shown| [shown.program.as_path(), shown.place.as_path()]);
    let others: Vec<&Path> =
        granted.chain(shown).chain(programs).chain(room.home.as_deref()).chain([room.tmpdir.as_path()]).collect();
    let is_own = |path: &Path| !others.iter().any(|other| other.starts_with(path));
    let names = entries.map_while(Result::ok).map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    let paths = names.filter(|name| name != "." && name != "..").map(|name| Path::new(OWN[0].0).join(name));
    let left: BTreeSet<PathBuf> = paths.filter(|path| is_own(path)).take(MAX_LEFT).collect();
    left.into_iter().map(|path| path.display().to_string()).collect()
}

/// Returns whether anything has a name.
fn is_there(directory: &OwnedFd, below: &Path, resolve: ResolveFlags) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(directory, below, flags, Mode::empty(), resolve);
    !matches!(opened, Err(Errno::NOENT | Errno::NOTDIR))
}
