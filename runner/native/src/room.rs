//! The room of a native module, as data: what it is to see, reach and use. Made of a policy by the host, carried out by
//! the launcher.

use std::path::PathBuf;

use modbox_kernel::NetPlan;
use modbox_policy::{Access, PathGrant, Policy, Shape, normalize};
use modbox_vocabulary::Limits;
use serde::{Deserialize, Serialize};

use crate::group::find::Own;
use crate::runtime::{self, Link};

/// Variables that a module has without a grant. None says anything of this machine or its user.
///
/// `RES_OPTIONS` has names looked up by way of TCP, where the kernel knows ports, so that no grant of datagrams is
/// needed for it. `ANSIBLE_UNSAFE_WRITES` has Ansible's modules write a file in place where it can be written and not be
/// replaced, as when it is granted alone in a directory for reading (ansible-core 2.19, `FILE_COMMON_ARGUMENTS`).
pub(super) const ENVIRONMENT: [(&str, &str); 6] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/tmp"),
    ("LANG", "C.UTF-8"),
    ("TMPDIR", "/tmp"),
    ("RES_OPTIONS", "use-vc"),
    ("ANSIBLE_UNSAFE_WRITES", "1"),
];

/// What a module is to be confined to.
#[derive(Debug, Clone)]
pub struct Confine {
    /// What it may reach.
    pub policy: Policy,
    /// The least level that is accepted.
    pub least: u8,
    /// Its temporary directory stays, so that it lies on the disk.
    pub kept: bool,
    /// Files and directories that the module reads whatever it is granted, such as its interpreter. Absolute; links are
    /// shown with what they lead to.
    pub readable: Vec<PathBuf>,
}

/// The room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Room {
    pub(super) grants: Vec<PathGrant>,
    /// Links that lead to some of that.
    pub(super) links: Vec<Link>,
    /// The directory with the module's own files.
    pub(super) tmpdir: PathBuf,
    pub(super) kept: bool,
    pub(super) net: NetPlan,
    pub(super) limits: Limits,
    pub(super) least: u8,
    /// The control groups around the launcher, as the host has found them. A group of the run's own is made below them.
    pub(super) groups: Vec<Own>,
}

impl Room {
    pub(super) fn new(confine: &Confine, tmpdir: PathBuf, limits: &Limits) -> Self {
        let policy = &confine.policy;
        let (own, links) = runtime::shown(&confine.readable, policy.paths());
        let grants: Vec<PathGrant> = policy.paths().iter().cloned().chain(own).collect();
        let mut net = NetPlan::for_native(policy);
        net.isolated = !net.any();
        // A socket is connected to without being written to, so that no mount and no rule for reading keeps it: where a
        // whole directory may be read, whoever listens in it is out of reach only when there are no such sockets at all.
        let readable = |grant: &PathGrant| grant.shape == Shape::Directory && grant.access == Access::Read;
        net.unix = net.isolated && !policy.paths().iter().any(readable);
        Self {
            grants,
            links,
            tmpdir,
            kept: confine.kept,
            net,
            limits: *limits,
            least: confine.least,
            groups: Vec::new(),
        }
    }

    /// Returns where the room's links lead on the way to a path.
    pub(super) fn behind_links(&self, path: PathBuf) -> PathBuf {
        let one = |path: &PathBuf| {
            self.links.iter().find_map(|(at, to)| {
                let rest = path.strip_prefix(at).ok()?;
                Some(normalize(&at.parent()?.join(to).join(rest)))
            })
        };
        // In a circle there would be nothing to be shown.
        std::iter::successors(Some(path), one).take(runtime::MAX_LINKS).last().unwrap_or_default()
    }

    /// Returns whether a process of this room sees anything at this path that is not its own.
    pub(super) fn grant_at(&self, path: &std::path::Path) -> Option<&PathGrant> {
        let around = |grant: &&PathGrant| match grant.shape {
            Shape::Directory => path.starts_with(&grant.guest),
            Shape::Name => path == std::path::Path::new(&grant.guest),
        };
        self.grants.iter().filter(around).max_by_key(|grant| grant.guest.len())
    }
}
