//! Confines processes with the Linux kernel, below the engine, so that a fault in the engine does not give access.
//!
//! A [`Plan`] is data: the grants for Landlock, a profile of system calls for seccomp, and the limits of the process.
//! [`confine_process`] applies it to the calling process permanently, and returns the level that was [`KernelConfinement`]. A
//! guest is confined in the process that runs it, a native module in the process that starts it.
//!
//! Limits of this crate: Landlock does not restrict `stat`, so a process can learn which files exist, with their size,
//! owner and times. seccomp refuses changes of owners, modes and attributes, but not of times. Datagrams pass Landlock
//! if any network is granted. The kernel knows directories and files; the layers above enforce grants of single names
//! and quotas.

#![deny(missing_docs)]

mod caller;
mod capabilities;
mod error;
mod filters;
mod identity;
mod landlock;
pub mod landlock_rights;
mod level;
mod mount_attributes;
mod path_resolution;
mod plan;
mod private_mounts;
mod process;
mod process_limit;
mod profile;
mod resolver;
mod rlimits;
mod system;
mod user_mounts;

use std::io;
use std::os::fd::OwnedFd;

use modbox_vocabulary::ConfinementLayer;
use serde::{Deserialize, Serialize};

use self::filters::seccomp::FilterPlan;

pub use self::caller::Caller;
pub use self::error::KernelError;
pub use self::filters::calls::{CallGroup, Condition};
pub use self::filters::listener::{CallListener, ListenerState, ReportedCall};
pub use self::filters::on_host_calls::named_process;
pub use self::filters::profiles::{allowed_calls, hidden_calls, unsupported_calls};
pub use self::filters::reported::{ReportedCalls, refused_call, refused_use, sets_id};
pub use self::identity::{as_user, become_user, become_user_who_mounts, starting_as};
pub use self::level::{DEFAULT_LEAST, HIGHEST, Probe, describe, probe};
pub use self::mount_attributes::set_mount_attributes;
pub use self::path_resolution::check_path_resolution;
pub use self::plan::{Absent, Links, NetPlan, PathRule, Plan, Ports, Rights};
pub use self::private_mounts::PrivateMounts;
pub use self::process::{close_descriptors_from, fork, hide_descriptors_from, start_session};
pub use self::profile::Profile;
pub use self::rlimits::ProcessLimits;
pub use self::user_mounts::{enter_user_mounts, join_user_mounts, keep_mount_rights, with_all_rights};

/// The result of confining a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelConfinement {
    /// The level; see [`describe`].
    pub level: u8,
    /// What is in force, strongest first.
    pub layers: Vec<ConfinementLayer>,
    /// What the kernel does not support, each with its cause.
    pub missing: Vec<String>,
    /// Why refused system calls are not reported, if they were to be.
    pub unreported: Option<String>,
    /// Whether any signal interrupts a call whose report was received, so that it is made and reported again: Linux before
    /// 5.19.
    #[serde(default)]
    pub interruptible: bool,
}

impl KernelConfinement {
    /// Returns notes for the operator about what the kernel does not support.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let missing = self.missing.iter();
        let unreported = self.unreported.iter();
        missing
            .map(|missing| format!("the kernel does not confine the module fully: {missing}"))
            .chain(unreported.map(|cause| format!("system calls that the module is refused are not named: {cause}")))
    }
}

/// Restricts the calling thread, and everything that it starts, to the system calls of a profile, without a network.
///
/// # Errors
///
/// The kernel refuses the filter.
pub fn restrict_calls(profile: Profile) -> Result<(), String> {
    filters::seccomp::install(&filters::seccomp::compile(FilterPlan {
        profile,
        net: &NetPlan::default(),
        counted_memory: false,
        reports: false,
    })?)
}

/// Confines this process permanently, with a filter that reports the calls that it refuses. The process must have no
/// other threads. Returns the listener as [`confine_reporting_thread`] does.
///
/// # Errors
///
/// There are other threads, or a path of the plan cannot be used. Only `no_new_privs` is in force then.
pub fn confine_process(plan: &Plan) -> Result<(KernelConfinement, Option<OwnedFd>), KernelError> {
    system::wait_until_alone()?;
    confine_reporting_thread(plan, &ReportedCalls::default())
}

/// Confines the calling thread, and everything that it starts. Limits apply to the whole process.
///
/// A module in namespaces cannot read the memory of the process that started it. Without namespaces, the caller must
/// set `PR_SET_DUMPABLE` for this.
///
/// # Errors
///
/// A path of the plan cannot be used.
pub fn confine_thread(plan: &Plan) -> Result<KernelConfinement, KernelError> {
    confine_with(plan, || filters::seccomp::install(&filters::seccomp::compile(plan.into())?))
}

/// Does the same as [`confine_thread`], with a filter that reports calls: the allowed ones that `reported` chooses, and the
/// refused ones. Returns the listener for the reports as well. If the kernel gives none, the calls are only refused, and
/// [`KernelConfinement::unreported`] has the cause.
///
/// Until the process with the [`CallListener`] answers, a thread waits in a call that is reported. When the listener is
/// closed, such calls fail with `ENOSYS`. So the caller must pass it on and close it: it cannot answer its own calls.
///
/// # Errors
///
/// A path of the plan cannot be used.
pub fn confine_reporting_thread(
    plan: &Plan,
    reported: &ReportedCalls,
) -> Result<(KernelConfinement, Option<OwnedFd>), KernelError> {
    let mut listener = Err("the filter was not made".to_owned());
    let mut reached = confine_with(plan, || {
        let program = filters::seccomp::compile_reporting(plan.into(), reported)?;
        listener = filters::seccomp::install_reporting(&program).map_err(|error| error.to_string());
        match &listener {
            Ok(_) => Ok(()),
            // A kernel without listeners, or a process with one already.
            Err(_) => filters::seccomp::install(&filters::seccomp::compile(plan.into())?),
        }
    })?;
    let listener = listener.map_err(|cause| reached.unreported = Some(cause)).ok();
    reached.interruptible = listener.as_ref().is_some_and(|(_, is_killable)| !is_killable);
    Ok((reached, listener.map(|(listener, _)| listener)))
}

/// Makes the kernel report calls of the calling thread, and of everything that it starts, and refuses none. It reports the
/// calls that `reported` chooses, and those that a module in namespaces is refused. Returns the listener; see [`confine_reporting_thread`]. Without the right to administer the system, this thread and what it starts
/// get no rights of set-id programs.
///
/// # Errors
///
/// The kernel has no listeners.
pub fn report_calls(reported: &ReportedCalls) -> io::Result<OwnedFd> {
    let program = filters::seccomp::compile_observing(reported).map_err(io::Error::other)?;
    let installed = filters::seccomp::install_reporting(&program).or_else(|error| match error.raw_os_error() {
        Some(libc::EACCES) => {
            rustix::thread::set_no_new_privs(true)?;
            filters::seccomp::install_reporting(&program)
        }
        _ => Err(error),
    });
    installed.map(|(listener, _)| listener)
}

fn confine_with(
    plan: &Plan,
    install_filter: impl FnOnce() -> Result<(), String>,
) -> Result<KernelConfinement, KernelError> {
    check_path_resolution()?;
    // 1. Programs started from here on get no more rights than this process has.
    let no_new_privs = rustix::thread::set_no_new_privs(true).map_err(|error| format!("no_new_privs: {error}"));
    // 2. Steps that can fail because of paths or memory come before anything is refused.
    let ruleset = landlock::prepare(plan)?;
    // 3. The rights of root that a guest does not need, and the limits of the process.
    let capabilities = capabilities::reduce(plan).map_err(|error| format!("capabilities: {error}"));
    let limits = plan.limits.as_ref().map(|limits| limits.apply().map_err(|error| format!("limits: {error}")));
    // 4. The restrictions. The filter is last: it refuses calls that raise limits.
    let landlock = ruleset.and_then(landlock::PreparedRuleset::restrict);
    let seccomp = install_filter();

    let mut reached = KernelConfinement::default();
    let complete = landlock.as_ref().is_ok_and(|landlock| landlock.complete);
    let process = no_new_privs.is_ok() && capabilities.is_ok() && !matches!(limits, Some(Err(_)));
    reached.level = level::of(complete && seccomp.is_ok(), process);
    match landlock {
        Ok(landlock) => {
            reached.layers.push(ConfinementLayer::Landlock(landlock.abi));
            reached.missing.extend(landlock.missing);
        }
        Err(cause) => reached.missing.push(cause),
    }
    let mut note = |layer: ConfinementLayer, result: Result<(), String>| match result {
        Ok(()) => reached.layers.push(layer),
        Err(cause) => reached.missing.push(cause),
    };
    note(ConfinementLayer::Seccomp, seccomp);
    if let Some(limits) = limits {
        note(ConfinementLayer::Rlimits, limits);
    }
    note(ConfinementLayer::Capabilities, capabilities);
    note(ConfinementLayer::NoNewPrivs, no_new_privs);
    Ok(reached)
}
