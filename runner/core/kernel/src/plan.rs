//! The plan for confining a process: plain data, made from a policy and the paths that a run itself needs.

use std::path::{Path, PathBuf};

use modbox_policy::net::{self, Transport};
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_vocabulary::Limits;
use serde::{Deserialize, Serialize};

use crate::profile::Profile;
use crate::rlimits::ProcessLimits;

/// The input of [`confine_process`](crate::confine_process).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The allowed system calls.
    pub profile: Profile,
    /// The reachable paths.
    pub paths: Vec<PathRule>,
    /// The reachable network.
    pub net: NetPlan,
    /// Whether a control group counts the memory of all processes together, also memory that belongs to none of them.
    pub counted_memory: bool,
    /// The limits of the process. Without them, its limits stay as they are.
    pub limits: Option<ProcessLimits>,
}

/// One path, with the rights for it and, if it is a directory, for everything below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRule {
    /// The absolute path on the machine.
    pub path: PathBuf,
    /// What Landlock allows there.
    pub rights: Rights,
    /// Whether symbolic links in the path are followed.
    pub links: Links,
    /// What a missing path means.
    pub absent: Absent,
}

/// The rights for a path. None allows creating devices; only native modules may execute files and create sockets. A guest may
/// move FIFOs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// A directory: list and read.
    ReadDirectory,
    /// A directory: change all files, directories and links below it.
    WriteDirectory,
    /// A file: read.
    ReadFile,
    /// A file: read, write, truncate.
    WriteFile,
    /// The directory of a single name that is granted for writing. The name can be removed, created, replaced by a file
    /// from the same directory, and read again. The kernel does not know names, so the rights apply to the whole
    /// directory; the guard of the file system checks the name. Links cannot be created.
    Names,
    /// The parent directory: remove empty directories.
    RemoveDirectories,
    /// A directory: list and read it, and execute files in it.
    RunDirectory,
    /// A directory on the way to others: read and execute files in it, and list none.
    Way,
    /// A directory: list and read it, execute files in it, and change everything in it, with FIFOs and sockets.
    OwnDirectory,
    /// A directory: the same, and do not list it.
    OwnWay,
    /// A directory: as `OwnDirectory`, and no file in it is moved or linked to another directory.
    OwnDirectoryApart,
    /// A file: read and execute.
    RunFile,
    /// A file: the same, and write and truncate.
    OwnFile,
    /// A device: read, write and send requests.
    Device,
    /// A directory of devices.
    DeviceDirectory,
}

impl Rights {
    /// Returns whether the rights are for a file.
    pub(super) fn are_of_a_file(self) -> bool {
        matches!(self, Self::ReadFile | Self::WriteFile | Self::RunFile | Self::OwnFile | Self::Device)
    }
}

/// Whether symbolic links in a path are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Links are refused. A granted path has none, so a link was created later.
    Refuse,
    /// Links are followed, for a path of the system.
    Follow,
}

/// What a missing path means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// It is an error.
    Error,
    /// There is nothing to allow: a name may be granted before its file exists.
    Nothing,
}

/// The reachable network. Without any grant, sockets are refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetPlan {
    /// TCP ports to connect to.
    pub connect: Ports,
    /// TCP ports to listen on.
    pub bind: Ports,
    /// Whether datagrams are allowed. The kernel cannot restrict their ports.
    pub udp: bool,
    /// Whether sockets between processes of this machine are allowed, for native modules only.
    pub unix: bool,
    /// Whether the process is alone in its own network namespace, where sockets reach nothing and are allowed.
    pub isolated: bool,
}

/// A set of ports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ports {
    /// No ports.
    #[default]
    None,
    /// These ports.
    Some(Vec<u16>),
    /// All ports.
    All,
}

impl NetPlan {
    /// Returns whether anything is reachable.
    #[must_use]
    pub fn any(&self) -> bool {
        self.udp || self.connect != Ports::None || self.bind != Ports::None
    }

    /// Takes the ports of a policy. Layers above check its hosts. This process looks up names too.
    fn of(policy: &Policy) -> Self {
        let mut plan = Self::ports_of(policy);
        if !policy.net().is_empty() {
            plan.connect.add(net::Ports { first: DNS, last: DNS });
            // The system may choose the port of a client.
            plan.bind.add(net::Ports { first: 0, last: 0 });
            plan.udp = true;
        }
        plan
    }

    /// Takes the ports of a policy for a native module. Names are looked up over TCP, so no datagrams are needed for
    /// that.
    pub fn for_native(policy: &Policy) -> Self {
        let mut plan = Self::ports_of(policy);
        if !policy.net().is_empty() {
            plan.connect.add(net::Ports { first: DNS, last: DNS });
            plan.bind.add(net::Ports { first: 0, last: 0 });
        }
        plan
    }

    fn ports_of(policy: &Policy) -> Self {
        let mut plan = Self::default();
        for rule in policy.net().iter().map(|grant| &grant.rule) {
            match rule.transport() {
                Transport::Tcp => plan.connect.add(rule.ports()),
                Transport::Udp => plan.udp = true,
            }
        }
        for rule in policy.listen().iter().map(|grant| &grant.rule) {
            match rule.transport() {
                Transport::Tcp => plan.bind.add(rule.ports()),
                Transport::Udp => plan.udp = true,
            }
        }
        plan
    }
}

impl Ports {
    fn add(&mut self, range: net::Ports) {
        let count = usize::from(range.last.saturating_sub(range.first)) + 1;
        *self = match std::mem::take(self) {
            Self::None if count <= MAX_PORTS => Self::Some((range.first..=range.last).collect()),
            Self::Some(mut ports) if ports.len() + count <= MAX_PORTS => {
                ports.extend(range.first..=range.last);
                Self::Some(ports)
            }
            _ => Self::All,
        };
    }
}

/// The most ports that get rules of their own. With more, all ports are allowed.
const MAX_PORTS: usize = 256;

/// The resolver's port; that of TCP is for answers that are too long for a datagram.
pub(super) const DNS: u16 = 53;

impl Plan {
    /// Returns the plan for a guest. `directory` is the worker's own: that of the run, or of all its runs. `hub` has a place
    /// for each layer, if layers are attached later, job by job.
    #[must_use]
    pub fn for_guest(policy: &Policy, limits: &Limits, directory: &Path, hub: Option<&Path>) -> Self {
        let rule = |path: &Path, rights| PathRule {
            path: path.to_owned(),
            rights,
            links: Links::Follow,
            absent: Absent::Error,
        };
        let mut paths = vec![rule(directory, Rights::WriteDirectory)];
        paths.extend(directory.parent().map(|root| rule(root, Rights::RemoveDirectories)));
        for grant in policy.paths() {
            let place = policy.single_files().place(&grant.host);
            match hub.and_then(|hub| place_of_layer(hub, place)) {
                Some(layer) => paths.extend(layer_rule(grant, layer)),
                None => add_grant(&mut paths, grant, place),
            }
        }
        let limits = ProcessLimits::for_guest(policy, limits);
        Self { profile: Profile::Guest, paths, net: NetPlan::of(policy), counted_memory: false, limits: Some(limits) }
    }
}

/// Returns the directory of a hub at which the layer with a path will be attached.
fn place_of_layer(hub: &Path, path: &Path) -> Option<PathBuf> {
    path.strip_prefix(hub).ok()?.components().next().map(|place| hub.join(place))
}

/// Returns the rule for the place of a layer that a grant leads into. A rule for a path in the layer would be one for the
/// files of this layer only. Every layer is of a grant for writing, whose rights include those of the others in it.
fn layer_rule(grant: &PathGrant, place: PathBuf) -> Option<PathRule> {
    let rights = match (grant.shape, grant.access) {
        (_, Access::Read) => return None,
        (Shape::Directory, Access::Write) => Rights::WriteDirectory,
        (Shape::Name, Access::Write) => Rights::Names,
    };
    Some(PathRule { path: place, rights, links: Links::Refuse, absent: Absent::Error })
}

/// Adds the rules of a grant. `place` is the file that a granted name stands for.
fn add_grant(paths: &mut Vec<PathRule>, grant: &PathGrant, place: &Path) {
    let rule = |path: &Path, rights, absent| PathRule { path: path.to_owned(), rights, links: Links::Refuse, absent };
    match (grant.shape, grant.access) {
        (Shape::Directory, Access::Read) => paths.push(rule(&grant.host, Rights::ReadDirectory, Absent::Error)),
        (Shape::Directory, Access::Write) => paths.push(rule(&grant.host, Rights::WriteDirectory, Absent::Error)),
        (Shape::Name, Access::Read) => paths.push(rule(place, Rights::ReadFile, Absent::Nothing)),
        (Shape::Name, Access::Write) => {
            paths.push(rule(place, Rights::WriteFile, Absent::Nothing));
            paths.extend(place.parent().map(|parent| rule(parent, Rights::Names, Absent::Error)));
        }
    }
}

#[cfg(test)]
mod tests {
    use modbox_vocabulary::GrantSource;

    use super::*;

    fn planned(host: &str, shape: Shape, access: Access) -> Vec<(PathBuf, Rights)> {
        let mut policy = Policy::default();
        let grant =
            PathGrant { host: host.into(), shape, guest: "/x".into(), access, source: GrantSource::named("test") };
        policy.allow_path(grant).unwrap();
        let plan =
            Plan::for_guest(&policy, &Limits::default(), Path::new("/t/root/run"), Some(Path::new("/t/root/hub")));
        assert!(!plan.net.any());
        plan.paths.into_iter().map(|rule| (rule.path, rule.rights)).collect()
    }

    #[test]
    fn a_guest_gets_its_own_directory_and_its_grants() {
        let own = [("/t/root/run".into(), Rights::WriteDirectory), ("/t/root".into(), Rights::RemoveDirectories)];
        for (shape, access, expect) in [
            (Shape::Directory, Access::Read, vec![("/srv/x".into(), Rights::ReadDirectory)]),
            (Shape::Directory, Access::Write, vec![("/srv/x".into(), Rights::WriteDirectory)]),
            (Shape::Name, Access::Read, vec![("/srv/x".into(), Rights::ReadFile)]),
            (Shape::Name, Access::Write, vec![("/srv/x".into(), Rights::WriteFile), ("/srv".into(), Rights::Names)]),
        ] {
            assert_eq!(planned("/srv/x", shape, access), [own.to_vec(), expect].concat());
        }
        for (shape, access, expect) in [
            (Shape::Directory, Access::Write, vec![("/t/root/hub/0".into(), Rights::WriteDirectory)]),
            (Shape::Name, Access::Write, vec![("/t/root/hub/0".into(), Rights::Names)]),
            (Shape::Name, Access::Read, Vec::new()),
        ] {
            assert_eq!(planned("/t/root/hub/0/layer/x", shape, access), [own.to_vec(), expect].concat());
        }
    }
}
