//! A process in namespaces of its own: the kernel's part of the room.
//!
//! The launcher stays where it is and makes a child in all of them at once. The child is a copy of a process with one
//! thread, so that it may do anything, and it never executes another program in its own place: it is the first process
//! of the room, and starts the module by way of `posix_spawn`.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;

use rustix::fs::CWD;
use rustix::process::Pid;

use crate::{kernel_file, system};

const MOUNT: libc::c_int = libc::CLONE_NEWNS;
const USER: libc::c_int = libc::CLONE_NEWUSER;
const OTHERS: libc::c_int = libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// More lines than a map of identities has.
const MAX_MAP: u64 = 64 << 10;

/// Which namespaces a room has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Namespaces {
    user: bool,
    /// One of the network, which the child makes for itself: see [`network`](super::network).
    pub(super) net: bool,
    /// Whether there are any.
    pub(super) any: bool,
}

impl Namespaces {
    /// None at all.
    pub(super) const NONE: Self = Self { user: false, net: false, any: false };

    /// The ways to have them, the best first. Root can do without one of users, in which its rights are worth nothing
    /// outside.
    pub(super) fn ways(net: bool) -> impl Iterator<Item = Self> {
        let root = rustix::process::geteuid().is_root();
        let ways = [Self { user: true, net, any: true }, Self { user: false, net, any: true }];
        ways.into_iter().filter(move |way| way.user || root)
    }

    /// Their names, for the report.
    pub(super) fn layers(self) -> Vec<String> {
        let mut layers = Vec::new();
        if self.any {
            layers.extend(self.user.then_some("user"));
            layers.extend(["mount", "pid"]);
            layers.extend(self.net.then_some("net"));
            layers.extend(["ipc", "uts"]);
        }
        layers.into_iter().map(|name| format!("namespace-{name}")).collect()
    }

    /// Makes a child in them, and in a control group. Returns `None` in the child.
    ///
    /// # Errors
    ///
    /// A kernel that gives none, or no process.
    pub(super) fn child(self, group: Option<BorrowedFd<'_>>) -> io::Result<Option<Pid>> {
        let mut flags = 0;
        if self.any {
            flags |= MOUNT | OTHERS;
            flags |= if self.user { USER } else { 0 };
        }
        match group {
            Some(group) => system::fork_into(flags, group),
            None => system::fork(flags),
        }
    }

    /// Gives every user and group of the child its own number: what root may do with files of others, it may still do
    /// where it is let. Who is not root has only itself.
    ///
    /// # Errors
    ///
    /// A kernel that refuses the map.
    pub(super) fn map_identities(self, child: Pid) -> io::Result<()> {
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

/// The numbers that exist where this process is, each mapped to itself.
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
    // The kernel takes a map in one write.
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}
