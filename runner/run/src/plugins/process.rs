//! A worker of Python plugins as its play sees it: one message at a time, within the limits of a call. It runs natively, in a room,
//! or in the sandbox for WebAssembly; both have the same messages and the same limits.

use std::fmt::Debug;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use modbox_kernel::KernelConfinement;
use modbox_policy::Policy;
use modbox_vocabulary::{Exit, LimitKind, Limits, Outcome};

use crate::reports::error::RunError;

/// How long the worker may import ansible-core. It takes less than a second on an idle machine.
pub(super) const START: Duration = Duration::from_secs(60);

/// How long one call may take, and how much processor time of all its threads.
const CALL: Duration = Duration::from_secs(30);
pub(super) const CALL_CPU: Duration = Duration::from_secs(20);

/// Processor time of a whole worker, which a play of many hours does not reach by calls.
const CPU_TIME: Duration = Duration::from_secs(4 * 3600);

/// How long the worker may live. Its host ends it.
const LIFE: Duration = Duration::from_secs(365 * 24 * 3600);

/// Memory of the worker.
const MEMORY: u64 = 256 << 20;

/// Lowest level of a native process without namespaces: below it, nothing would keep it from the files of its user.
const LEAST_WITHOUT_NAMESPACES: u8 = 2;

/// Why a worker was ended whose message is too long.
pub(super) const LARGE: &str = "its answer is larger than the limit of 32 MiB, and it was ended";

/// A failure to run Python plugins at all.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The room could not be made.
    #[error(transparent)]
    Room(Box<RunError>),
    /// The kernel confines less than is accepted.
    #[error(
        "the kernel confines it less than level {least} ({}): {}; {remedy}",
        modbox_kernel::describe(*least),
        .reached.missing.join("; "),
    )]
    Unconfined {
        /// The level that is needed.
        least: u8,
        /// What the kernel gives.
        reached: Box<KernelConfinement>,
        /// What to do.
        remedy: String,
    },
    /// The interpreter cannot be used.
    #[error("`{python}` does not run plugins: {reason}")]
    Python {
        /// The interpreter.
        python: PathBuf,
        /// What it said.
        reason: String,
    },
    /// The component cannot be used.
    #[error("the sandbox does not run plugins: {0}")]
    Sandbox(String),
    /// The worker ended within a message, or was ended since it broke a limit. It must be started again.
    #[error("{0}")]
    Ended(String),
    /// The message is too long to be sent. The worker is not affected.
    #[error("what the plugin is given is larger than the limit of 32 MiB")]
    TooLarge,
}

/// The messages between a play and a worker.
pub(super) trait PluginLink: Debug + Send {
    /// See [`PluginProcess::send`].
    fn send(&mut self, message: &[u8], deadline: Instant) -> Result<(), PluginError>;

    /// See [`PluginProcess::receive`].
    fn receive(&mut self, deadline: Instant) -> Result<Vec<u8>, PluginError>;
}

/// A process that runs Python plugins. Dropping it ends it.
#[derive(Debug)]
pub struct PluginProcess {
    link: Box<dyn PluginLink>,
}

impl PluginProcess {
    pub(super) fn new(link: impl PluginLink + 'static) -> Self {
        Self { link: Box::new(link) }
    }

    /// Returns when a call that begins now has to have ended, with all that it calls.
    #[must_use]
    pub fn deadline() -> Instant {
        Instant::now() + CALL
    }

    /// Sends a message.
    ///
    /// # Errors
    ///
    /// [`PluginError::TooLarge`] for a message that was not sent. [`PluginError::Ended`] if the worker ended or did not read
    /// until the deadline; it cannot be used again.
    pub fn send(&mut self, message: &[u8], deadline: Instant) -> Result<(), PluginError> {
        self.link.send(message, deadline)
    }

    /// Waits for a message, which is whatever the worker sends: at most 32 MiB of any bytes.
    ///
    /// # Errors
    ///
    /// [`PluginError::Ended`] if none came until the deadline, or the worker ended; it cannot be used again.
    pub fn receive(&mut self, deadline: Instant) -> Result<Vec<u8>, PluginError> {
        self.link.receive(deadline)
    }
}

pub(super) fn worker_limits() -> Limits {
    Limits { timeout: LIFE, cpu_time: CPU_TIME, max_memory: MEMORY, max_output: 64 << 10, ..Limits::default() }
}

/// Returns why a worker did not start, by its first message; `None` if it has started.
pub(super) fn start_failure(message: &[u8]) -> Option<String> {
    if message.starts_with(b"{\"ready\"") {
        return None;
    }
    let told = serde_json::from_slice::<serde_json::Value>(message);
    let told = told.ok().and_then(|told| Some(told.get("error")?.as_str()?.to_owned()));
    Some(told.unwrap_or_else(|| "it sent something else than the worker does".to_owned()))
}

/// Returns why a worker was ended that did not start in time.
pub(super) fn late_start() -> String {
    format!("it did not import ansible-core within {} seconds", START.as_secs())
}

/// Returns why a worker was ended that did not answer in time.
pub(super) fn late_text() -> String {
    format!("it did not answer within {} seconds, and was ended", CALL.as_secs())
}

/// Returns why a worker was ended whose call used too much processor time.
pub(super) fn busy_text() -> String {
    format!("it used more than {} seconds of processor time, and was ended", CALL_CPU.as_secs())
}

/// Returns what to do where the kernel gives a level that is not accepted.
pub(super) fn remedy(reached: &KernelConfinement, policy: &Policy) -> String {
    let level = reached.level;
    let is_apart = reached.layers.iter().any(|layer| layer.is_namespace());
    match policy.least_confinement() {
        Some(least) => format!("{} asks for more", least.source),
        None if level >= LEAST_WITHOUT_NAMESPACES || (is_apart && level > 0) => {
            format!("accept level {level} with `--min-confinement {level}`, or in a policy file")
        }
        None => "run the play where the kernel gives more".to_owned(),
    }
}

/// Returns how a worker ended.
pub(super) fn outcome_text(outcome: &Outcome) -> String {
    match (outcome.limit.map(|limit| limit.kind), &outcome.exit) {
        // The end was waited for after the answer did not come.
        (Some(kind), _) if kind != LimitKind::Wall => {
            format!("its process was ended at its limit of {}", kind.as_str())
        }
        (_, Exit::Code(code)) => format!("its process ended with status {code}"),
        _ => "its process was ended".to_owned(),
    }
}
