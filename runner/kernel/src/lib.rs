//! The kernel under the engine: what a process may do at all, whatever the engine above it lets through.
//!
//! A [`Plan`] is data: the same grants again, for Landlock; the system calls that a profile allows, for seccomp; the
//! limits of the process. [`confine_process`] applies it to the process that calls it, for good, and says which level
//! was [`Reached`]. Wasm guests are confined so in the process that runs them, native modules in the one that
//! starts them.
//!
//! What it does not do. Landlock does not see `stat`, so what exists, with its size, owner and times, can be asked
//! about; changing owners, modes and attributes is refused by seccomp instead, changing times is not. Datagrams pass
//! Landlock where a network is granted at all. Names and quotas are the business of the layer above: the kernel knows
//! directories and files.

#![deny(missing_docs)]

mod calls;
mod capabilities;
mod compiler_calls;
mod guest_calls;
mod landlock;
mod level;
mod native_calls;
mod plan;
mod process;
mod profiles;
mod resolver;
mod rlimits;
mod seccomp;
mod system;

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use self::calls::{CallGroup, Condition};
pub use self::level::{DEFAULT_LEAST, HIGHEST, Probe, describe, probe};
pub use self::plan::{Absent, Links, NetPlan, PathRule, Plan, Ports, Rights};
pub use self::process::{close_descriptors_from, fork, hide_descriptors_from};
pub use self::profiles::{Profile, allowed_calls, hidden_calls};
pub use self::rlimits::ProcessLimits;

/// What confining a process came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// The level, see [`describe`].
    pub level: u8,
    /// What is in force, strongest first: `landlock-7`, `seccomp`, `rlimits`, `capabilities`,
    /// `no-new-privs`.
    pub layers: Vec<String>,
    /// What the kernel did not give, each with its cause.
    pub missing: Vec<String>,
}

impl Reached {
    /// Returns what an operator should know: what the kernel did not give.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.missing.iter().map(|missing| format!("the kernel does not confine the module fully: {missing}"))
    }
}

/// Why a process was not confined. A kernel that gives less than was planned is none of these, but a lower level.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// Landlock and seccomp bind the calling thread; others would go on unbound.
    #[error("failed to confine the process: {count} threads are running where there must be one")]
    Threads {
        /// How many.
        count: u64,
    },
    /// The threads could not be counted.
    #[error("failed to count the threads of the process in `/proc/self/task`")]
    CountThreads(#[source] io::Error),
    /// A path of the plan cannot be opened.
    #[error("failed to open `{}` for the rules of the kernel", path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A path of the plan is not what it was when it was granted.
    #[error("failed to use `{}` in the rules of the kernel: it is not {expected} any more", path.display())]
    Changed {
        /// Which.
        path: PathBuf,
        /// What it was.
        expected: &'static str,
    },
}

/// Restricts the calling thread and whatever it starts later to the system calls of a profile, without a network.
///
/// # Errors
///
/// A kernel that does not take the filter.
pub fn restrict_calls(profile: Profile) -> Result<(), String> {
    seccomp::install(&seccomp::compile(profile, &NetPlan::default())?)
}

/// Confines this process, which must have no thread but the caller's. There is no way back.
///
/// # Errors
///
/// Other threads, or a path of the plan that cannot be used. Nothing is in force then but `no_new_privs`.
pub fn confine_process(plan: &Plan) -> Result<Reached, KernelError> {
    system::wait_until_alone()?;
    confine_thread(plan)
}

/// Confines the calling thread and whatever it starts later. Limits, where the plan has any, bind the whole process.
///
/// The memory of a process that was so confined to start a module in namespaces is not the module's to look into. Without
/// namespaces that takes `PR_SET_DUMPABLE`, which is the caller's business.
///
/// # Errors
///
/// A path of the plan that cannot be used.
pub fn confine_thread(plan: &Plan) -> Result<Reached, KernelError> {
    // 1. Nothing that is started from here on gets more rights than this process has.
    let no_new_privs = rustix::thread::set_no_new_privs(true).map_err(|error| format!("no_new_privs: {error}"));
    // 2. What can fail for want of a path or of memory, while nothing is refused yet.
    let ruleset = landlock::prepare(plan)?;
    let filter = seccomp::compile(plan.profile, &plan.net);
    // 3. The rights of root that a guest has no use for, and the limits of the process.
    let capabilities = capabilities::reduce(plan).map_err(|error| format!("capabilities: {error}"));
    let limits = plan.limits.as_ref().map(|limits| limits.apply().map_err(|error| format!("limits: {error}")));
    // 4. The walls. The filter is the last: it refuses what raises a limit again.
    let landlock = ruleset.and_then(landlock::Prepared::restrict);
    let seccomp = filter.and_then(|program| seccomp::install(&program));

    let mut reached = Reached::default();
    let complete = landlock.as_ref().is_ok_and(|landlock| landlock.complete);
    let process = no_new_privs.is_ok() && capabilities.is_ok() && !matches!(limits, Some(Err(_)));
    reached.level = level::of(complete && seccomp.is_ok(), process);
    match landlock {
        Ok(landlock) => {
            reached.layers.push(format!("landlock-{}", landlock.abi));
            reached.missing.extend(landlock.missing);
        }
        Err(cause) => reached.missing.push(cause),
    }
    let mut note = |layer: &str, result: Result<(), String>| match result {
        Ok(()) => reached.layers.push(layer.to_owned()),
        Err(cause) => reached.missing.push(cause),
    };
    note("seccomp", seccomp);
    if let Some(limits) = limits {
        note("rlimits", limits);
    }
    note("capabilities", capabilities);
    note("no-new-privs", no_new_privs);
    Ok(reached)
}
