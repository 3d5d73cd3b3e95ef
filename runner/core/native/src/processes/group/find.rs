//! Finds the control groups in which this process may make others: below its own group, in each hierarchy.
//!
//! In version 1 write permission decides. In version 2 only groups without processes can give controllers to groups
//! below them. So the parent is the process's own group where that has controllers for groups below (as the topmost one
//! can), or the group above it, where that was delegated to this user (systemd's `Delegate=` with `DelegateSubgroup=`).
//! Groups that another manager owns are left alone.

use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use modbox_vocabulary::ConfinementLayer;
use rustix::fs::CWD;

use crate::kernel_file;
use crate::processes::pid_limit;
use crate::rooms::current_group::{CurrentGroup, Version};

/// Attributes by which systemd marks a delegated group, which it no longer manages itself. Only root can see the first
/// one.
const DELEGATED: [&str; 2] = ["trusted.delegate", "user.delegate"];

/// Group below which others can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) directory: PathBuf,
    pub(super) version: Version,
    /// Whether groups below it bound memory.
    pub(super) memory: bool,
    /// Whether groups below it bound processes.
    pub(super) pids: bool,
}

impl Parent {
    pub(super) fn layers(&self) -> Vec<ConfinementLayer> {
        let kill = self.version == Version::Two && !self.memory && !self.pids;
        let layers = [
            (ConfinementLayer::CgroupMemory, self.memory),
            (ConfinementLayer::CgroupPids, self.pids),
            (ConfinementLayer::CgroupKill, kill),
        ];
        layers.into_iter().filter(|(_, has)| *has).map(|(layer, _)| layer).collect()
    }

    /// Returns the layers as text.
    pub(super) fn shown_layers(&self, separator: &str) -> String {
        self.layers().iter().map(ToString::to_string).collect::<Vec<_>>().join(separator)
    }
}

/// Controllers of version 1 that bound resources of a run.
const USEFUL: [&str; 2] = ["memory", "pids"];

/// Upper bound of the size of the files that are read here, on a machine with thousands of mounts.
const MAX_FILE: u64 = 4 << 20;

/// Reads a kernel file. An unreadable file counts as empty, and then there is no group.
fn read(file: &Path) -> String {
    kernel_file::read(CWD, file, MAX_FILE).unwrap_or_default()
}

/// Returns the groups of this process, and so of its children.
pub(crate) fn current_groups() -> Vec<CurrentGroup> {
    owned(&read(Path::new("/proc/self/cgroup")), &read(Path::new("/proc/self/mountinfo")))
}

/// Returns the groups below which the groups of a run are made: as few as needed, because each costs time.
pub(super) fn parents(own: &[CurrentGroup], namespaces: bool) -> Vec<Parent> {
    // In namespaces the first process ends all others, and the largest pid bounds their number.
    let (bound_processes, kill) = (!namespaces || !pid_limit::is_per_namespace(), !namespaces);
    choose(own, bound_processes, kill, &|group| enabled(group), &|group| delegated(group))
}

fn choose(
    own: &[CurrentGroup],
    bound_processes: bool,
    kill: bool,
    enabled: &dyn Fn(&Path) -> Vec<String>,
    delegated: &dyn Fn(&Path) -> bool,
) -> Vec<Parent> {
    let mut parents = Vec::new();
    let second = |directory: &Path| {
        let controllers = enabled(directory);
        let has = |name: &str| controllers.iter().any(|one| one == name);
        let (memory, pids) = (has("memory"), has("pids"));
        (memory || pids).then(|| Parent { directory: directory.to_owned(), version: Version::Two, memory, pids })
    };
    if let Some(own) = own.iter().find(|own| own.version == Version::Two) {
        let around = || second(own.directory.parent().filter(|around| delegated(around))?);
        let plain = Parent { directory: own.directory.clone(), version: Version::Two, memory: false, pids: false };
        parents.extend(second(&own.directory).or_else(around).or_else(|| kill.then_some(plain)));
    }
    let has = |parents: &[Parent], is: fn(&Parent) -> bool| parents.iter().any(is);
    for own in own.iter().filter(|own| own.version == Version::One) {
        let named = |name: &str| own.controllers.iter().any(|one| one == name);
        let memory = named("memory") && !has(&parents, |parent| parent.memory);
        let pids = named("pids") && bound_processes && !has(&parents, |parent| parent.pids);
        if memory || pids {
            parents.push(Parent { directory: own.directory.clone(), version: Version::One, memory, pids });
        }
    }
    parents
}

/// Parses `/proc/self/cgroup` and `/proc/self/mountinfo`; see cgroups(7) and proc_pid_mountinfo(5).
fn owned(groups: &str, mounts: &str) -> Vec<CurrentGroup> {
    // There can be thousands of other mounts.
    let mounts: Vec<&str> = mounts.lines().filter(|mount| mount.contains(" - cgroup")).collect();
    let line = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let version = if controllers.is_empty() { Version::Two } else { Version::One };
        let controllers: Vec<String> = controllers.split(',').map(str::to_owned).collect();
        let useful = |one: &String| USEFUL.contains(&one.as_str());
        if version == Version::One && !controllers.iter().any(useful) {
            return None;
        }
        let directory = mounts.iter().find_map(|mount| directory(mount, version, &controllers, Path::new(path)))?;
        Some(CurrentGroup { directory, version, controllers })
    };
    groups.lines().filter_map(line).collect()
}

/// Returns the directory of a group, if `mount` is the mount of its hierarchy and contains it.
fn directory(mount: &str, version: Version, controllers: &[String], path: &Path) -> Option<PathBuf> {
    let (before, after) = mount.split_once(" - ")?;
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1)?);
    let is_it = match version {
        Version::One => {
            kind == "cgroup" && controllers.iter().all(|one| options.split(',').any(|option| option == one))
        }
        Version::Two => kind == "cgroup2",
    };
    if !is_it {
        return None;
    }
    let mut before = before.split(' ').skip(3);
    let (root, point) = (unescape(before.next()?), unescape(before.next()?));
    let below = path.strip_prefix(root).ok()?;
    let plain = below.components().all(|component| matches!(component, Component::Normal(_)));
    plain.then(|| if below == Path::new("") { point } else { point.join(below) })
}

/// Decodes the escapes of mountinfo: a blank and the like is a backslash and three octal digits.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Returns the controllers that groups below `group` have.
fn enabled(group: &Path) -> Vec<String> {
    let text = read(&group.join("cgroup.subtree_control"));
    text.split_whitespace().map(str::to_owned).collect()
}

fn delegated(group: &Path) -> bool {
    DELEGATED.iter().any(|name| {
        let mut value = [0; 8];
        rustix::fs::getxattr(group, *name, &mut value).is_ok_and(|length| value[..length] == *b"1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "9:name=systemd:/\n8:pids:/\n4:memory:/a/b c\n2:cpu,cpuacct:/\n0::/\n";
    const HYBRID_MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:3 master:1 - cgroup cgroup rw,memory\n\
        39 31 0:36 / /sys/fs/cgroup/my\\040pids rw - cgroup cgroup rw,pids\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn chosen(groups: &str, mounts: &str, namespaces: bool, with: &[(&str, &str)], marked: &[&str]) -> Vec<String> {
        let enabled = |group: &Path| {
            let of = with.iter().filter(|(path, _)| group == Path::new(path));
            of.flat_map(|(_, controllers)| controllers.split(' ').map(str::to_owned)).collect()
        };
        let delegated = |group: &Path| marked.iter().any(|path| group == Path::new(path));
        let found = choose(&owned(groups, mounts), !namespaces, !namespaces, &enabled, &delegated);
        let shown = |parent: &Parent| format!("{} {}", parent.directory.display(), parent.shown_layers(" "));
        found.iter().map(shown).collect()
    }

    #[test]
    fn version_one_is_used_below_its_own_group() {
        assert_eq!(chosen(HYBRID, HYBRID_MOUNTS, true, &[], &[]), ["/sys/fs/cgroup/memory/a/b c cgroup-memory"]);
        assert_eq!(
            chosen(HYBRID, HYBRID_MOUNTS, false, &[], &[]),
            [
                "/sys/fs/cgroup/unified cgroup-kill",
                "/sys/fs/cgroup/my pids cgroup-pids",
                "/sys/fs/cgroup/memory/a/b c cgroup-memory",
            ]
        );
    }

    #[test]
    fn a_container_sees_its_part_of_a_hierarchy() {
        let mount = "35 31 0:32 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let at = |path: &str| chosen(&format!("4:memory:{path}\n"), mount, true, &[], &[]);
        assert_eq!(at("/docker/x"), ["/sys/fs/cgroup/memory cgroup-memory"]);
        assert_eq!(at("/docker/x/y"), ["/sys/fs/cgroup/memory/y cgroup-memory"]);
        for hidden in ["/docker", "/docker/xy", "/docker/x/../y", "/../z"] {
            assert!(at(hidden).is_empty(), "{hidden}");
        }
    }

    #[test]
    fn version_two_is_used_where_it_has_delegated_controllers() {
        let mounts = "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw,nsdelegate\n";
        let groups = "0::/s/leaf\n";
        let at = |with, marked| chosen(groups, mounts, true, with, marked);
        assert!(at(&[], &[]).is_empty());
        assert_eq!(at(&[("/cg/s/leaf", "cpu memory pids")], &[]), ["/cg/s/leaf cgroup-memory cgroup-pids"]);
        // The parent belongs to another manager, unless it is marked as delegated.
        assert!(at(&[("/cg/s", "memory")], &[]).is_empty());
        assert_eq!(at(&[("/cg/s", "memory")], &["/cg/s"]), ["/cg/s cgroup-memory"]);
        assert_eq!(chosen(groups, mounts, false, &[], &[]), ["/cg/s/leaf cgroup-kill"]);
        // A controller that version 2 has is not needed from version 1.
        let both = format!("{groups}{HYBRID}");
        let mounts = format!("{mounts}{HYBRID_MOUNTS}");
        assert_eq!(
            chosen(&both, &mounts, false, &[("/cg/s/leaf", "memory pids")], &[]),
            ["/cg/s/leaf cgroup-memory cgroup-pids"]
        );
    }
}
