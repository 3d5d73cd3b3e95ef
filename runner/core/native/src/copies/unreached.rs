//! Finds files that a module has made in its own directories under names that it meant on the machine.
//!
//! The room has its own `/tmp`, and directories of its own on the way to granted paths. A path that an argument names is
//! not granted if its directory is missing on the machine. Then a module that first makes the directory makes both in
//! its own file system, where they are lost.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use modbox_policy::MissingPath;
use modbox_vocabulary::LostChange;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::link::StageNames;

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

/// Returns whether anything has a name.
fn is_there(directory: &OwnedFd, below: &Path, resolve: ResolveFlags) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(directory, below, flags, Mode::empty(), resolve);
    !matches!(opened, Err(Errno::NOENT | Errno::NOTDIR))
}
