//! A run of a native module on the host's side, from the start of the launcher to the count of used resources.
//!
//! The steps are the first list in the documentation of [`native`](crate).

use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Instant;

use cap_std::fs::Dir;
use modbox_channel::descriptor;
use modbox_cleanup::UndoGuard;
use modbox_vocabulary::{DenialLog, Invocation, Limits, LostChange, Outcome, Program, Usage, User, time::micros};

use crate::error::NativeError;
use crate::host::attend;
use crate::host::context::NativeContext;
use crate::host::files;
use crate::host::launch::{self, Launch, Pipes};
use crate::host::outcome;
use crate::host::outside_commands::OutsideCommands;
use crate::host::variables;
use crate::processes::group;
use crate::processes::stdin::StdinSource;
use crate::protocol::{Reply, Spec, Start};
use crate::rooms::room::Room;
use crate::step::Step;

/// Running native module. Dropping it ends the module.
#[derive(Debug)]
pub struct RunningModule {
    pub(super) launch: Arc<Launch>,
    /// Whether processes of the module may stay.
    stays: bool,
    pipes: Pipes,
    /// Starter of commands outside, if the policy grants some.
    outside: Option<OutsideCommands>,
    undo: UndoGuard,
    since: Instant,
    tmpdir: Dir,
    /// Lowest accepted level of a confined module.
    least: Option<u8>,
    /// Single names that a confined module may write.
    names: Vec<PathBuf>,
    user: Option<User>,
}

/// Launcher of a module that has ended, with the rest of its room. Dropping it waits until both are gone.
#[derive(Debug)]
#[must_use = "dropping it waits"]
pub struct LauncherExit {
    launch: Arc<Launch>,
    undo: Option<UndoGuard>,
}

impl LauncherExit {
    fn wait(&mut self) -> Option<ExitStatus> {
        // A launcher that has replied only has to exit; one that has not was killed.
        let status = self.launch.wait(launch::ANSWER_PATIENCE);
        if status.is_some()
            && let Some(undo) = self.undo.take()
        {
            undo.disarm();
        }
        status
    }
}

impl Drop for LauncherExit {
    fn drop(&mut self) {
        if self.undo.is_some() {
            self.wait();
        }
    }
}

/// Runs a native module to its end: see [`start`] and [`RunningModule::finish`].
///
/// # Errors
///
/// Returns [`NativeError`] for every failure that the module did not cause. All processes are gone then, too.
pub fn run(
    cx: &NativeContext,
    invocation: &Invocation,
    tmpdir: &Path,
    limits: &Limits,
) -> Result<Outcome, NativeError> {
    let (outcome, _leaving) = start(cx, invocation, tmpdir, limits)?.finish(limits)?;
    Ok(outcome)
}

/// Starts a native module.
///
/// `tmpdir` must exist and be private; the caller made it and removes it when the module has ended.
///
/// # Errors
///
/// Returns [`NativeError`] for every failure that the module did not cause. All processes are gone then, too.
pub fn start(
    cx: &NativeContext,
    invocation: &Invocation,
    tmpdir: &Path,
    limits: &Limits,
) -> Result<RunningModule, NativeError> {
    start_with(cx, invocation, StdinSource::Bytes(&invocation.stdin), tmpdir, limits)
}

/// Starts a native module that talks with the caller: `socket` is its standard input, and that of the invocation is not
/// used. Otherwise as [`start`].
///
/// # Errors
///
/// As [`start`].
pub fn start_talking(
    cx: &NativeContext,
    invocation: &Invocation,
    socket: BorrowedFd<'_>,
    tmpdir: &Path,
    limits: &Limits,
) -> Result<RunningModule, NativeError> {
    start_with(cx, invocation, StdinSource::Socket(socket), tmpdir, limits)
}

fn start_with(
    cx: &NativeContext,
    invocation: &Invocation,
    stdin: StdinSource<'_>,
    tmpdir: &Path,
    limits: &Limits,
) -> Result<RunningModule, NativeError> {
    let start = match &invocation.program {
        Program::Native(program) => Start::Shell(program.command.clone()),
        Program::Direct(program) => Start::Program { path: program.path.clone(), argv: program.argv.clone() },
        Program::Wasm(_) => return Err(NativeError::NotNative),
    };
    // 1. Write the module's files.
    let dir = files::open(tmpdir)?;
    as_user(cx, || files::lay_out(&dir, &invocation.files))??;
    let leaves_processes = cx.leaves_processes && cx.confine.is_none();
    let spec = Spec { has_stdin: !stdin.is_empty(), leaves_processes, ..spec(cx, start, tmpdir, limits)? };
    RunningModule::new(cx, dir, spec, stdin)
}

impl RunningModule {
    /// Starts a launcher and sends it `spec`.
    pub(crate) fn new(
        cx: &NativeContext,
        tmpdir: Dir,
        mut spec: Spec,
        stdin: StdinSource<'_>,
    ) -> Result<Self, NativeError> {
        let since = Instant::now();
        // 2. Start the launcher.
        let (launch, pipes) = Launch::start(cx)?;
        let launch = Arc::new(launch);
        tracing::debug!("the launcher started");
        // 3. From here on, every early exit kills the tree.
        let undo = cx.cleanup.register({
            let launch = launch.clone();
            move || launch.undo()
        });
        // 4. Start the module.
        spec.find_groups();
        let asks = spec.room.as_ref().filter(|room| !room.outside.is_empty());
        let outside = asks.map(|room| OutsideCommands::start(cx, &room.tmpdir)).transpose()?.flatten();
        let (outside, channel) = outside.unzip();
        launch.send_spec(&spec, stdin).map_err(NativeError::Instruct)?;
        if let Some(channel) = channel {
            match descriptor::send(launch.control(), channel) {
                // The launcher could make no room and has ended. Its reply says why.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                sent => sent.map_err(NativeError::Instruct)?,
            }
        }
        let least = cx.confine.as_ref().filter(|confine| !confine.observed).map(|confine| confine.least);
        let names = spec.room.iter().flat_map(Room::written_names).collect();
        let stays = spec.leaves_processes;
        Ok(Self { launch, stays, pipes, outside, undo, since, tmpdir, least, names, user: spec.user })
    }

    /// Attends the module to its end. If a limit ended the run, the outcome reports it. A limit on output ends no run,
    /// and is reported when no other was hit. All processes of the module are gone when this returns.
    ///
    /// # Errors
    ///
    /// Returns [`NativeError`] for every failure that the module did not cause. All processes are gone then, too.
    pub fn finish(self, limits: &Limits) -> Result<(Outcome, LauncherExit), NativeError> {
        self.finish_program(limits).map(|(outcome, _, leaving)| (outcome, leaving))
    }

    /// Does the same as [`Self::finish`], and also returns the signal that ended the program, if it was one.
    pub(crate) fn finish_program(self, limits: &Limits) -> Result<(Outcome, Option<i32>, LauncherExit), NativeError> {
        let Self { launch, stays, pipes, mut outside, undo, since, tmpdir, least, names, user } = self;
        // 5. Attend the run.
        let record = attend::attend(&launch, pipes, limits, stays, outside.as_mut())?;
        let outside = outside.map(OutsideCommands::finish).unwrap_or_default();
        let run_us = micros(since.elapsed());
        let mut leaving = LauncherExit { launch, undo: Some(undo) };
        // 6. Add up the use of resources.
        let (began, unheard) = (record.began.is_some(), record.reply.is_none());
        // The launcher's exit status matters only when it has sent no reply.
        let status = if unheard { leaving.wait() } else { None };
        let signal = match &record.reply {
            Some(Reply::Ended(ended)) => ended.end.signal(),
            _ => None,
        };
        let mut outcome = outcome::of(record, status, limits).map_err(|error| of_user(error, user.as_ref()))?;
        outcome.outside = outside.runs;
        outcome.notes.extend(outside.notes);
        outcome.denials.extend(DenialLog::of_observer(outside.denials, false));
        match least {
            Some(least) if unheard => {
                let unknown = if began {
                    "what the module used and what it was denied is not known"
                } else {
                    // A module never begins with a lower level.
                    outcome.confinement.level = least;
                    "it is only known what the module was confined by at least"
                };
                outcome.notes.push(format!("the launcher did not answer, so {unknown}"));
                if outcome.limit.is_none() {
                    outcome.lost.extend(names.iter().map(|name| untold(name)));
                }
            }
            Some(_) => {}
            // The launcher has told what an observed module wrote.
            None if outcome.usage.disk_bytes > 0 => {}
            None => {
                let contents = files::count(&tmpdir);
                let (bytes, files) = (contents.bytes, contents.files);
                outcome.usage = Usage { disk_bytes: bytes, tmp_bytes: bytes, files, ..outcome.usage };
            }
        }
        outcome.usage.wall_us = run_us;
        outcome.timing.run_us = run_us;
        tracing::debug!(exit = ?outcome.exit, run_us, "the module ended");
        Ok((outcome, signal, leaving))
    }
}

pub(crate) fn spec(cx: &NativeContext, start: Start, tmpdir: &Path, limits: &Limits) -> Result<Spec, NativeError> {
    let mut environment = cx.environment.clone();
    // What can be written depends on the user.
    let room = as_user(cx, || cx.confine.as_ref().map(|confine| Room::new(confine, tmpdir.to_owned(), limits)))?;
    // Variables that the task has not would change what is observed.
    if room.as_ref().is_some_and(|room| !room.observed) {
        environment.extend(variables::usual(cx));
    }
    Ok(Spec {
        start,
        directory: cx.directory.clone().into_os_string(),
        only_there: false,
        umask: None,
        environment,
        cpu_time_us: micros(limits.cpu_time),
        max_memory: limits.max_memory,
        max_processes: limits.max_processes,
        leaves_processes: false,
        has_stdin: false,
        room,
        user: cx.user.clone(),
    })
}

/// Calls `action` with the rights of the user whose module it is.
fn as_user<T>(cx: &NativeContext, action: impl FnOnce() -> T) -> Result<T, NativeError> {
    let name = || cx.user.as_ref().map(|user| user.name.clone()).unwrap_or_default();
    modbox_kernel::as_user(cx.user.as_ref(), action).map_err(|source| NativeError::User { user: name(), source })
}

/// Names the user in the error of a module that is another user's, if that user lacks the right to a path.
fn of_user(error: NativeError, user: Option<&User>) -> NativeError {
    let is_refused = |source: &io::Error| source.raw_os_error() == Some(libc::EACCES);
    match (error, user) {
        (NativeError::GrantChanged { path, source }, Some(user)) if is_refused(&source) => {
            let remedy = "move it to a directory that this user can enter, or run the module as another user";
            NativeError::Unreachable { path, user: user.name.clone(), remedy }
        }
        (NativeError::Launch { step: Step::Files, subject, source }, Some(user)) if is_refused(&source) => {
            let remedy = "set TMPDIR to a directory that all users can enter";
            NativeError::Unreachable { path: subject, user: user.name.clone(), remedy }
        }
        (error, _) => error,
    }
}

impl Spec {
    /// Records the control groups of this process, which the launcher will be in as well.
    pub(crate) fn find_groups(&mut self) {
        if let Some(room) = self.room.as_mut().filter(|room| room.groups.is_empty()) {
            room.groups = group::find::current_groups();
        }
    }
}

/// Returns the change of a file about which the launcher has not said whether it was taken back.
fn untold(name: &Path) -> LostChange {
    let reason = "the launcher was killed before it had taken the file back, or said so; look at the file".to_owned();
    LostChange { path: name.display().to_string(), reason, allow: String::new() }
}
