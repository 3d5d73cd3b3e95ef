//! What a process is to be confined to: plain data, made from a policy and the paths that a run itself needs.

use std::path::{Path, PathBuf};

use modbox_policy::net::{self, Transport};
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_vocabulary::Limits;
use serde::{Deserialize, Serialize};

use crate::profiles::Profile;
use crate::rlimits::ProcessLimits;

/// All that [`confine_process`](crate::confine_process) is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Which system calls are allowed.
    pub profile: Profile,
    /// What is reachable in the filesystem, and nothing else.
    pub paths: Vec<PathRule>,
    /// What is reachable in the network.
    pub net: NetPlan,
    /// How much the process may use; without any, its limits stay as they are.
    pub limits: Option<ProcessLimits>,
}

/// One path with the rights that hold there and, for a directory, below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRule {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub rights: Rights,
    /// Whether symbolic links on the way are followed.
    pub links: Links,
    /// What it means when there is nothing.
    pub absent: Absent,
}

/// What may be done with a path. Devices are never made; executing, sockets and FIFOs are for native modules alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// A directory: list and read.
    ReadDirectory,
    /// A directory: all that changes files, directories and links below it.
    WriteDirectory,
    /// A file: read.
    ReadFile,
    /// A file: read, write, truncate.
    WriteFile,
    /// The directory that a single name is granted in for writing. The name can be removed, made anew and replaced by a
    /// file made beside it, and read again after that. The kernel knows no names, so that this holds for the whole
    /// directory: which name it is, is for the guard of the filesystem to see to. No links are made.
    Names,
    /// The directory around it: remove directories that are empty.
    RemoveDirectories,
    /// A directory: list and read, and run what lies in it.
    RunDirectory,
    /// A directory: all of that, and all that changes what lies in it, FIFOs and sockets included.
    OwnDirectory,
    /// A file: read and run.
    RunFile,
    /// A file: that, and write and truncate.
    OwnFile,
    /// A device: read, write and its requests.
    Device,
    /// A directory of them.
    DeviceDirectory,
}

impl Rights {
    /// Whether they are for something that is no directory.
    pub(super) fn are_of_a_file(self) -> bool {
        matches!(self, Self::ReadFile | Self::WriteFile | Self::RunFile | Self::OwnFile | Self::Device)
    }
}

/// Whether a path may lead through symbolic links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// No: what was granted had none, so one that is there now was put there since.
    Refuse,
    /// Yes: a path of the system's own.
    Follow,
}

/// What a path that does not exist means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// The plan cannot be carried out.
    Error,
    /// There is nothing to allow: a name that was granted before there was a file.
    Nothing,
}

/// What is reachable in the network. Without anything, there are no sockets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetPlan {
    /// TCP ports to connect to.
    pub connect: Ports,
    /// TCP ports to listen on.
    pub bind: Ports,
    /// Whether there are datagrams. The kernel does not know their ports.
    pub udp: bool,
    /// Whether there are sockets between the processes of this machine. A native module's business alone.
    pub unix: bool,
    /// Whether the process is alone in a network of its own: sockets lead nowhere, so that it may make them.
    pub isolated: bool,
}

/// A set of ports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ports {
    /// None.
    #[default]
    None,
    /// These.
    Some(Vec<u16>),
    /// All.
    All,
}

impl NetPlan {
    /// Returns whether anything is reachable.
    #[must_use]
    pub fn any(&self) -> bool {
        self.udp || self.connect != Ports::None || self.bind != Ports::None
    }

    /// Takes the ports of a policy; its hosts are for the layer above. Names are looked up by this process, too.
    fn of(policy: &Policy) -> Self {
        let mut plan = Self::ports_of(policy);
        if !policy.net().is_empty() {
            plan.connect.add(net::Ports { first: DNS, last: DNS });
            // A client's own port may be one of the system's choice.
            plan.bind.add(net::Ports { first: 0, last: 0 });
            plan.udp = true;
        }
        plan
    }

    /// Takes the ports of a policy for a native module. Names are looked up by way of TCP, so that no datagrams are
    /// needed for that.
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

/// Ports that are rules of the kernel one by one; more are all.
const MAX_PORTS: usize = 256;

/// Where the system's resolver asks when an answer is too long for a datagram.
const DNS: u16 = 53;

impl Plan {
    /// Makes the plan for a guest. `directory` is the worker's own: that of the run, or of all its runs.
    #[must_use]
    pub fn for_guest(policy: &Policy, limits: &Limits, directory: &Path) -> Self {
        let rule = |path: &Path, rights| PathRule {
            path: path.to_owned(),
            rights,
            links: Links::Follow,
            absent: Absent::Error,
        };
        let mut paths = vec![rule(directory, Rights::WriteDirectory)];
        paths.extend(directory.parent().map(|root| rule(root, Rights::RemoveDirectories)));
        for grant in policy.paths() {
            add_grant(&mut paths, grant);
        }
        let limits = ProcessLimits::for_guest(policy, limits);
        Self { profile: Profile::Guest, paths, net: NetPlan::of(policy), limits: Some(limits) }
    }
}

fn add_grant(paths: &mut Vec<PathRule>, grant: &PathGrant) {
    let rule = |path: &Path, rights, absent| PathRule { path: path.to_owned(), rights, links: Links::Refuse, absent };
    match (grant.shape, grant.access) {
        (Shape::Directory, Access::Read) => paths.push(rule(&grant.host, Rights::ReadDirectory, Absent::Error)),
        (Shape::Directory, Access::Write) => paths.push(rule(&grant.host, Rights::WriteDirectory, Absent::Error)),
        (Shape::Name, Access::Read) => paths.push(rule(&grant.host, Rights::ReadFile, Absent::Nothing)),
        (Shape::Name, Access::Write) => {
            paths.push(rule(&grant.host, Rights::WriteFile, Absent::Nothing));
            paths.extend(grant.host.parent().map(|parent| rule(parent, Rights::Names, Absent::Error)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(shape: Shape, access: Access) -> Vec<(PathBuf, Rights)> {
        let mut policy = Policy::default();
        let grant = PathGrant { host: "/srv/x".into(), shape, guest: "/x".into(), access, source: "test".into() };
        policy.allow_path(grant).unwrap();
        let plan = Plan::for_guest(&policy, &Limits::default(), Path::new("/t/root/run"));
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
            assert_eq!(planned(shape, access), [own.to_vec(), expect].concat());
        }
    }
}
