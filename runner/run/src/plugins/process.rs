//! The process of Python plugins: one room, one socket, one message at a time.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use modbox_channel::Framing;
use modbox_kernel::KernelConfinement;
use modbox_native::{NativeError, RunningModule};
use modbox_policy::Policy;
use modbox_scratch::{DirPurpose, RunDir, ScratchError};
use modbox_vocabulary::{DirectProgram, Exit, Invocation, LimitKind, Limits, Outcome, Program};

use crate::plugins::call_time::CallTime;
use crate::plugins::linked_collections::behind_links;
use crate::plugins::place::PluginPlace;
use crate::plugins::rights::PluginRights;
use crate::plugins::stream::DeadlineStream;
use crate::programs::ProgramNeeds;
use crate::reports::error::RunError;
use crate::request::scrutiny::Scrutiny;
use crate::runner::Runner;

/// The program that the interpreter runs.
const WORKER: &str = concat!(
    include_str!("worker/paths.py"),
    "\n",
    include_str!("worker/values.py"),
    "\n",
    include_str!("worker/variables.py"),
    "\n",
    include_str!("worker/main.py")
);

/// Messages have at most 32 MiB.
const FRAMES: Framing = Framing::new(32 << 20);

/// How long the worker may import ansible-core. It takes less than a second on an idle machine.
const START: Duration = Duration::from_secs(60);

/// How long one call may take, and how much processor time of all its threads.
const CALL: Duration = Duration::from_secs(30);
const CALL_CPU: Duration = Duration::from_secs(20);

/// Lowest level of a native process without namespaces: below it, nothing would keep it from the files of its user.
const LEAST_WITHOUT_NAMESPACES: u8 = 2;

/// Processor time of a whole worker, which a play of many hours does not reach by calls.
const CPU_TIME: Duration = Duration::from_secs(4 * 3600);

/// How long the worker may live. Its host ends it.
const LIFE: Duration = Duration::from_secs(365 * 24 * 3600);

/// Memory of the worker.
const MEMORY: u64 = 256 << 20;

/// Processes and threads of the worker at a time; libraries start some.
const PROCESSES: u64 = 8;

/// How long an ended worker may take to say how it ended.
const EPILOGUE: Duration = Duration::from_secs(2);

/// Variables of the worker, besides the usual ones of a room. Its home and its working directory have no `ansible.cfg`.
const VARIABLES: [(&str, &str); 3] =
    [("ANSIBLE_NOCOLOR", "1"), ("LC_ALL", "C.UTF-8"), ("PYTHONDONTWRITEBYTECODE", "1")];

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
    /// The worker ended within a message, or was ended since it broke a limit. It must be started again.
    #[error("{0}")]
    Ended(String),
    /// The message is too long to be sent. The worker is not affected.
    #[error("what the plugin is given is larger than the limit of 32 MiB")]
    TooLarge,
}

/// A process that runs Python plugins. Dropping it ends it.
#[derive(Debug)]
pub struct PluginProcess {
    socket: UnixStream,
    /// `None` when the process was found to have ended.
    running: Option<RunningModule>,
    /// What the call that runs has used.
    call_time: CallTime,
    limits: Limits,
    /// The launcher's folder, removed with the process.
    _folder: RunDir,
}

impl Runner {
    /// Starts a process for Python plugins, and waits until ansible-core is imported.
    ///
    /// # Errors
    ///
    /// The kernel confines less than is accepted, or the interpreter does not import ansible-core.
    pub fn start_plugins(&self, place: &PluginPlace, rights: &PluginRights) -> Result<PluginProcess, PluginError> {
        let policy = rights.policy();
        let room = |error: RunError| PluginError::Room(Box::new(error));
        let folder =
            RunDir::create(&self.scratch, DirPurpose::Run, None).map_err(|error: ScratchError| room(error.into()))?;
        let mut context = self.native_context(policy, Scrutiny::Confined, false, readable(place, rights));
        context.environment.extend(VARIABLES.map(|(name, value)| (name.into(), value.into())));
        let collections = std::env::join_paths(place.collections.iter().map(|folder| &folder.path)).unwrap_or_default();
        context.environment.push(("ANSIBLE_COLLECTIONS_PATH".into(), collections));
        context.environment.extend(place.core.parent().map(|packages| ("PYTHONPATH".into(), packages.into())));
        context.directory = "/".into();
        // Without namespaces, only this folder is the room's own.
        let home = folder.path().join("ansible");
        context.environment.push(("ANSIBLE_LOCAL_TEMP".into(), home.join("tmp").into()));
        context.environment.push(("ANSIBLE_HOME".into(), home.into()));
        let least = context.confine.as_ref().map_or(0, |confine| confine.least);
        let words = ["-X", "utf8", "-c", WORKER].map(Into::into);
        let argv = std::iter::once(place.python.clone().into_os_string()).chain(words).collect();
        let program = Program::Direct(DirectProgram { path: place.python.clone(), argv });
        let invocation = Invocation { program, files: Vec::new(), stdin: Vec::new(), runtime_paths: Vec::new() };
        let limits = Limits {
            timeout: LIFE,
            cpu_time: CPU_TIME,
            max_memory: MEMORY,
            max_processes: PROCESSES,
            max_output: 64 << 10,
            ..Limits::default()
        };
        let (socket, theirs) = UnixStream::pair().map_err(|error| room(NativeError::Channel(error).into()))?;
        let running = modbox_native::start_talking(&context, &invocation, theirs.as_fd(), folder.path(), &limits);
        drop(theirs);
        let running = running.map_err(|error| room(error.into()))?;
        let call_time = CallTime::new(CALL_CPU);
        let mut process = PluginProcess { socket, running: Some(running), call_time, limits, _folder: folder };
        process.wait_until_ready(place, |error| match error {
            NativeError::Unconfined(reached) => {
                PluginError::Unconfined { least, remedy: remedy(&reached, policy), reached: Box::new(reached) }
            }
            error => room(error.into()),
        })?;
        Ok(process)
    }
}

impl PluginProcess {
    fn wait_until_ready(
        &mut self,
        place: &PluginPlace,
        error_of: impl FnOnce(NativeError) -> PluginError,
    ) -> Result<(), PluginError> {
        let python = |reason: String| PluginError::Python { python: place.python.clone(), reason };
        let answer = FRAMES.read_required(DeadlineStream::new(&self.socket, START));
        let reason = match answer {
            Ok(answer) if answer.starts_with(b"{\"ready\"") => return Ok(()),
            Ok(answer) => serde_json::from_slice::<serde_json::Value>(&answer)
                .ok()
                .and_then(|answer| Some(answer.get("error")?.as_str()?.to_owned()))
                .unwrap_or_else(|| "it sent something else than the worker does".to_owned()),
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                format!("it did not import ansible-core within {} seconds", START.as_secs())
            }
            Err(_) => match self.end() {
                Some(Ok(outcome)) => last_words(&outcome),
                Some(Err(error)) => return Err(error_of(error)),
                None => "it ended".to_owned(),
            },
        };
        Err(python(reason))
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
        match self.exchange(deadline, |stream| FRAMES.write(stream, message))? {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::InvalidInput => Err(PluginError::TooLarge),
            Err(error) => Err(PluginError::Ended(self.why_ended(&error))),
        }
    }

    /// Waits for a message, which is whatever the worker sends: at most 32 MiB of any bytes.
    ///
    /// # Errors
    ///
    /// [`PluginError::Ended`] if none came until the deadline, or the worker ended; it cannot be used again.
    pub fn receive(&mut self, deadline: Instant) -> Result<Vec<u8>, PluginError> {
        let answer = self.exchange(deadline, |stream| FRAMES.read_required(stream))?;
        answer.map_err(|error| PluginError::Ended(self.why_ended(&error)))
    }

    /// Uses the socket within the limits of the call that has to end at `deadline`.
    fn exchange<T>(
        &mut self,
        deadline: Instant,
        use_it: impl FnOnce(&mut DeadlineStream<'_>) -> io::Result<T>,
    ) -> Result<io::Result<T>, PluginError> {
        let Some(running) = &self.running else {
            return Err(PluginError::Ended("the process of the plugins has ended".to_owned()));
        };
        let mut check = || self.call_time.check(deadline, || running.processor_time());
        Ok(use_it(&mut DeadlineStream::until(&self.socket, deadline).checked_by(&mut check)))
    }

    /// Ends the process after a failed exchange, and says why it failed.
    fn why_ended(&mut self, error: &io::Error) -> String {
        match error.kind() {
            ErrorKind::TimedOut => {
                self.running = None;
                format!("it did not answer within {} seconds, and was ended", CALL.as_secs())
            }
            ErrorKind::QuotaExceeded => {
                self.running = None;
                format!("it used more than {} seconds of processor time, and was ended", CALL_CPU.as_secs())
            }
            ErrorKind::InvalidData => {
                self.running = None;
                "its answer is larger than the limit of 32 MiB, and it was ended".to_owned()
            }
            _ => match self.end() {
                Some(Ok(outcome)) => outcome_text(&outcome),
                Some(Err(error)) => error.to_string(),
                None => "its process has ended".to_owned(),
            },
        }
    }

    /// Ends the process, and returns how it ended.
    fn end(&mut self) -> Option<Result<Outcome, NativeError>> {
        let running = self.running.take()?;
        let limits = Limits { timeout: EPILOGUE, ..self.limits };
        Some(running.finish(&limits).map(|(outcome, _leaving)| outcome))
    }
}

/// Returns what to do where the kernel gives a level that is not accepted.
fn remedy(reached: &KernelConfinement, policy: &Policy) -> String {
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

/// Returns what the process reads besides files of the play: the interpreter's files, the packages beside ansible-core, and
/// collections that did not come with the play.
fn readable(place: &PluginPlace, rights: &PluginRights) -> Vec<PathBuf> {
    // What the interpreter needs where the plugin may write is left out, as for modules.
    let needs = ProgramNeeds::of(&place.python, rights.policy()).for_module(rights.policy(), &mut Vec::new());
    let mut readable: Vec<PathBuf> = needs.into_iter().map(|needed| needed.path).collect();
    readable.extend(place.core.parent().map(Path::to_owned));
    let installed: Vec<PathBuf> = place.installed().into_iter().filter(|folder| folder.is_dir()).collect();
    readable.extend(installed.iter().flat_map(|folder| behind_links(folder)));
    readable.extend(installed);
    readable
}

/// Returns the last line that the interpreter printed, or how it ended.
fn last_words(outcome: &Outcome) -> String {
    let stderr = String::from_utf8_lossy(&outcome.stderr.bytes);
    let last = stderr.trim().lines().last().unwrap_or_default().trim();
    if last.is_empty() { outcome_text(outcome) } else { last.to_owned() }
}

fn outcome_text(outcome: &Outcome) -> String {
    match (outcome.limit.map(|limit| limit.kind), &outcome.exit) {
        // The end was waited for after the answer did not come.
        (Some(kind), _) if kind != LimitKind::Wall => {
            format!("its process was ended at its limit of {}", kind.as_str())
        }
        (_, Exit::Code(code)) => format!("its process ended with status {code}"),
        _ => "its process was ended".to_owned(),
    }
}
