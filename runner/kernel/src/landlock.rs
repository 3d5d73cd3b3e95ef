//! Landlock: a ruleset from the paths and ports of a plan.
//!
//! The ruleset handles every right that this kernel's Landlock knows, so a right without a rule is refused. Nothing is
//! skipped silently: a path that cannot be opened is an error, and a ruleset that the kernel enforces only in part does
//! not count.

use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags,
};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::KernelError;
use crate::plan::{Absent, Links, PathRule, Plan, Ports, Rights};
use crate::profiles::Profile;
use crate::{resolver, system};

/// The first version that restricts truncation. Without it, a file granted for reading could be emptied.
pub(super) const COMPLETE: u32 = 3;

/// The first version that restricts ports.
const PORTS: u32 = 4;

/// The first version that restricts signals and abstract Unix sockets to the processes of the ruleset.
const SCOPES: u32 = 6;

/// The newest version that the tests cover. On a newer kernel, only this version is used.
const TESTED: u32 = 7;

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
    let version = ABI::from(i32::try_from(abi).unwrap_or_default());
    let known = AccessFs::from_all(version);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(known)?;
    let ports = [(AccessNet::ConnectTcp, &plan.net.connect), (AccessNet::BindTcp, &plan.net.bind)];
    for (access, ports) in ports {
        if abi >= PORTS && *ports != Ports::All {
            ruleset = ruleset.handle_access(access)?;
        }
    }
    let scopes = Scope::from_all(version);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    let mut created = ruleset.create()?;
    for (descriptor, rights) in opened {
        created = created.add_rule(PathBeneath::new(descriptor, access(rights) & known))?;
    }
    for (access, ports) in ports {
        if let Ports::Some(list) = ports
            && abi >= PORTS
        {
            for port in list {
                created = created.add_rule(NetPort::new(*port, access))?;
            }
        }
    }
    Ok(created)
}

/// Converts rights. None of them allows creating devices.
fn access(rights: Rights) -> BitFlags<AccessFs> {
    match rights {
        Rights::ReadDirectory => make_bitflags!(AccessFs::{ReadFile | ReadDir}),
        Rights::WriteDirectory => make_bitflags!(AccessFs::{
            ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | MakeSym | RemoveFile | RemoveDir | Refer
        }),
        Rights::ReadFile => AccessFs::ReadFile.into(),
        Rights::WriteFile => make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate}),
        Rights::Names => access(Rights::WriteDirectory) & !make_bitflags!(AccessFs::{MakeSym}),
        Rights::RemoveDirectories => AccessFs::RemoveDir.into(),
        Rights::RunDirectory => access(Rights::ReadDirectory) | AccessFs::Execute,
        Rights::OwnDirectory => {
            access(Rights::WriteDirectory) | make_bitflags!(AccessFs::{Execute | MakeSock | MakeFifo})
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
    use crate::plan::NetPlan;

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
