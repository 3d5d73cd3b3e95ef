//! The file system of a room: a root that contains the granted paths, the runtime base and the module's own
//! directories.
//!
//! It is built in two parts. First every path is opened and its mounts are copied, while the machine's own root is
//! still the root. Then the copies are mounted in a new root, outer ones before inner ones. All of the module's own
//! directories lie in one file system in memory, whose size is the limit: the root, `/tmp`, `/dev`, the directory of
//! its files, and the directories for single names that it may write (see [`names`]).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use modbox_kernel::{Links, PathRule, Rights};
use modbox_policy::{Access, PathGrant, Shape};
use modbox_vocabulary::time::settable_times;
use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::copies::stage;
use crate::inside::entries::{Entry, Rules, Source, configuration, os_string, tree};
use crate::inside::mounts::{self, Attributes};
use crate::inside::names::{self, Names, TEMPORARY};
use crate::inside::own::{private, proc, terminals};
use crate::inside::places::Places;
use crate::inside::shown;
use crate::link::Failure;
use crate::rooms::base;
use crate::rooms::directories::{listing_of, make_directory, open_below, open_directory, open_file_below};
use crate::rooms::room::Room;
use crate::step::Step;

/// The room's `/tmp`.
const TMP: &str = "/tmp";

/// The module's own directories: name in its file system, path in the room, and mode.
const OWN_DIRECTORIES: [(&str, &str, u32); 3] =
    [("tmp", TMP, 0o1777), ("dev", "/dev", 0o755), ("shm", "/dev/shm", 0o1777)];

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

/// File system of a room, once this process is in it.
#[derive(Debug)]
pub(crate) struct Root {
    /// Landlock rules for the same paths.
    pub(crate) rules: Vec<PathRule>,
    /// The module's own file system.
    pub(crate) private: OwnedFd,
    /// The room's `/proc`.
    pub(crate) proc: OwnedFd,
    /// Single names that the module may write.
    pub(crate) names: Names,
}

/// Makes the root, and changes this process's root to it.
pub(crate) fn enter(room: &Room) -> Result<Root, Failure> {
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
    let is_shared = show_shared(room, &mut entries)?;
    let kept = room.kept.then(|| mounts::copy_of(&own_files)).transpose().map_err(at(Step::Files))?;

    // From here on the new root is built in the directory of the run.
    let private = private(room).map_err(at(Step::Private))?;
    mounts::attach(&private, &own_files).map_err(at(Step::Private))?;
    for (name, _, mode) in OWN_DIRECTORIES {
        make_directory(&private, name, mode).map_err(at(Step::Private))?;
    }
    make_directory(&private, "root", 0o755).map_err(at(Step::Private))?;
    // In a shared `/tmp` it would need a mount point, which others would see.
    if !is_shared {
        let own = if let Some(tree) = kept {
            Source::Tree { tree, directory: true, writable: true }
        } else {
            make_directory(&private, "run", 0o700).map_err(at(Step::Files))?;
            stage::copy_flat(&own_files, &private, "run").map_err(at(Step::Files))?;
            Source::Own("run".to_owned())
        };
        entries.push(Entry { at: room.tmpdir.clone(), source: own });
        rules.add(&room.tmpdir, Rights::OwnDirectory);
    }

    let names = names::show(room, &private, &mut entries, &mut rules)?;
    // Last, since a later entry covers an earlier one.
    shown::show(&room.outside, &private, &mut entries, &mut rules)?;
    add_lists(&entries, &mut rules);
    let root = mount_all(&private, entries, room.home.as_deref())?;
    names.describe_folders(&private)?;
    mounts::change_root(&root).map_err(at(Step::Root))?;
    Ok(Root { rules: rules.0, private, proc, names })
}

/// Adds the right to list the directories of the machine that are shown as they are.
fn add_lists(entries: &[Entry], rules: &mut Rules) {
    for entry in entries {
        if matches!(entry.source, Source::Tree { directory: true, .. }) {
            rules.add(&entry.at, Rights::RunDirectory);
        }
    }
}

/// Shows a shared directory in place of the room's own `/tmp`, if the room has one. Programs do not start from there: another
/// room may have written them.
fn show_shared(room: &Room, entries: &mut Vec<Entry>) -> Result<bool, Failure> {
    let Some(shared) = &room.temporary else { return Ok(false) };
    let missing = || Failure::with(Step::Files, shared)(Errno::NOENT.into());
    let source = tree(shared, Attributes::DATA, true, Links::Refuse)?.ok_or_else(missing)?;
    entries.retain(|entry| entry.at != Path::new(TMP));
    entries.push(Entry { at: TMP.into(), source });
    Ok(true)
}

/// Returns the mounts and links of the room, except single names that the module may write.
fn sources(room: &Room, rules: &mut Rules) -> Result<Vec<Entry>, Failure> {
    let mut entries: Vec<Entry> = OWN_DIRECTORIES
        .iter()
        .map(|(name, at, _)| Entry { at: at.into(), source: Source::Own((*name).to_owned()) })
        .collect();
    entries.extend(DEVICE_LINKS.map(|(at, to)| Entry { at: at.into(), source: Source::Link(to.into()) }));
    entries.extend(room.passed.iter().map(|at| Entry { at: at.clone(), source: Source::Way }));
    entries.extend(room.home.iter().map(|home| Entry { at: home.clone(), source: Source::Way }));
    entries.extend(room.links.iter().map(|link| Entry { at: link.at.clone(), source: Source::Link(link.to.clone()) }));
    // Directories on the way to what is shown have only that in them. A list of it would pass for one of the machine's directory.
    rules.add(Path::new("/"), Rights::Way);
    if room.lists_runlevels {
        // `/etc/rc?.d` is how modules ask whether a service starts. Of other names of `/etc` the list has those that are shown.
        rules.add(Path::new("/etc"), Rights::RunDirectory);
    }
    rules.add(Path::new(TMP), Rights::OwnDirectory);
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
    for path in base::configuration().filter(|path| !shown(path)) {
        let follows = !room.outside.is_empty() && base::CHANGED_BY_COMMANDS.contains(&path);
        let source = configuration(Path::new(path), follows)?;
        entries.extend(source.map(|source| Entry { at: path.into(), source }));
    }
    for grant in &room.grants {
        let attributes = match grant.access {
            _ if base::is_device(&grant.host) => Attributes::DEVICE,
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

/// Mounts all entries, outer ones before inner ones, and returns the root.
fn mount_all(private: &OwnedFd, mut entries: Vec<Entry>, home: Option<&Path>) -> Result<OwnedFd, Failure> {
    let ways_at = ways(private, &mut entries, home)?;
    let mut ways = Vec::new();
    // Another entry makes the directory, and mounts on it.
    let made: BTreeSet<PathBuf> =
        entries.iter().filter(|entry| !matches!(entry.source, Source::Way)).map(|entry| entry.at.clone()).collect();
    entries.retain(|entry| !matches!(entry.source, Source::Way) || !made.contains(&entry.at));
    let root_place = open_below(private, Path::new("root")).map_err(|error| Failure::new(Step::Root, &error))?;
    // Entries of one directory follow each other; a later entry for the same path covers an earlier one.
    entries.sort_by(|one, other| (one.depth(), &one.at).cmp(&(other.depth(), &other.at)));
    let tree = match entries.first() {
        Some(Entry { at, source: Source::Tree { .. } }) if at == Path::new("/") => match entries.remove(0).source {
            Source::Tree { tree, .. } => tree,
            Source::Own(_) | Source::Way | Source::Link(_) | Source::Copy(..) | Source::Script(_) => {
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

/// Adds the directories in the module's `/tmp` and `/dev/shm` that only lead to granted paths below them, or are a home. They are
/// read-only: a file created there would look as if it were in the machine's directory of that name.
fn ways(private: &OwnedFd, entries: &mut Vec<Entry>, home: Option<&Path>) -> Result<BTreeSet<PathBuf>, Failure> {
    let first = |entry: &Entry| {
        let own = TEMPORARY.into_iter().find(|own| entry.at.starts_with(own))?;
        let below = entry.at.strip_prefix(own).ok()?;
        let mut components = below.components();
        let first = components.next()?;
        let is_way = components.next().is_some() || home == Some(&entry.at);
        is_way.then(|| Path::new(own).join(first))
    };
    let ways: BTreeSet<PathBuf> = entries.iter().filter_map(first).collect();
    // It is one of these, or lies in one.
    entries.retain(|entry| !matches!(entry.source, Source::Way) || !ways.contains(&entry.at));
    let ways: BTreeSet<PathBuf> = ways.into_iter().filter(|way| entries.iter().all(|entry| entry.at != *way)).collect();
    for (number, way) in ways.iter().enumerate() {
        let own = format!("way-{number}");
        make_directory(private, &own, 0o755).map_err(|error| Failure::new(Step::Private, &error))?;
        entries.push(Entry { at: way.clone(), source: Source::Own(own) });
    }
    Ok(ways)
}

/// Gives a new link the times of the machine's link at a path. Without one, it keeps its own.
fn copy_times(at: &Path, directory: impl AsFd, name: &OsStr) {
    if let Ok(found) = rustix::fs::lstat(at) {
        let _ = rustix::fs::utimensat(directory, name, &settable_times(&found), AtFlags::SYMLINK_NOFOLLOW);
    }
}

/// Mounts one entry. Returns the mounted tree if it is one of the room's own directories.
fn mount(places: &mut Places, private: &OwnedFd, at: &Path, source: Source) -> io::Result<Option<OwnedFd>> {
    match source {
        Source::Link(target) => {
            let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else { return Ok(None) };
            let directory = places.directory(parent)?;
            match rustix::fs::symlinkat(&target, directory, name) {
                Ok(()) => {
                    copy_times(at, directory, name);
                    Ok(None)
                }
                // The link exists when the room has the machine's own root.
                Err(Errno::EXIST | Errno::ROFS) => Ok(None),
                Err(errno) => Err(errno.into()),
            }
        }
        Source::Way => places.directory(at).map(|_| None),
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
        Source::Script(script) => {
            let tree = mounts::copy_of(open_file_below(private, Path::new(&script))?)?;
            mounts::restrict(&tree, Attributes::READ_ONLY)?;
            mounts::attach(tree, places.place_itself(at)?).map(|()| None)
        }
        Source::Tree { tree, directory, .. } => mounts::attach(tree, places.place(at, directory)?).map(|()| None),
    }
}
