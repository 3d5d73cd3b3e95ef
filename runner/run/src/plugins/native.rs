//! The process of Python plugins in a room: one socket, one message at a time.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use modbox_channel::Framing;
use modbox_native::{NativeError, RunningModule};
use modbox_scratch::{DirPurpose, RunDir, ScratchError};
use modbox_vocabulary::{DirectProgram, Invocation, Limits, Outcome, Program};

use crate::plugins::call_time::CallTime;
use crate::plugins::linked_collections::behind_links;
use crate::plugins::place::PluginPlace;
use crate::plugins::process::{
    CALL_CPU, LARGE, PluginError, PluginLink, PluginProcess, START, busy_text, late_start, late_text, outcome_text,
    remedy, start_failure, worker_limits,
};
use crate::plugins::rights::PluginRights;
use crate::plugins::stream::DeadlineStream;
use crate::programs::ProgramNeeds;
use crate::reports::error::RunError;
use crate::request::scrutiny::Scrutiny;
use crate::runner::Runner;

/// The program that the interpreter runs.
const WORKER: &str = concat!(
    include_str!("../../../../guest-sdk/python-host/plugins/paths.py"),
    "\n",
    include_str!("../../../../guest-sdk/python-host/plugins/values.py"),
    "\n",
    include_str!("../../../../guest-sdk/python-host/plugins/variables.py"),
    "\n",
    include_str!("../../../../guest-sdk/python-host/plugins/worker.py"),
    "\n",
    include_str!("../../../../guest-sdk/python-host/plugins/native.py")
);

/// Messages have at most 32 MiB.
const FRAMES: Framing = Framing::new(32 << 20);

/// Processes and threads of the worker at a time; libraries start some.
const PROCESSES: u64 = 8;

/// How long an ended worker may take to say how it ended.
const EPILOGUE: Duration = Duration::from_secs(2);

/// Variables of the worker, besides the usual ones of a room. Its home and its working directory have no `ansible.cfg`.
const VARIABLES: [(&str, &str); 3] =
    [("ANSIBLE_NOCOLOR", "1"), ("LC_ALL", "C.UTF-8"), ("PYTHONDONTWRITEBYTECODE", "1")];

/// A process in a room that runs Python plugins. Dropping it ends it.
#[derive(Debug)]
struct NativeWorker {
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
        let limits = Limits { max_processes: PROCESSES, ..worker_limits() };
        let (socket, theirs) = UnixStream::pair().map_err(|error| room(NativeError::Channel(error).into()))?;
        let running = modbox_native::start_talking(&context, &invocation, theirs.as_fd(), folder.path(), &limits);
        drop(theirs);
        let running = running.map_err(|error| room(error.into()))?;
        let call_time = CallTime::new(CALL_CPU);
        let mut worker = NativeWorker { socket, running: Some(running), call_time, limits, _folder: folder };
        worker.wait_until_ready(place, |error| match error {
            NativeError::Unconfined(reached) => {
                PluginError::Unconfined { least, remedy: remedy(&reached, policy), reached: Box::new(reached) }
            }
            error => room(error.into()),
        })?;
        Ok(PluginProcess::new(worker))
    }
}

impl NativeWorker {
    fn wait_until_ready(
        &mut self,
        place: &PluginPlace,
        error_of: impl FnOnce(NativeError) -> PluginError,
    ) -> Result<(), PluginError> {
        let python = |reason: String| PluginError::Python { python: place.python.clone(), reason };
        let answer = FRAMES.read_required(DeadlineStream::new(&self.socket, START));
        let reason = match answer {
            Ok(answer) => match start_failure(&answer) {
                None => return Ok(()),
                Some(reason) => reason,
            },
            Err(error) if error.kind() == ErrorKind::TimedOut => late_start(),
            Err(_) => match self.end() {
                Some(Ok(outcome)) => last_words(&outcome),
                Some(Err(error)) => return Err(error_of(error)),
                None => "it ended".to_owned(),
            },
        };
        Err(python(reason))
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
                late_text()
            }
            ErrorKind::QuotaExceeded => {
                self.running = None;
                busy_text()
            }
            ErrorKind::InvalidData => {
                self.running = None;
                LARGE.to_owned()
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

impl PluginLink for NativeWorker {
    fn send(&mut self, message: &[u8], deadline: Instant) -> Result<(), PluginError> {
        match self.exchange(deadline, |stream| FRAMES.write(stream, message))? {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::InvalidInput => Err(PluginError::TooLarge),
            Err(error) => Err(PluginError::Ended(self.why_ended(&error))),
        }
    }

    fn receive(&mut self, deadline: Instant) -> Result<Vec<u8>, PluginError> {
        let answer = self.exchange(deadline, |stream| FRAMES.read_required(stream))?;
        answer.map_err(|error| PluginError::Ended(self.why_ended(&error)))
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
