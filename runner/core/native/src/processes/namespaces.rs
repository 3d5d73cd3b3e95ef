//! The first process of a room in new namespaces.
//!
//! The launcher stays in its namespaces and makes a child in all the new ones at once. The child is a fork of a process
//! with one thread, so all of the standard library works in it. It never executes another program in its own place: it
//! is the first process of the room, and starts the module with `posix_spawn`.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;

use modbox_vocabulary::ConfinementLayer;
use rustix::fs::CWD;
use rustix::process::Pid;

use crate::{kernel_file, system};

const MOUNT: libc::c_int = libc::CLONE_NEWNS;
const USER: libc::c_int = libc::CLONE_NEWUSER;
const OTHERS: libc::c_int = libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// Upper bound of the size of an identity map.
const MAX_MAP: u64 = 64 << 10;

/// Namespaces of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Namespaces {
    user: bool,
    net: bool,
    /// Whether there are any namespaces.
    pub(crate) any: bool,
}

impl Namespaces {
    /// No namespaces.
    pub(crate) const NONE: Self = Self { user: false, net: false, any: false };

    /// Returns the combinations to try, the best first. Root can do without a user namespace; with one, root's rights
    /// have no effect outside.
    pub(crate) fn ways(net: bool) -> impl Iterator<Item = Self> {
        let root = rustix::process::geteuid().is_root();
        let ways = [Self { user: true, net, any: true }, Self { user: false, net, any: true }];
        ways.into_iter().filter(move |way| way.user || root)
    }

    /// Returns the namespaces, for the report.
    pub(crate) fn layers(self) -> Vec<ConfinementLayer> {
        let mut layers = Vec::new();
        if self.any {
            layers.extend(self.user.then_some(ConfinementLayer::NamespaceUser));
            layers.extend([ConfinementLayer::NamespaceMount, ConfinementLayer::NamespacePid]);
            layers.extend(self.net.then_some(ConfinementLayer::NamespaceNet));
            layers.extend([ConfinementLayer::NamespaceIpc, ConfinementLayer::NamespaceUts]);
        }
        layers
    }

    /// Forks a child into the namespaces and a control group. Returns `None` in the child.
    ///
    /// # Errors
    ///
    /// Fails when the kernel gives no namespaces or no process.
    pub(crate) fn child(self, group: Option<BorrowedFd<'_>>) -> io::Result<Option<Pid>> {
        let mut flags = 0;
        if self.any {
            flags |= MOUNT | OTHERS;
            flags |= if self.user { USER } else { 0 };
            flags |= if self.net { libc::CLONE_NEWNET } else { 0 };
        }
        match group {
            Some(group) => system::fork_into(flags, group),
            None => system::fork(flags),
        }
    }

    /// Maps every user and group of the child to its own number, so that root keeps its rights to files of others where
    /// a grant allows it. For other users only their own number is mapped.
    ///
    /// # Errors
    ///
    /// Fails when the kernel refuses the map.
    pub(crate) fn map_identities(self, child: Pid) -> io::Result<()> {
        if !self.user {
            return Ok(());
        }
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        let (users, groups) = if uid.is_root() {
            (same("/proc/self/uid_map")?, same("/proc/self/gid_map")?)
        } else {
            write(child, "setgroups", "deny")?;
            (format!("{0} {0} 1\n", uid.as_raw()), format!("{0} {0} 1\n", gid.as_raw()))
        };
        write(child, "uid_map", &users)?;
        write(child, "gid_map", &groups)
    }
}

/// Returns a map of all numbers that exist in this process's namespace, each to itself.
fn same(map: &str) -> io::Result<String> {
    let text = kernel_file::read(CWD, map, MAX_MAP)?;
    let line = |line: &str| {
        let mut fields = line.split_whitespace();
        let (first, count) = (fields.next()?, fields.nth(1)?);
        Some(format!("{first} {first} {count}\n"))
    };
    Ok(text.lines().filter_map(line).collect())
}

fn write(child: Pid, file: &str, text: &str) -> io::Result<()> {
    let path = format!("/proc/{}/{file}", child.as_raw_nonzero());
    // The kernel requires that a map is written in one call.
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}
