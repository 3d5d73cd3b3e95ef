//! The control group of one run, where control groups are available. The kernel then bounds the memory of all its
//! processes together, including memory that no process maps, and counts it page by page. No run needs one.
//!
//! The launcher makes the group below its own group. The first process of the room starts in it, or joins it before the
//! module begins. The launcher removes it at the end, also when modbox was killed. The next run removes a group that
//! outlives its launcher: see [`place`].

pub(crate) mod find;
mod place;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use modbox_channel::descriptor;
use modbox_vocabulary::ConfinementLayer;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::processes::group::find::Parent;
use crate::processes::group::place::Place;
use crate::processes::namespaces::Namespaces;
use crate::protocol::MESSAGES;
use crate::rooms::current_group::Version;
use crate::rooms::room::Room;

/// Memory that the kernel itself needs for processes, in addition to the limit, because the module does not control it.
const KERNEL: u64 = 16 << 20;

/// Minimum of the limit, so that a process gets as far as its first instruction.
const MIN_MEMORY: u64 = 32 << 20;

/// Processes in addition to the limit, so that the watch sees when it is exceeded. One of them is the room's first
/// process.
const SLACK_PROCESSES: u64 = 33;

/// Control group of one run, in each hierarchy that takes part. It is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    hierarchies: Vec<HierarchyGroup>,
    /// Parents in which the groups of version 1 will be made.
    later: Vec<Parent>,
}

/// Group of a run in one hierarchy.
#[derive(Debug)]
struct HierarchyGroup {
    place: Place,
    parent: Parent,
}

impl Group {
    /// Begins a group with the limits of a room: makes the part in which a process can start. Moving a process into a
    /// group would take longer than many a module, because the kernel then waits for all processors.
    pub(crate) fn begin(room: &Room, namespaces: bool) -> Self {
        let (startable, later) =
            find::parents(&room.groups, namespaces).into_iter().partition(|parent| parent.version == Version::Two);
        let mut group = Self { hierarchies: Vec::new(), later };
        group.add(startable, room, namespaces);
        group
    }

    /// Forks a child into the group, in namespaces. Returns `None` in the child.
    pub(crate) fn child(&mut self, namespaces: Namespaces) -> io::Result<Option<Pid>> {
        if let Some(part) = self.hierarchies.first() {
            match namespaces.child(Some(part.place.directory())) {
                Ok(child) => return Ok(child),
                // A group is optional, whatever the error.
                Err(error) => tracing::debug!(%error, "no process is born into a control group"),
            }
            self.hierarchies.clear();
        }
        namespaces.child(None)
    }

    /// Makes the groups that a process joins by itself, which takes no such wait, and sends it the files for that.
    pub(crate) fn invite(&mut self, link: &UnixStream, room: &Room, namespaces: bool) -> io::Result<()> {
        let later = std::mem::take(&mut self.later);
        self.add(later, room, namespaces);
        let mut task_files: Vec<OwnedFd> = Vec::new();
        self.hierarchies.retain(|part| match part.parent.version {
            Version::One => part.place.open("tasks").map(|file| task_files.push(file)).is_ok(),
            Version::Two => true,
        });
        let memory = self.hierarchies.iter().find(|part| part.parent.memory).map(|part| match part.parent.version {
            Version::Two => 0,
            Version::One => {
                let first = self.hierarchies.iter().filter(|part| part.parent.version == Version::One);
                1 + first.take_while(|part| !part.parent.memory).count()
            }
        });
        MESSAGES.send(link, &Invitation { files: task_files.len(), memory })?;
        task_files.iter().try_for_each(|file| descriptor::send(link, file))
    }

    /// Returns the group without the hierarchies that the process has not joined. Returns `None` if it is in no group.
    pub(crate) fn complete(mut self, mut joined: usize) -> Option<Self> {
        self.hierarchies.retain(|part| {
            let is_in = part.parent.version == Version::Two || joined > 0;
            joined = joined.saturating_sub(usize::from(part.parent.version == Version::One));
            is_in
        });
        (!self.hierarchies.is_empty()).then_some(self)
    }

    fn add(&mut self, parents: Vec<Parent>, room: &Room, namespaces: bool) {
        for parent in parents {
            match HierarchyGroup::make(parent, room, namespaces) {
                Ok(part) => self.hierarchies.push(part),
                Err(error) => tracing::debug!(%error, "there is no control group"),
            }
        }
    }

    /// Returns the group's layers, for the report.
    pub(crate) fn layers(&self) -> Vec<ConfinementLayer> {
        self.hierarchies.iter().flat_map(|part| part.parent.layers()).collect()
    }

    /// Removes groups that killed launchers left.
    pub(crate) fn sweep(&self) {
        self.hierarchies.iter().for_each(|part| part.place.sweep());
    }

    /// Returns whether the kernel killed a process for lack of memory.
    pub(crate) fn out_of_memory(&self) -> bool {
        self.memory().and_then(HierarchyGroup::killed_for_memory).is_some_and(|count| count > 0)
    }

    /// Returns whether the kernel refused a process because the limit was reached.
    pub(crate) fn out_of_processes(&self) -> bool {
        self.hierarchies.iter().filter_map(HierarchyGroup::refused_processes).any(|count| count > 0)
    }

    /// Returns the memory that the processes hold now. `apart` bytes of it are left out: they are in the room's own
    /// files, which have their own limit. Memory that the kernel can reclaim, the cache of files on disks, is not
    /// counted.
    pub(crate) fn held(&self, apart: u64) -> Option<u64> {
        let part = self.memory()?;
        let text = part.place.read("memory.stat").ok()?;
        let [anonymous, shared] = match part.parent.version {
            Version::One => ["total_rss", "total_shmem"],
            Version::Two => ["anon", "shmem"],
        };
        let shared = value(&text, shared).unwrap_or(0).saturating_sub(apart);
        Some(value(&text, anonymous)?.saturating_add(shared))
    }

    /// Returns the peak of memory, including files in memory and the cache of files.
    pub(crate) fn peak(&self) -> Option<u64> {
        let part = self.memory()?;
        let file = match part.parent.version {
            Version::One => "memory.max_usage_in_bytes",
            Version::Two => "memory.peak",
        };
        part.place.read(file).ok()?.trim().parse().ok()
    }

    /// Kills all processes of the group in one step, where the kernel supports it.
    pub(crate) fn kill(&self) {
        for part in self.hierarchies.iter().filter(|part| part.parent.version == Version::Two) {
            // Linux before 5.14 has no such file; processes are then looked for as without a group.
            let _ = part.place.write("cgroup.kill", "1");
        }
    }

    fn memory(&self) -> Option<&HierarchyGroup> {
        self.hierarchies.iter().find(|part| part.parent.memory)
    }
}

impl HierarchyGroup {
    fn make(parent: Parent, room: &Room, namespaces: bool) -> io::Result<Self> {
        let part = Self { place: Place::make(&parent.directory)?, parent };
        if part.parent.memory {
            let apart = if namespaces { room.private_size() } else { 0 };
            part.bound_memory(room.limits.max_memory.max(MIN_MEMORY).saturating_add(apart).saturating_add(KERNEL))?;
        }
        if part.parent.pids {
            let most = room.limits.max_processes.saturating_add(SLACK_PROCESSES);
            // The kernel accepts no number above its own limit.
            let _ = part.place.write("pids.max", &most.to_string());
        }
        Ok(part)
    }

    /// Sets the limit of memory, which includes swap.
    fn bound_memory(&self, most: u64) -> io::Result<()> {
        let most = most.to_string();
        match self.parent.version {
            Version::One => {
                self.place.write("memory.limit_in_bytes", &most)?;
                // The file is missing on kernels that do not account for swap.
                let _ = self.place.write("memory.memsw.limit_in_bytes", &most);
            }
            Version::Two => {
                self.place.write("memory.max", &most)?;
                let _ = self.place.write("memory.swap.max", "0");
                // Kill the whole group on lack of memory: half a module is of no use.
                let _ = self.place.write("memory.oom.group", "1");
            }
        }
        Ok(())
    }

    fn killed_for_memory(&self) -> Option<u64> {
        let file = match self.parent.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        value(&self.place.read(file).ok()?, "oom_kill")
    }

    fn refused_processes(&self) -> Option<u64> {
        self.parent.pids.then(|| self.place.read("pids.events").ok())?.and_then(|text| value(&text, "max"))
    }
}

impl Drop for HierarchyGroup {
    fn drop(&mut self) {
        self.place.remove();
    }
}

/// The groups that a process is to join. The files for that follow.
#[derive(Debug, Serialize, Deserialize)]
struct Invitation {
    files: usize,
    /// How many of them the process must join to be in one that counts memory, if there is one. None if it was born in
    /// it.
    memory: Option<usize>,
}

/// The groups that a process has joined.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Joined {
    /// The number of groups, the first ones of the list.
    pub(crate) groups: usize,
    /// Whether one of its groups counts memory.
    pub(crate) counts_memory: bool,
}

/// Joins the groups that the launcher has made for this process, which has one thread.
pub(crate) fn join(link: &UnixStream) -> io::Result<Joined> {
    let Invitation { files, memory } = MESSAGES.receive_required(link)?;
    let task_files: Vec<OwnedFd> = (0..files).map(|_| descriptor::receive(link)).collect::<io::Result<_>>()?;
    // Writing zero adds the writing process.
    let groups = task_files.into_iter().take_while(|file| rustix::io::write(file, b"0").is_ok()).count();
    Ok(Joined { groups, counts_memory: memory.is_some_and(|needed| groups >= needed) })
}

/// Returns the number behind `name` on a line of its own.
fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Returns the control groups that a native run would use here, in a room with all namespaces, each with its parent
/// directory.
#[must_use]
pub fn control_groups() -> Vec<String> {
    let usable = |parent: &Parent| rustix::fs::access(&parent.directory, rustix::fs::Access::WRITE_OK).is_ok();
    let shown = |parent: Parent| format!("{} below {}", parent.shown_layers(", "), parent.directory.display());
    find::parents(&find::current_groups(), true).into_iter().filter(usable).map(shown).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn group(directory: &Path, version: Version, files: &[(&str, &str)]) -> Group {
        let parent = Parent { directory: directory.to_owned(), version, memory: true, pids: true };
        let place = Place::make(directory).unwrap();
        for (file, text) in files {
            fs::write(place.path_below(directory).join(file), text).unwrap();
        }
        Group { hierarchies: vec![HierarchyGroup { place, parent }], later: Vec::new() }
    }

    #[test]
    fn both_versions_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let one = group(
            dir.path(),
            Version::One,
            &[
                ("memory.stat", "rss 1\nshmem 2\ntotal_rss 700\ntotal_rss_huge 5\ntotal_shmem 40\n"),
                ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
                ("memory.max_usage_in_bytes", "1234\n"),
                ("pids.events", "max 0\n"),
            ],
        );
        assert_eq!((one.held(30), one.held(50), one.peak()), (Some(710), Some(700), Some(1234)));
        assert!(one.out_of_memory() && !one.out_of_processes());
        let two = group(
            dir.path(),
            Version::Two,
            &[
                ("memory.stat", "anon 700\nfile 9\nshmem 40\nanon_thp 1\n"),
                ("memory.events", "low 0\noom 1\noom_kill 0\noom_group_kill 0\n"),
                ("memory.peak", "99\n"),
                ("pids.events", "max 2\n"),
            ],
        );
        assert_eq!((two.held(0), two.peak(), two.out_of_memory()), (Some(740), Some(99), false));
        assert!(two.out_of_processes());
        assert_eq!(two.layers(), [ConfinementLayer::CgroupMemory, ConfinementLayer::CgroupPids]);
    }

    #[test]
    fn limits_are_written_for_both_versions() {
        let dir = tempfile::tempdir().unwrap();
        let files = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"].map(|file| (file, ""));
        let one = group(dir.path(), Version::One, &files);
        one.hierarchies[0].bound_memory(5).unwrap();
        let files = ["memory.max", "memory.swap.max", "memory.oom.group", "cgroup.kill"].map(|file| (file, ""));
        let two = group(dir.path(), Version::Two, &files);
        two.hierarchies[0].bound_memory(6).unwrap();
        two.kill();
        let read = |group: &Group, file: &str| group.hierarchies[0].place.read(file).unwrap();
        assert_eq!(read(&one, "memory.limit_in_bytes") + &read(&one, "memory.memsw.limit_in_bytes"), "55");
        assert_eq!(read(&two, "memory.max") + &read(&two, "memory.swap.max"), "60");
        assert_eq!(read(&two, "memory.oom.group") + &read(&two, "cgroup.kill"), "11");
        // Without the file there is no limit, so the group is not used.
        let none = group(dir.path(), Version::Two, &[]);
        assert!(none.hierarchies[0].bound_memory(6).is_err());
        assert!(!none.out_of_memory() && !none.out_of_processes() && none.peak().is_none() && none.held(0).is_none());
    }

    #[test]
    fn hierarchies_that_were_not_joined_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let of = |version| group(dir.path(), version, &[]).hierarchies.remove(0);
        let all =
            || Group { hierarchies: vec![of(Version::Two), of(Version::One), of(Version::One)], later: Vec::new() };
        for (joined, left) in [(0, 1), (1, 2), (2, 3)] {
            assert_eq!(all().complete(joined).unwrap().hierarchies.len(), left);
        }
        assert!(group(dir.path(), Version::One, &[]).complete(0).is_none());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
