//! The room of a native module, as data: what the module can see, reach and use. The host makes it from a policy, and
//! the launcher builds it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use modbox_kernel::NetPlan;
use modbox_policy::net::Transport;
use modbox_policy::outside::{BoundNames, Kind};
use modbox_policy::{Access, MissingPath, OwnerGrant, PathGrant, Policy, Profile, Shape, SingleFiles, normalize};
use modbox_vocabulary::{GrantSource, Limits, native_path};
use serde::{Deserialize, Serialize};

use crate::rooms::base;
use crate::rooms::covering::shows;
use crate::rooms::current_group::CurrentGroup;
use crate::rooms::home;
use crate::rooms::passwords;
use crate::rooms::runtime;
use crate::rooms::shown_program::{ShownProgram, programs};
use crate::rooms::writable;

/// Variables that a module has without a grant. None reveals anything about this machine or its user.
///
/// `RES_OPTIONS` makes the resolver use TCP, for which Landlock has ports, so that name look-ups need no grant of
/// datagrams; with such a grant, a module does not have it. `ANSIBLE_UNSAFE_WRITES` makes Ansible's modules write a file in place if it can be written and not
/// replaced, as when only the file is granted in a read-only directory (ansible-core 2.19, `FILE_COMMON_ARGUMENTS`).
pub const USUAL_VARIABLES: [(&str, &str); 5] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("LANG", "C.UTF-8"),
    ("TMPDIR", "/tmp"),
    (RESOLVER_OPTIONS, "use-vc"),
    ("ANSIBLE_UNSAFE_WRITES", "1"),
];

/// The variable with options of the resolver (resolv.conf(5)).
const RESOLVER_OPTIONS: &str = "RES_OPTIONS";

/// The port of name servers.
const DOMAIN_PORT: u16 = 53;

/// Confinement of a module.
#[derive(Debug, Clone)]
pub struct RoomRequest {
    /// Grants of the module.
    pub policy: Policy,
    /// Lowest level that is accepted.
    pub least: u8,
    /// Whether the temporary directory is kept, so that it lies on the disk.
    pub kept: bool,
    /// Files and directories that the module may read without a grant, such as its interpreter. Paths are absolute; a
    /// link is shown together with its target.
    pub readable: Vec<PathBuf>,
    /// Directory of the machine that is the room's `/tmp`, if it is shared with other rooms. No grant may lie in `/tmp`
    /// then, since the directory would have to get its mount point. No link on the way to it is followed.
    pub temporary: Option<PathBuf>,
    /// Home of the module's user, which `HOME` names unless another value is granted. A room has an empty directory there if nothing
    /// of it is granted, so that the refusal of a write names the file. `None` for a user without a home.
    pub home: Option<PathBuf>,
    /// Whether looks at paths, and reading, are reported too. They cost a run of Python some milliseconds.
    pub reports_reads: bool,
    /// Whether nothing is refused, and what would be refused is only reported. The module then runs in the machine's own
    /// file system, with all rights of its user. Without the right to administer the system, it gets no rights of set-id
    /// programs.
    pub observed: bool,
    /// How commands run outside of the room that the policy grants. Without it, the module starts them in the room.
    pub outside: Option<OutsideRequest>,
}

impl RoomRequest {
    /// Returns whether the module has a usual variable. Where datagrams to name servers are granted, the resolver asks as the machine does:
    /// not every name server answers by TCP.
    pub(crate) fn has_usual(&self, name: &str) -> bool {
        name != RESOLVER_OPTIONS
            || !self.policy.net().iter().any(|grant| grant.rule.covers(Transport::Udp, DOMAIN_PORT))
    }
}

/// How commands run outside of a room.
#[derive(Debug, Clone)]
pub struct OutsideRequest {
    /// Name of the user whose commands they are.
    pub user: String,
    /// Home of that user.
    pub home: PathBuf,
    /// Variables for the commands, beside the usual ones.
    pub environment: Vec<(OsString, OsString)>,
    /// Limit of the time of each command.
    pub limit: Duration,
    /// Directory for copies of files, which belongs to that user and which no other user can enter.
    pub inputs: PathBuf,
}

/// Single name that this user cannot write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefusedName {
    #[serde(with = "native_path")]
    pub(crate) host: PathBuf,
    pub(crate) reason: String,
}

/// Bytes of the module's own file system in addition to the limit, so that the watch sees that the limit is exceeded before the
/// file system is full.
const SLACK: u64 = 1 << 20;

/// Maximum size of a file system that the kernel accepts.
const MAX_SIZE: u64 = 1 << 60;

/// Directory that a room has of its own.
pub(crate) const TMP: &str = "/tmp";

/// A link that leads to a granted path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RoomLink {
    /// The link's own path.
    #[serde(with = "native_path")]
    pub(crate) at: PathBuf,
    /// What it says, which need not be UTF-8.
    #[serde(with = "native_path")]
    pub(crate) to: PathBuf,
}

/// Room of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Room {
    pub(crate) grants: Vec<PathGrant>,
    /// Links that lead to granted paths.
    pub(crate) links: Vec<RoomLink>,
    /// Directories that the way to a granted path enters and leaves again by `..`.
    pub(crate) passed: Vec<PathBuf>,
    /// Single names that are granted for writing, and that this user cannot write.
    pub(crate) read_only: Vec<RefusedName>,
    /// Paths that arguments name for writing, and that nothing grants since their directories are missing.
    pub(crate) missing: Vec<MissingPath>,
    /// Directory of the module's own files.
    pub(crate) tmpdir: PathBuf,
    pub(crate) kept: bool,
    /// Shared directory that is the room's `/tmp`.
    pub(crate) temporary: Option<PathBuf>,
    /// Home of the module's user, if it is a directory of the machine that the room can have.
    pub(crate) home: Option<PathBuf>,
    pub(crate) net: NetPlan,
    pub(crate) limits: Limits,
    pub(crate) least: u8,
    /// Where changes of single names go.
    pub(crate) single_files: SingleFiles,
    /// The owners that the module may give.
    pub(crate) own: Vec<OwnerGrant>,
    pub(crate) reports_reads: bool,
    pub(crate) observed: bool,
    /// Programs of commands outside.
    pub(crate) outside: Vec<ShownProgram>,
    /// Whether commands outside make homes, so that the room shows which there are.
    pub(crate) shows_homes: bool,
    /// Whether the room's first process has the name of the machine's.
    pub(crate) tells_facts: bool,
    /// Whether the module may list `/etc`, to find the runlevels of services.
    pub(crate) lists_runlevels: bool,
    /// Names of the users whose passwords the room shows.
    pub(crate) passwords_of: Vec<BoundNames>,
    /// Control groups of the launcher, as the host has found them. The run's own group is made below them.
    pub(crate) groups: Vec<CurrentGroup>,
}

/// Returns whether a policy grants paths of one of these profiles.
fn is_granted(policy: &Policy, profiles: &[Profile]) -> bool {
    let is_one = |source: &GrantSource| matches!(source, GrantSource::Profile { name, .. } if profiles.iter().any(|profile| name == profile.as_str()));
    policy.paths().iter().any(|grant| is_one(&grant.source))
}

impl Room {
    pub(crate) fn new(confine: &RoomRequest, tmpdir: PathBuf, limits: &Limits) -> Self {
        let policy = &confine.policy;
        let (own, links) = runtime::shown(&confine.readable, policy.paths());
        let mut links: Vec<RoomLink> = links.into_iter().map(|(at, to)| RoomLink { at, to }).collect();
        links.extend(
            policy
                .waypoints()
                .links()
                .iter()
                .filter_map(|path| Some(RoomLink { at: PathBuf::from(path), to: std::fs::read_link(path).ok()? })),
        );
        // Every module has the devices, and a grant would hide them behind a mount on which no device works.
        let is_device = |grant: &PathGrant| base::is_device(&grant.host) && Path::new(&grant.guest) == grant.host;
        let granted = policy.paths().iter().filter(|grant| !is_device(grant)).cloned();
        let grants: Vec<PathGrant> = granted.chain(own).collect();
        let mut net = NetPlan::for_native(policy);
        net.isolated = !net.any();
        // Connecting to a socket does not write to it, so neither a mount nor a rule for reading prevents it. Where a
        // whole directory is readable, sockets in it are out of reach only if the module can make no such sockets at
        // all.
        let readable = |grant: &PathGrant| grant.shape == Shape::Directory && grant.access == Access::Read;
        net.unix = net.isolated && !policy.paths().iter().any(readable);
        let single = |grant: &&PathGrant| grant.shape == Shape::Name && grant.access == Access::Write;
        let refused = |grant: &PathGrant| {
            Some(RefusedName { host: grant.host.clone(), reason: writable::write_obstacle(&grant.host)? })
        };
        Self {
            read_only: grants.iter().filter(single).filter_map(refused).collect(),
            missing: policy.missing().cloned().collect(),
            home: confine.home.clone().filter(|path| {
                let links = links.iter().map(|link| link.at.as_path());
                home::is_shown(path, confine.temporary.is_some(), &grants, links)
            }),
            grants,
            links,
            passed: policy.waypoints().passed().iter().map(PathBuf::from).collect(),
            tmpdir,
            kept: confine.kept,
            temporary: confine.temporary.clone(),
            net,
            limits: *limits,
            least: confine.least,
            single_files: policy.single_files().clone(),
            own: policy.own().to_vec(),
            reports_reads: confine.reports_reads,
            observed: confine.observed,
            shows_homes: policy.outside().iter().any(|grant| grant.rule.kinds().any(|kind| kind == Kind::Home)),
            tells_facts: is_granted(policy, &[Profile::Facts]),
            lists_runlevels: is_granted(policy, &[Profile::Services, Profile::ManageServices]),
            passwords_of: passwords::shown_to(policy),
            outside: confine.outside.as_ref().map(|_| programs(policy)).unwrap_or_default(),
            groups: Vec::new(),
        }
    }

    /// Returns the size of the module's own file system in bytes.
    pub(crate) fn private_size(&self) -> u64 {
        let limits = &self.limits;
        limits.max_tmp.saturating_add(SLACK).saturating_add(limits.max_disk.min(SLACK * 64)).min(MAX_SIZE)
    }

    /// Returns the files on the machine that are granted by their names for writing.
    pub(crate) fn written_names(&self) -> impl Iterator<Item = PathBuf> {
        let single = |grant: &&PathGrant| grant.shape == Shape::Name && grant.access == Access::Write;
        self.grants.iter().filter(single).map(|grant| grant.host.clone())
    }

    /// Resolves the room's links on the way to a path.
    pub(crate) fn behind_links(&self, path: PathBuf) -> PathBuf {
        let one = |path: &PathBuf| {
            self.links.iter().find_map(|RoomLink { at, to }| {
                let rest = path.strip_prefix(at).ok()?;
                Some(normalize(&at.parent()?.join(to).join(rest)))
            })
        };
        // A circle of links leads nowhere.
        std::iter::successors(Some(path), one).take(runtime::MAX_LINKS).last().unwrap_or_default()
    }

    /// Returns the grant that shows a path in this room, if there is one.
    pub(crate) fn shown_at(&self, path: &Path) -> Option<&PathGrant> {
        self.grant_at(path).filter(|grant| shows(grant, path))
    }

    /// Returns the innermost grant around a path. Without namespaces there is no room, and it shows the path.
    pub(crate) fn grant_at(&self, path: &Path) -> Option<&PathGrant> {
        let around = |grant: &&PathGrant| match grant.shape {
            Shape::Directory => path.starts_with(&grant.guest),
            Shape::Name => path == Path::new(&grant.guest),
        };
        self.grants.iter().filter(around).max_by_key(|grant| grant.guest.len())
    }
}
