//! Confines this process before a guest's first instruction, if the process only runs modules. Also turns a confinement
//! below the required level into an error with its remedy.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use modbox_kernel::{OwnPaths, Plan, Reached};
use modbox_policy::Policy;
use modbox_scratch::RunDir;
use modbox_vocabulary::{Capability, Denial, Operation};

use crate::app::config::RunnerConfig;
use crate::app::error::RunError;
use crate::app::request::RunRequest;

/// Hooks of a process that can be confined; see [`RunnerConfig::confine`]. Confinement is permanent: the process runs
/// no later module with other grants.
pub trait ProcessConfinement: Send + Sync {
    /// Ends every thread except the caller's. Confinement applies to the calling thread and to threads that it starts
    /// later.
    ///
    /// # Errors
    ///
    /// A thread that cannot be ended.
    fn stop_threads(&self) -> io::Result<()>;

    /// Starts the ended threads again, as far as they are needed.
    ///
    /// # Errors
    ///
    /// A thread that cannot be started.
    fn start_threads(&self) -> io::Result<()>;

    /// Returns the directory in which all runs of this process make theirs; `None` means that the process is for one
    /// run. In a process of many runs, all runs have the grants of the first one.
    fn directory(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the size of the largest file that the process will still write to, such as its standard output.
    fn largest_file(&self) -> u64;
}

/// A run that the kernel would confine less than the policy requires: the level reached, the denial and the message.
#[derive(Debug)]
pub struct Shortfall {
    pub(super) reached: Reached,
    pub(super) denial: Denial,
    pub(super) message: String,
}

/// Guard that keeps the threads of this process stopped until it is dropped.
#[must_use = "dropping it starts the threads"]
pub(super) struct StoppedThreads<'c>(Option<&'c dyn ProcessConfinement>);

impl StoppedThreads<'_> {
    fn start(mut self) -> Result<(), RunError> {
        self.0.take().map_or(Ok(()), ProcessConfinement::start_threads).map_err(RunError::Threads)
    }
}

impl Drop for StoppedThreads<'_> {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.0.take().map(ProcessConfinement::start_threads) {
            tracing::warn!(%error, "the threads of the process were not started again");
        }
    }
}

/// Stops the threads of this process, if `config.confine` is set; otherwise does nothing.
///
/// # Errors
///
/// A thread that cannot be ended.
pub(super) fn stop_threads(config: &RunnerConfig) -> Result<StoppedThreads<'_>, RunError> {
    let process = config.confine.as_deref();
    process.map_or(Ok(()), ProcessConfinement::stop_threads).map_err(RunError::Threads)?;
    Ok(StoppedThreads(process.map(|process| process as &dyn ProcessConfinement)))
}

/// Confines this process to the grants of the request, and returns the confinement in force. It is empty for a process
/// without [`RunnerConfig::confine`] and for a request that grants everything.
///
/// # Errors
///
/// A process that cannot be confined, or a kernel that gives less than the policy requires.
pub(super) fn confine(
    config: &RunnerConfig,
    confined: &OnceLock<Reached>,
    request: &RunRequest<'_>,
    run_dir: &RunDir,
) -> Result<Reached, RunError> {
    if request.policy.allows_everything() {
        return Ok(Reached::default());
    }
    let reached = match (&config.confine, confined.get()) {
        (Some(_), Some(reached)) => reached.clone(),
        (Some(process), None) => {
            let stopped = stop_threads(config)?;
            let reached = confine_process(&**process, request, run_dir)?;
            stopped.start()?;
            confined.get_or_init(|| reached).clone()
        }
        (None, _) => Reached::default(),
    };
    let asked = request.policy.least_confinement();
    let least = match asked {
        Some(asked) => asked.level,
        None if config.confine.is_some() => modbox_kernel::DEFAULT_LEAST,
        None => 0,
    };
    if reached.level >= least {
        return Ok(reached);
    }
    let source = asked.map(|asked| asked.source.as_str());
    Err(RunError::Unconfined(Box::new(shortfall(reached, least, source))))
}

/// Confines this process. The caller's thread must be its only one.
fn confine_process(
    process: &dyn ProcessConfinement,
    request: &RunRequest<'_>,
    run_dir: &RunDir,
) -> Result<Reached, RunError> {
    let directory = process.directory();
    let run = match &directory {
        Some(directory) => directory.clone(),
        None => run_dir.path().to_owned(),
    };
    let own = OwnPaths { run, largest_file: process.largest_file() };
    let mut plan = Plan::for_guest(request.policy, request.limits, &own);
    if let Some(limits) = plan.limits.as_mut().filter(|_| directory.is_some()) {
        // The kernel would count CPU time over all runs; each run has the engine's own meter.
        limits.cpu_time = None;
    }
    Ok(modbox_kernel::confine_process(&plan)?)
}

/// Returns the error of a native module that did not start because it would be confined too little. Without namespaces
/// there is no level below 2 for a native module, since nothing would keep it from other users' files.
pub(super) fn native_shortfall(reached: Reached, least: u8, policy: &Policy) -> RunError {
    let level = reached.level;
    let missing = reached.missing.join("; ");
    let source = policy.least_confinement().map(|asked| asked.source.as_str());
    let apart = level > 0 && reached.layers.iter().any(|layer| layer.starts_with("namespace"));
    let (remedy, allow) = match source {
        Some(source) if apart && level < least => {
            (format!("{source} asks for more"), format!("--min-confinement {level}"))
        }
        None if apart => {
            let allow = format!("--min-confinement {level}");
            (format!("accept it with `{allow}`, or in a policy file"), allow)
        }
        _ => ("if you trust it as yourself, run it with `--allow-all`".to_owned(), "--allow-all".to_owned()),
    };
    let message = format!(
        "the kernel confines the native module less than level {least} ({}): {missing}. What is left is level {level} \
         ({}); {remedy}",
        modbox_kernel::describe(least),
        modbox_kernel::describe(level),
    );
    let (capability, subject, operation) = (Capability::Confinement, format!("level {level}"), Operation::Start);
    let denial = Denial { capability, subject, operation, allow };
    RunError::Unconfined(Box::new(Shortfall { reached, denial, message }))
}

fn shortfall(reached: Reached, least: u8, source: Option<&str>) -> Shortfall {
    let level = reached.level;
    let missing = match reached.missing.as_slice() {
        [] => "a guest's process is not confined further".to_owned(),
        missing => missing.join("; "),
    };
    let remedy = match source {
        None => format!("accept it with `--min-confinement {level}`, or in a policy file"),
        Some(source) => format!("{source} asks for more"),
    };
    let message = format!(
        "the kernel confines the module less than level {least} ({}): {missing}. What is left is level {level} ({}); {remedy}",
        modbox_kernel::describe(least),
        modbox_kernel::describe(level),
    );
    let denial = Denial {
        capability: Capability::Confinement,
        subject: format!("level {level}"),
        operation: Operation::Start,
        allow: format!("--min-confinement {level}"),
    };
    Shortfall { reached, denial, message }
}
