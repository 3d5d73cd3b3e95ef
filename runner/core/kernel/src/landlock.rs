//! Landlock: a ruleset from the paths and ports of a plan.
//!
//! The ruleset handles every right that this kernel's Landlock knows and the tests cover, so a right without a rule is
//! refused. Nothing is skipped silently: a path that cannot be opened is an error, and a ruleset that the kernel enforces
//! only in part does not count.

use std::io;

use landlock::{
    AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, make_bitflags,
};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::KernelError;
use crate::landlock_rights::{TESTED, file_rights, port_rights, scopes};
use crate::plan::{Absent, DNS, Links, NetPlan, PathRule, Plan, Ports, Rights};
use crate::profile::Profile;
use crate::{resolver, system};

/// The first version that restricts truncation. Without it, a file granted for reading could be emptied.
pub(super) const COMPLETE: u32 = 3;

/// The first version that restricts ports.
const PORTS: u32 = 4;

/// The first version that restricts signals and abstract Unix sockets to the processes of the ruleset.
const SCOPES: u32 = 6;

/// A ruleset that is ready to be enforced.
pub(super) struct PreparedRuleset {
    ruleset: RulesetCreated,
    enforced: EnforcedRuleset,
}

/// A ruleset in force.
pub(super) struct EnforcedRuleset {
    /// The version of Landlock.
    pub(super) abi: u32,
    /// Whether it enforces the whole plan.
    pub(super) complete: bool,
    /// The part that it does not enforce.
    pub(super) missing: Option<String>,
}

/// Returns a message that says why Landlock is unavailable.
pub(super) fn unavailable(error: io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => "Landlock: this kernel has none, Linux 6.2 and newer do".to_owned(),
        Some(libc::EOPNOTSUPP) => {
            "Landlock: this kernel was started without it; add `landlock` to its `lsm=` parameter".to_owned()
        }
        _ => format!("Landlock: {error}"),
    }
}

/// Opens the paths of a plan and creates the ruleset. `Ok(Err(_))` says why the kernel cannot.
///
/// # Errors
///
/// A path cannot be opened, or its kind has changed.
pub(super) fn prepare(plan: &Plan) -> Result<Result<PreparedRuleset, String>, KernelError> {
    let abi = match system::landlock_abi() {
        Ok(abi) => abi.min(TESTED),
        Err(error) => return Ok(Err(unavailable(error))),
    };
    let resolver = if plan.net.any() { resolver::rules() } else { Vec::new() };
    let mut opened = Vec::with_capacity(plan.paths.len() + resolver.len());
    for rule in plan.paths.iter().chain(&resolver) {
        if let Some(descriptor) = open(rule)? {
            opened.push((descriptor, rule.rights));
        }
    }
    let ruleset = build(plan, abi, opened).map_err(|error| format!("Landlock: {error}"));
    Ok(ruleset.map(|ruleset| PreparedRuleset { ruleset, enforced: enforced(plan, abi) }))
}

impl PreparedRuleset {
    /// Enforces the ruleset on the calling thread.
    pub(super) fn restrict(self) -> Result<EnforcedRuleset, String> {
        let status = self.ruleset.restrict_self().map_err(|error| format!("Landlock: {error}"))?;
        match status.ruleset {
            RulesetStatus::FullyEnforced => Ok(self.enforced),
            status => Err(format!("Landlock: the kernel says {status:?}")),
        }
    }
}

fn enforced(plan: &Plan, abi: u32) -> EnforcedRuleset {
    let ports = [&plan.net.connect, &plan.net.bind].into_iter().any(|ports| matches!(ports, Ports::Some(_)));
    let sockets = plan.net.any();
    let missing = if abi < COMPLETE {
        Some(format!("Landlock: version {abi} does not keep files from being truncated; Linux 6.2 and newer do"))
    } else if abi < PORTS && (ports || sockets) {
        Some(format!("Landlock: version {abi} does not know ports; Linux 6.7 and newer do"))
    } else if abi < SCOPES && plan.profile == Profile::NativeOnHost {
        Some(format!(
            "Landlock: version {abi} does not keep a module from signalling processes of its user; Linux 6.12 and newer do"
        ))
    } else {
        None
    };
    EnforcedRuleset { abi, complete: missing.is_none(), missing }
}

fn build(plan: &Plan, abi: u32, opened: Vec<(OwnedFd, Rights)>) -> Result<RulesetCreated, RulesetError> {
    let known = file_rights(abi);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(known)?;
    let ports = restricted_ports(&plan.net, abi);
    for (access, _) in &ports {
        ruleset = ruleset.handle_access(*access)?;
    }
    let scopes = scopes(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    let mut created = ruleset.create()?;
    for (descriptor, rights) in opened {
        created = created.add_rule(PathBeneath::new(descriptor, access(rights) & known))?;
    }
    for (access, ports) in ports {
        for port in ports {
            created = created.add_rule(NetPort::new(port, access))?;
        }
    }
    Ok(created)
}

/// Returns the rights for ports that a version of Landlock restricts, each with the ports that are allowed.
fn restricted_ports(net: &NetPlan, abi: u32) -> Vec<(AccessNet, Vec<u16>)> {
    // A plan says of datagrams only whether they are allowed. Without them, name lookup still sends some.
    let udp = |port| match (net.udp, net.any()) {
        (true, _) => Ports::All,
        (false, true) => Ports::Some(vec![port]),
        (false, false) => Ports::None,
    };
    let all = [
        (AccessNet::ConnectTcp, net.connect.clone()),
        (AccessNet::BindTcp, net.bind.clone()),
        (AccessNet::ConnectSendUdp, udp(DNS)),
        (AccessNet::BindUdp, udp(0)),
    ];
    let known = port_rights(abi);
    let restricted = all.into_iter().filter(|(access, _)| known.contains(*access));
    restricted
        .filter_map(|(access, ports)| match ports {
            Ports::All => None,
            Ports::Some(list) => Some((access, list)),
            Ports::None => Some((access, Vec::new())),
        })
        .collect()
}

/// Converts rights. None of them allows creating devices. Connecting to a socket in a file system is writing to it.
///
/// A directory that is granted for writing can have FIFOs, which are renamed and linked as any other entry. The kernel asks for
/// the right to create them there; seccomp keeps guests from that. Sockets stay where they are: a guest with a grant of the
/// network could bind one.
fn access(rights: Rights) -> BitFlags<AccessFs> {
    match rights {
        Rights::ReadDirectory => make_bitflags!(AccessFs::{ReadFile | ReadDir}),
        Rights::WriteDirectory => make_bitflags!(AccessFs::{
            ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | MakeSym | MakeFifo | RemoveFile | RemoveDir | Refer
        }),
        Rights::ReadFile => AccessFs::ReadFile.into(),
        Rights::WriteFile => make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | ResolveUnix}),
        Rights::Names => access(Rights::WriteDirectory) & !make_bitflags!(AccessFs::{MakeSym | MakeFifo}),
        Rights::RemoveDirectories => AccessFs::RemoveDir.into(),
        Rights::RunDirectory => access(Rights::ReadDirectory) | AccessFs::Execute,
        Rights::Way => make_bitflags!(AccessFs::{ReadFile | Execute}),
        Rights::OwnWay => access(Rights::OwnDirectory) & !make_bitflags!(AccessFs::{ReadDir}),
        Rights::OwnDirectory => {
            access(Rights::WriteDirectory) | make_bitflags!(AccessFs::{Execute | MakeSock | ResolveUnix})
        }
        Rights::OwnDirectoryApart => access(Rights::OwnDirectory) & !make_bitflags!(AccessFs::{Refer}),
        Rights::RunFile => make_bitflags!(AccessFs::{ReadFile | Execute}),
        Rights::OwnFile => access(Rights::WriteFile) | AccessFs::Execute,
        Rights::Device => make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev}),
        Rights::DeviceDirectory => access(Rights::Device) | AccessFs::ReadDir,
    }
}

/// Opens a rule's path without access to its contents.
fn open(rule: &PathRule) -> Result<Option<OwnedFd>, KernelError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = match rule.links {
        Links::Refuse => {
            let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            // A final link is opened itself, to distinguish it from a path that cannot be opened.
            rustix::fs::openat2(CWD, &rule.path, flags | OFlags::NOFOLLOW, Mode::empty(), resolve)
        }
        Links::Follow => rustix::fs::open(&rule.path, flags, Mode::empty()),
    };
    let failed = |errno: Errno| KernelError::Open { path: rule.path.clone(), source: errno.into() };
    let descriptor = match opened {
        Ok(descriptor) => descriptor,
        Err(Errno::NOENT | Errno::NOTDIR) if rule.absent == Absent::Nothing => return Ok(None),
        Err(errno) => return Err(failed(errno)),
    };
    let file_type = FileType::from_raw_mode(rustix::fs::fstat(&descriptor).map_err(failed)?.st_mode);
    let changed = |expected| KernelError::Changed { path: rule.path.clone(), expected };
    match (rule.rights, file_type) {
        // A link without a target counts as a missing name: a target that is created later is not granted.
        (rights, FileType::Symlink) if rights.are_of_a_file() && rule.absent == Absent::Nothing => Ok(None),
        (rights, FileType::Directory | FileType::Symlink) if rights.are_of_a_file() => Err(changed("a file")),
        (rights, kind) if rights.are_of_a_file() || kind == FileType::Directory => Ok(Some(descriptor)),
        _ => Err(changed("a directory")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_restricted_as_far_as_a_version_can() {
        let names = |net: &NetPlan, abi| restricted_ports(net, abi);
        let none = NetPlan::default();
        assert_eq!(names(&none, 3), []);
        let tcp = |connect: &[u16], bind: &[u16]| {
            vec![(AccessNet::ConnectTcp, connect.to_vec()), (AccessNet::BindTcp, bind.to_vec())]
        };
        for abi in 4..10 {
            assert_eq!(names(&none, abi), tcp(&[], &[]), "{abi}");
        }
        let udp = |send: &[u16], bind: &[u16]| {
            [(AccessNet::ConnectSendUdp, send.to_vec()), (AccessNet::BindUdp, bind.to_vec())]
        };
        assert_eq!(names(&none, 10), [tcp(&[], &[]).as_slice(), &udp(&[], &[])].concat());
        let web = NetPlan { connect: Ports::Some(vec![443, DNS]), bind: Ports::Some(vec![0]), ..NetPlan::default() };
        assert_eq!(names(&web, 10), [tcp(&[443, DNS], &[0]).as_slice(), &udp(&[DNS], &[0])].concat());
        assert_eq!(names(&NetPlan { udp: true, ..web.clone() }, 10), tcp(&[443, DNS], &[0]));
        let all = NetPlan { connect: Ports::All, bind: Ports::All, udp: true, ..NetPlan::default() };
        assert_eq!(names(&all, 10), []);
    }

    #[test]
    fn sockets_in_a_file_system_are_for_owners_and_for_granted_files() {
        let can_connect = |rights| access(rights).contains(AccessFs::ResolveUnix);
        for rights in [Rights::OwnDirectory, Rights::OwnFile, Rights::WriteFile] {
            assert!(can_connect(rights), "{rights:?}");
        }
        // A directory that is granted for writing may have sockets of others in it.
        for rights in [Rights::WriteDirectory, Rights::Names, Rights::ReadFile, Rights::RunDirectory, Rights::Device] {
            assert!(!can_connect(rights), "{rights:?}");
        }
        // Until the tests have run on such a kernel, no rule has the right.
        assert!(!(access(Rights::OwnDirectory) & file_rights(TESTED)).contains(AccessFs::ResolveUnix));
    }

    #[test]
    fn what_an_older_version_lacks_is_said() {
        let plan = |profile, net| Plan { profile, paths: Vec::new(), net, counted_memory: false, limits: None };
        let missing = |profile, abi| enforced(&plan(profile, NetPlan::default()), abi).missing.unwrap_or_default();
        for profile in [Profile::Guest, Profile::Native] {
            assert!(missing(profile, 2).contains("truncated"));
            assert_eq!(missing(profile, 3), "");
        }
        let tcp = NetPlan { connect: Ports::Some(vec![80]), ..NetPlan::default() };
        assert!(enforced(&plan(Profile::Guest, tcp), 3).missing.unwrap().contains("ports"));
        // Without a PID namespace, only Landlock keeps signals in.
        assert!(missing(Profile::NativeOnHost, 5).contains("signalling"));
        assert!(enforced(&plan(Profile::NativeOnHost, NetPlan::default()), 6).complete);
    }
}
