//! The file system of a room: a root that contains the granted paths, the runtime base and the module's own
//! directories.
//!
//! It is built in two parts. First every path is opened and its mounts are copied, while the machine's own root is
//! still the root. Then the copies are mounted in a new root, outer ones before inner ones. All of the module's own
//! directories lie in one file system in memory, whose size is the limit: the root, `/tmp`, `/dev`, the directory of
//! its files, and the directories for single names that it may write (see [`stage`](super::stage)).

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use modbox_kernel::{Absent, Links, PathRule, Rights};
use modbox_policy::{Access, PathGrant, Shape};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::link::{Failure, StageNames};
use crate::mounts::{self, Attributes};
use crate::own::{listing_of, make_directory, open_below, open_directory, private, proc, terminals};
use crate::places::Places;
use crate::room::Room;
use crate::step::Step;
use crate::{base, stage};

/// The module's own directories: name in its file system, path in the room, and mode.
const OWN_DIRECTORIES: [(&str, &str, u32); 3] =
    [("tmp", "/tmp", 0o1777), ("dev", "/dev", 0o755), ("shm", "/dev/shm", 0o1777)];

/// Maximum size of a small file in bytes.
const SMALL: u64 = 32 << 10;

/// Links in `/dev` that programs expect.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/dev/ptmx", "pts/ptmx"),
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// Path of the room's own terminals.
const TERMINALS: &str = "/dev/pts";

/// Directory of single-name write grants, with its open descriptor.
pub(super) type StageDirectory = (StageNames, OwnedFd);

/// File system of a room, once this process is in it.
#[derive(Debug)]
pub(super) struct Root {
    /// Landlock rules for the same paths.
    pub(super) rules: Vec<PathRule>,
    /// The module's own file system.
    pub(super) private: OwnedFd,
    /// The room's `/proc`.
    pub(super) proc: OwnedFd,
    /// Directories of single-name write grants.
    pub(super) stages: Vec<StageDirectory>,
    pub(super) notes: Vec<String>,
}

/// Mount or link to make in the room.
#[derive(Debug)]
struct Entry {
    at: PathBuf,
    source: Source,
}

impl Entry {
    fn depth(&self) -> usize {
        self.at.components().count()
    }
}

#[derive(Debug)]
enum Source {
    /// Copy of a mount. `directory` is whether it is a directory, and `writable` whether the module may write it.
    Tree {
        tree: OwnedFd,
        directory: bool,
        writable: bool,
    },
    /// Directory of the room's own file system.
    Own(String),
    Link(PathBuf),
    /// File of the base that is so small that a copy is cheaper than a mount.
    Copy(OwnedFd, Stat),
}

/// Makes the root, and changes this process's root to it.
pub(super) fn enter(room: &Room) -> Result<Root, Failure> {
    let at = |step| move |error: io::Error| Failure::new(step, &error);
    mounts::make_private().map_err(at(Step::Mounts))?;
    let own_files = open_directory(&room.tmpdir).map_err(Failure::with(Step::Files, &room.tmpdir))?;
    let own_proc = proc(room).map_err(at(Step::ProcMount))?;
    let proc = listing_of(&own_proc).map_err(at(Step::ProcMount))?;
    let mut rules = Rules::default();
    let mut entries = sources(room, &mut rules)?;
    entries
        .push(Entry { at: "/proc".into(), source: Source::Tree { tree: own_proc, directory: true, writable: false } });
    // A kernel may lack devpts.
    if let Ok(tree) = terminals() {
        entries.push(Entry { at: TERMINALS.into(), source: Source::Tree { tree, directory: true, writable: false } });
        rules.add(Path::new(TERMINALS), Rights::DeviceDirectory);
    }
    let kept = room.kept.then(|| mounts::copy_of(&own_files)).transpose().map_err(at(Step::Files))?;

    // From here on the new root is built in the directory of the run.
    let private = private(room).map_err(at(Step::Private))?;
    mounts::attach(&private, &own_files).map_err(at(Step::Private))?;
    for (name, _, mode) in OWN_DIRECTORIES {
        make_directory(&private, name, mode).map_err(at(Step::Private))?;
    }
    make_directory(&private, "root", 0o755).map_err(at(Step::Private))?;
    let own = if let Some(tree) = kept {
        Source::Tree { tree, directory: true, writable: true }
    } else {
        make_directory(&private, "run", 0o700).map_err(at(Step::Files))?;
        stage::copy_flat(&own_files, &private, "run").map_err(at(Step::Files))?;
        Source::Own("run".to_owned())
    };
    entries.push(Entry { at: room.tmpdir.clone(), source: own });
    rules.add(&room.tmpdir, Rights::OwnDirectory);

    let (stages, notes) = names(room, &private, &mut entries, &mut rules)?;
    let root = mount_all(&private, entries)?;
    mounts::change_root(&root).map_err(at(Step::Root))?;
    Ok(Root { rules: rules.0, private, proc, stages, notes })
}

/// Returns the mounts and links of the room, except single names that the module may write.
fn sources(room: &Room, rules: &mut Rules) -> Result<Vec<Entry>, Failure> {
    let mut entries: Vec<Entry> = OWN_DIRECTORIES
        .iter()
        .map(|(name, at, _)| Entry { at: at.into(), source: Source::Own((*name).to_owned()) })
        .collect();
    entries.extend(DEVICE_LINKS.map(|(at, to)| Entry { at: at.into(), source: Source::Link(to.into()) }));
    entries.extend(room.links.iter().map(|(at, to)| Entry { at: at.clone(), source: Source::Link(to.clone()) }));
    rules.add(Path::new("/"), Rights::RunDirectory);
    rules.add(Path::new("/tmp"), Rights::OwnDirectory);
    rules.add(Path::new("/dev/shm"), Rights::OwnDirectory);
    for device in base::DEVICES {
        if let Some(source) = tree(Path::new(device), Attributes::DEVICE, false, Links::Follow)? {
            entries.push(Entry { at: device.into(), source });
            rules.add(Path::new(device), Rights::Device);
        }
    }
    let shown = |path: &str| {
        let around = |grant: &PathGrant| grant.shape == Shape::Directory && Path::new(path).starts_with(&grant.guest);
        room.grants.iter().any(around)
    };
    for path in base::PROGRAMS.into_iter().filter(|path| !shown(path)) {
        let source = match rustix::fs::readlink(path, Vec::new()) {
            Ok(target) => Some(Source::Link(PathBuf::from(os_string(target)))),
            Err(_) => tree(Path::new(path), Attributes::READ_ONLY, false, Links::Follow)?,
        };
        entries.extend(source.map(|source| Entry { at: path.into(), source }));
    }
    for path in base::CONFIGURATION.into_iter().filter(|path| !shown(path)) {
        let source = configuration(Path::new(path))?;
        entries.extend(source.map(|source| Entry { at: path.into(), source }));
    }
    for grant in &room.grants {
        let attributes = match grant.access {
            Access::Read => Attributes::READ_ONLY,
            Access::Write if grant.shape == Shape::Directory => Attributes::PLAIN,
            Access::Write => continue,
        };
        let writable = grant.access == Access::Write;
        let Some(source) = tree(&grant.host, attributes, writable, Links::Refuse)? else {
            if grant.shape == Shape::Directory {
                let missing = Failure::with(Step::Grant, &grant.host);
                return Err(missing(Errno::NOENT.into()));
            }
            continue;
        };
        if writable {
            rules.add(Path::new(&grant.guest), Rights::OwnDirectory);
        }
        entries.push(Entry { at: PathBuf::from(&grant.guest), source });
    }
    Ok(entries)
}

/// PathDecision how the module sees each single name that it may write. By default it is a file in one of the room's own
/// directories, from which it is copied back at the end. Where its directory is one of the machine's, it is the file
/// itself, which must exist and cannot be replaced.
fn names(
    room: &Room,
    private: &OwnedFd,
    entries: &mut Vec<Entry>,
    rules: &mut Rules,
) -> Result<(Vec<StageDirectory>, Vec<String>), Failure> {
    let mut stages: Vec<StageDirectory> = Vec::new();
    let mut notes = Vec::new();
    let single = |grant: &&PathGrant| grant.shape == Shape::Name && grant.access == Access::Write;
    for grant in room.grants.iter().filter(single) {
        let guest = Path::new(&grant.guest);
        let (Some(directory), Some(name)) = (guest.parent(), guest.file_name()) else { continue };
        let name = name.to_string_lossy().into_owned();
        let around = entries.iter().filter(|entry| directory.starts_with(&entry.at));
        let around = around.filter(|entry| !matches!(entry.source, Source::Link(_) | Source::Copy(..)));
        let own = match around.max_by_key(|entry| entry.at.as_os_str().len()).map(|entry| (&entry.at, &entry.source)) {
            Some((_, Source::Tree { writable: true, .. })) => continue,
            Some((_, Source::Tree { .. } | Source::Link(_) | Source::Copy(..))) => None,
            Some((at, Source::Own(own))) if at == directory && (own == "tmp" || own.starts_with("stage-")) => {
                Some(PathBuf::from(own))
            }
            // The root directory, `/dev` and the like stay as they are.
            None if directory == Path::new("/") => None,
            Some((_, Source::Own(own))) if own != "tmp" && !own.starts_with("stage-") => None,
            Some(_) | None => {
                let own = format!("stage-{}", stages.len());
                make_directory(private, &own, 0o755).map_err(Failure::with(Step::Grant, &grant.host))?;
                entries.push(Entry { at: directory.to_owned(), source: Source::Own(own.clone()) });
                rules.add(directory, Rights::OwnDirectory);
                Some(own.into())
            }
        };
        let failed = || Failure::with(Step::Grant, &grant.host);
        if let Some(own) = own
            && stage::fits(&grant.host, room.limits.max_disk).map_err(failed())?
        {
            let opened = open_below(private, &own).map_err(failed())?;
            stage::copy_in(&grant.host, &opened, &name).map_err(failed())?;
            let directory = directory.display().to_string();
            match stages.iter_mut().find(|(stage, _)| stage.directory == directory) {
                Some((stage, _)) => stage.names.push((name, grant.host.clone())),
                None => {
                    let private = directory == "/tmp";
                    let names = vec![(name, grant.host.clone())];
                    stages.push((StageNames { directory, private, names }, opened));
                }
            }
            continue;
        }
        match tree(&grant.host, Attributes::PLAIN, true, Links::Refuse)? {
            Some(source) => {
                notes.push(format!("`{}` is written in place and cannot be replaced or removed", grant.guest));
                entries.push(Entry { at: guest.to_owned(), source });
                rules.add(guest, Rights::OwnFile);
            }
            None => notes
                .push(format!("`{}` cannot be made, since its directory is granted for reading alone", grant.guest)),
        }
    }
    Ok((stages, notes))
}

/// Mounts all entries, outer ones before inner ones, and returns the root.
fn mount_all(private: &OwnedFd, mut entries: Vec<Entry>) -> Result<OwnedFd, Failure> {
    let ways_at = ways(private, &mut entries)?;
    let mut ways = Vec::new();
    let root_place = open_below(private, Path::new("root")).map_err(|error| Failure::new(Step::Root, &error))?;
    // Entries of one directory follow each other; a later entry for the same path covers an earlier one.
    entries.sort_by(|one, other| (one.depth(), &one.at).cmp(&(other.depth(), &other.at)));
    let tree = match entries.first() {
        Some(Entry { at, source: Source::Tree { .. } }) if at == Path::new("/") => match entries.remove(0).source {
            Source::Tree { tree, .. } => tree,
            Source::Own(_) | Source::Link(_) | Source::Copy(..) => {
                unreachable!("it was just looked at")
            }
        },
        _ => mounts::copy_of(&root_place).map_err(|error| Failure::new(Step::Root, &error))?,
    };
    mounts::attach(&tree, &root_place).map_err(|error| Failure::new(Step::Root, &error))?;
    // The descriptor of a tree also refers to its root directory after the tree is mounted.
    let mut places = Places::new(tree);
    for Entry { at, source } in entries {
        let mounted = mount(&mut places, private, &at, source).map_err(Failure::with(Step::Grant, &at))?;
        ways.extend(mounted.filter(|_| ways_at.contains(&at)));
    }
    // Restricted last, because the mount points on them have to be made first.
    for way in ways {
        mounts::restrict_only(way, Attributes::READ_ONLY).map_err(|error| Failure::new(Step::Private, &error))?;
    }
    Ok(places.into_root())
}

/// Adds the directories in the module's `/tmp` that only lead to granted paths below them. They are read-only: a file
/// created there would look as if it were in the machine's directory of that name.
fn ways(private: &OwnedFd, entries: &mut Vec<Entry>) -> Result<BTreeSet<PathBuf>, Failure> {
    let first = |entry: &Entry| {
        let below = entry.at.strip_prefix("/tmp").ok()?;
        let mut components = below.components();
        let first = components.next()?;
        components.next().map(|_| Path::new("/tmp").join(first))
    };
    let ways: BTreeSet<PathBuf> = entries.iter().filter_map(first).collect();
    let ways: BTreeSet<PathBuf> = ways.into_iter().filter(|way| entries.iter().all(|entry| entry.at != *way)).collect();
    for (number, way) in ways.iter().enumerate() {
        let own = format!("way-{number}");
        make_directory(private, &own, 0o755).map_err(|error| Failure::new(Step::Private, &error))?;
        entries.push(Entry { at: way.clone(), source: Source::Own(own) });
    }
    Ok(ways)
}

/// Mounts one entry. Returns the mounted tree if it is one of the room's own directories.
fn mount(places: &mut Places, private: &OwnedFd, at: &Path, source: Source) -> io::Result<Option<OwnedFd>> {
    match source {
        Source::Link(target) => {
            let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else { return Ok(None) };
            match rustix::fs::symlinkat(&target, places.directory(parent)?, name) {
                // The link exists when the room has the machine's own root.
                Ok(()) | Err(Errno::EXIST | Errno::ROFS) => Ok(None),
                Err(errno) => Err(errno.into()),
            }
        }
        Source::Copy(file, stat) => {
            let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else { return Ok(None) };
            match stage::copy_base(&file, &stat, places.directory(parent)?, name) {
                // A granted file takes precedence.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
                copied => copied.map(|()| None),
            }
        }
        Source::Own(own) => {
            let place = places.place(at, true)?;
            let tree = mounts::copy_of(open_below(private, Path::new(&own))?)?;
            mounts::restrict(&tree, Attributes::PLAIN)?;
            mounts::attach(&tree, place)?;
            Ok(Some(tree))
        }
        Source::Tree { tree, directory, .. } => mounts::attach(tree, places.place(at, directory)?).map(|()| None),
    }
}

/// Returns the entry for a path of the configuration, or `None` if the path does not exist.
fn configuration(path: &Path) -> Result<Option<Source>, Failure> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        opened => opened.and_then(|opened| rustix::fs::fstat(&opened).map(|stat| (opened, stat))),
    };
    match opened {
        Ok((opened, stat)) if is_small(&stat) => Ok(Some(Source::Copy(opened, stat))),
        _ => tree(path, Attributes::READ_ONLY, false, Links::Follow),
    }
}

fn is_small(stat: &Stat) -> bool {
    let file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    file && u64::try_from(stat.st_size).is_ok_and(|size| size <= SMALL)
}

/// Copies the mounts at a path of the machine. Returns `None` if the path does not exist.
fn tree(path: &Path, attributes: Attributes, writable: bool, links: Links) -> Result<Option<Source>, Failure> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = match links {
        Links::Follow => rustix::fs::open(path, flags, Mode::empty()),
        Links::Refuse => {
            let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)
        }
    };
    let opened = match opened {
        Ok(opened) => opened,
        // A path of the base that this user cannot reach is left out: the module could not reach it either.
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::ACCESS) if links == Links::Follow => return Ok(None),
        Err(errno) => return Err(Failure::with(Step::Grant, path)(errno.into())),
    };
    let copy = || -> io::Result<Source> {
        let file_type = FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
        let tree = mounts::copy_of(&opened)?;
        mounts::restrict(&tree, attributes)?;
        Ok(Source::Tree { tree, directory: file_type == FileType::Directory, writable })
    };
    copy().map(Some).map_err(|error| {
        // EPERM means that this user may not mount at all, for base and grants alike.
        let step = if error.raw_os_error() == Some(libc::EPERM) { Step::Mounts } else { Step::Grant };
        Failure::with(step, path)(error)
    })
}

fn os_string(target: CString) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(target.into_bytes())
}

/// List of Landlock rules under construction.
#[derive(Debug, Default)]
struct Rules(Vec<PathRule>);

impl Rules {
    fn add(&mut self, path: &Path, rights: Rights) {
        self.0.push(PathRule { path: path.to_owned(), rights, links: Links::Follow, absent: Absent::Error });
    }
}
