//! Shows a directory of the machine that the module only reads, with single names in it that the module may write.
//!
//! No rule of the kernel is about names, and a file that is mounted by itself cannot be replaced. So the module gets a
//! directory of its own in that place. Every other entry of the machine's directory is mounted in it for reading, each
//! by itself; links are made anew. What has the names that the module may write is staged, see
//! [`stage`](crate::copies::stage).

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use modbox_policy::{Access, PathGrant, Shape};
use modbox_vocabulary::time::settable_times;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::copies::stage;
use crate::inside::entries::{Entry, Source};
use crate::inside::mounts::{self, Attributes};
use crate::rooms::base;
use crate::rooms::room::Room;

/// Entries of a directory that are mounted one by one, at most. Each costs tens of microseconds.
const MAX_ENTRIES: usize = 1024;

/// Bits of a directory's mode. One that gives its group to what is made in it runs nothing as that group.
const MODE: u32 = 0o3777;

/// Directories of a room that stay as they are.
const FIXED: [&str; 4] = ["/", "/dev", "/proc", "/sys"];

/// Returns whether a directory has so few entries that a module can have one of its own in its place.
#[must_use]
pub fn can_make_in(directory: &Path) -> bool {
    !FIXED.iter().any(|fixed| directory == Path::new(fixed))
        && open(directory).and_then(|opened| names(&opened)).is_ok_and(|names| names.len() <= MAX_ENTRIES)
}

/// Returns the machine's directory that the room shows at `directory`, if the granted file lies in it.
pub(crate) fn on_host(room: &Room, directory: &Path, grant: &PathGrant) -> Option<PathBuf> {
    let around = |outer: &&PathGrant| outer.shape == Shape::Directory && directory.starts_with(&outer.guest);
    let host = match room.grants.iter().filter(around).max_by_key(|outer| outer.guest.len()) {
        Some(outer) => outer.host.join(directory.strip_prefix(&outer.guest).ok()?),
        None => base::paths().any(|base| directory.starts_with(base)).then(|| directory.to_owned())?,
    };
    let is_fixed = FIXED.iter().any(|fixed| directory == Path::new(fixed));
    (grant.host.parent() == Some(&host) && !is_fixed).then_some(host)
}

/// A directory of the machine, for one of the room's own in its place.
#[derive(Debug)]
pub(crate) struct Folder {
    /// What is in it, without the names that the module may write and what is shown there already.
    pub(crate) entries: Vec<Entry>,
    /// Its mode, owner and times.
    pub(crate) stat: Stat,
}

/// Reads the directory `host`, which the room shows at `directory`. Returns `None` if it has too many entries.
pub(crate) fn read(room: &Room, host: &Path, directory: &Path, shown: &[Entry]) -> io::Result<Option<Folder>> {
    let opened = open(host)?;
    let stat = rustix::fs::fstat(&opened)?;
    let names = names(&opened)?;
    if names.len() > MAX_ENTRIES {
        return Ok(None);
    }
    let is_written = |at: &Path| {
        let writes = |grant: &&PathGrant| grant.shape == Shape::Name && grant.access == Access::Write;
        room.grants.iter().filter(writes).any(|grant| Path::new(&grant.guest) == at)
    };
    let mut entries = Vec::new();
    for name in names {
        let at = directory.join(&name);
        if is_written(&at) || shown.iter().any(|entry| entry.at == at) {
            continue;
        }
        match entry(&opened, &name) {
            Ok(source) => entries.push(Entry { at, source }),
            // Another process has removed it, or this user cannot look at it.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EACCES)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(Folder { entries, stat }))
}

/// Gives the room's own directory the owner, mode and times of the machine's, as far as this user may. Its owner keeps all
/// permissions, since the module may replace its names in it; root needs none for that, and sees the mode as it is.
pub(crate) fn describe(own: &OwnedFd, stat: &Stat) -> io::Result<()> {
    stage::set_owner(own, stat);
    let kept = if rustix::process::geteuid().is_root() { 0 } else { 0o700 };
    rustix::fs::fchmod(own, Mode::from_raw_mode(stat.st_mode & MODE | kept))?;
    Ok(rustix::fs::futimens(own, &settable_times(stat))?)
}

fn entry(directory: &OwnedFd, name: &OsString) -> io::Result<Source> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    let sort = FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
    if sort == FileType::Symlink {
        let target = rustix::fs::readlinkat(&opened, "", Vec::new())?;
        return Ok(Source::Link(PathBuf::from(OsString::from_vec(target.into_bytes()))));
    }
    let tree = mounts::copy_of(&opened)?;
    mounts::restrict(&tree, Attributes::READ_ONLY)?;
    Ok(Source::Tree { tree, directory: sort == FileType::Directory, writable: false })
}

fn open(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat2(CWD, directory, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)?)
}

/// Returns the names in a directory; one more than the maximum if there are more.
fn names(directory: &OwnedFd) -> io::Result<Vec<OsString>> {
    let name = |entry: Result<rustix::fs::DirEntry, Errno>| {
        entry.map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec()))
    };
    let names = Dir::read_from(directory)?.map(name);
    let names = names.filter(|name| !name.as_ref().is_ok_and(|name| name == "." || name == ".."));
    Ok(names.take(MAX_ENTRIES + 1).collect::<Result<_, _>>()?)
}
