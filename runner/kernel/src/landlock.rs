//! Landlock: the paths and ports of a plan as rules of the kernel.
//!
//! Every right that this kernel's Landlock knows is handled, that is, refused wherever no rule allows it. Nothing is
//! skipped silently: a path that cannot be opened is an error, a ruleset that the kernel enforces in part is none.

use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags,
};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::plan::{Absent, Links, PathRule, Plan, Ports, Rights};
use crate::{KernelError, resolver, system};

/// The first version that knows truncation. Before it, a file that may only be read could be emptied.
pub(super) const COMPLETE: u32 = 3;

/// The first version that knows ports.
const PORTS: u32 = 4;

/// The newest version that the tests were run with. A newer kernel is asked for this much and no more.
const TESTED: u32 = 7;

/// A ruleset that only waits to be enforced.
pub(super) struct Prepared {
    ruleset: RulesetCreated,
    enforced: Enforced,
}

/// What is enforced.
pub(super) struct Enforced {
    /// The version of Landlock's interface.
    pub(super) abi: u32,
    /// Whether that is all that the plan asks for.
    pub(super) complete: bool,
    /// What is not.
    pub(super) missing: Option<String>,
}

/// Says why there is no Landlock.
pub(super) fn unavailable(error: io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => "Landlock: this kernel has none, Linux 6.2 and newer do".to_owned(),
        Some(libc::EOPNOTSUPP) => {
            "Landlock: this kernel was started without it; add `landlock` to its `lsm=` parameter".to_owned()
        }
        _ => format!("Landlock: {error}"),
    }
}

/// Opens the paths of a plan and makes the ruleset. `Ok(Err(_))` says why the kernel has none.
///
/// # Errors
///
/// A path that cannot be opened, or is not what it was.
pub(super) fn prepare(plan: &Plan) -> Result<Result<Prepared, String>, KernelError> {
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
    Ok(ruleset.map(|ruleset| Prepared { ruleset, enforced: enforced(plan, abi) }))
}

impl Prepared {
    /// Enforces the ruleset on the calling thread.
    pub(super) fn restrict(self) -> Result<Enforced, String> {
        let status = self.ruleset.restrict_self().map_err(|error| format!("Landlock: {error}"))?;
        match status.ruleset {
            RulesetStatus::FullyEnforced => Ok(self.enforced),
            status => Err(format!("Landlock: the kernel says {status:?}")),
        }
    }
}

fn enforced(plan: &Plan, abi: u32) -> Enforced {
    let ports = [&plan.net.connect, &plan.net.bind].into_iter().any(|ports| matches!(ports, Ports::Some(_)));
    let sockets = plan.net.any();
    let missing = if abi < COMPLETE {
        Some(format!("Landlock: version {abi} does not keep files from being truncated; Linux 6.2 and newer do"))
    } else if abi < PORTS && (ports || sockets) {
        Some(format!("Landlock: version {abi} does not know ports; Linux 6.7 and newer do"))
    } else {
        None
    };
    Enforced { abi, complete: missing.is_none(), missing }
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

/// The kernel's rights for ours. None of them are for making devices.
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
        Rights::RunFile => make_bitflags!(AccessFs::{ReadFile | Execute}),
        Rights::OwnFile => access(Rights::WriteFile) | AccessFs::Execute,
        Rights::Device => make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev}),
        Rights::DeviceDirectory => access(Rights::Device) | AccessFs::ReadDir,
    }
}

/// Opens what a rule is for, without any access to it.
fn open(rule: &PathRule) -> Result<Option<OwnedFd>, KernelError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = match rule.links {
        Links::Refuse => {
            let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            // The last link is opened as one, so that it can be told from a path that cannot be opened.
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
        // A link that leads nowhere is a name like one that is not there: what it may lead to later is not granted.
        (rights, FileType::Symlink) if rights.are_of_a_file() && rule.absent == Absent::Nothing => Ok(None),
        (rights, FileType::Directory | FileType::Symlink) if rights.are_of_a_file() => Err(changed("a file")),
        (rights, kind) if rights.are_of_a_file() || kind == FileType::Directory => Ok(Some(descriptor)),
        _ => Err(changed("a directory")),
    }
}
