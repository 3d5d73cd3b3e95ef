//! Runs native modules: a command for the shell, in a tree of processes that is watched and wholly
//! killed.
//!
//! Not confined yet: a module may do whatever the user may. What is held is what it uses and that
//! nothing of it stays. The steps, numbered where the code takes them:
//!
//! host ([`run`])
//! 1. write the module's files into its temporary directory;
//! 2. start the launcher, with a socket as its input and two pipes as its output;
//! 3. register how to undo that, should a signal end modbox;
//! 4. send the launcher what to start, and its standard input, if it is to have one;
//! 5. empty the pipes until it replies or the time is over;
//! 6. count what was used.
//!
//! launcher ([`launcher`])
//! 1. open `/proc`; 2. start a session; 3. become a subreaper; 4. hide inherited descriptors; 5. enter
//!    the working directory; 6. listen for ended children; 7. set resource limits; 8. start the shell;
//!    9. go before all others, if root; 10. watch the tree; 11. kill what is left of it.
//!
//! Each process watches the other. The launcher kills the tree when the host is gone, even by SIGKILL;
//! the host does so when the launcher is gone or does not answer. Two things are left to a PID namespace
//! with a limit of its own: a module that kills the launcher *and* left a process in another session
//! leaves that process; and under a user who is not root, who has no right to go first, a bomb of more busy
//! processes than the launcher gets to stop ends late and may leave some behind.

mod attend;
mod files;
mod launch;
pub mod launcher;
mod protocol;
mod stdin;
mod system;
mod tree;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sandbox::cleanup::Cleanup;
use crate::sandbox::invocation::{Confinement, Exit, Invocation, LimitKind, Outcome, Program, Timing, Usage};
use crate::sandbox::limits::Limits;
use crate::sandbox::native::attend::Attended;
use crate::sandbox::native::launch::Launch;
use crate::sandbox::native::protocol::{End, Reply, Spec};

pub use crate::sandbox::native::protocol::Step;

/// This very binary, also when its file has been replaced meanwhile.
pub const THIS_BINARY: &str = "/proc/self/exe";

/// Hides the descriptors that this process was started with, but for the three standard streams, from whatever it
/// starts.
///
/// # Errors
///
/// A kernel before Linux 5.11.
pub fn hide_descriptors() -> io::Result<()> {
    system::close_on_exec_from(3)
}

/// What every run of a native module needs from its surroundings.
#[derive(Debug, Clone)]
pub struct NativeContext {
    /// A modbox binary to be the launcher, [`THIS_BINARY`] unless a test is what runs.
    pub launcher: PathBuf,
    /// Where the module starts.
    pub directory: PathBuf,
    /// The module's whole environment; nothing is inherited beside it.
    pub environment: Vec<(OsString, OsString)>,
    /// Where to register what must not outlive modbox.
    pub cleanup: Cleanup,
}

/// What can go wrong before a native module runs, or with the launcher while it does.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// The invocation is for the engine.
    #[error("failed to run a wasm module natively")]
    NotNative,
    /// The temporary directory cannot be opened.
    #[error("failed to open the temporary directory `{path}`")]
    OpenDirectory {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A kind named a file outside the temporary directory.
    #[error("failed to use `{name}` as the name of a module's file")]
    FileName {
        /// The name.
        name: String,
    },
    /// A file of the module cannot be written.
    #[error("failed to write the module's file `{name}`")]
    WriteFile {
        /// Which one.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The socket or the pipes cannot be made.
    #[error("failed to make a channel to the launcher")]
    Channel(#[source] io::Error),
    /// The launcher does not start.
    #[error("failed to start the launcher `{path}`")]
    StartLauncher {
        /// Which binary.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The launcher does not take its instructions.
    #[error("failed to instruct the launcher")]
    Instruct(#[source] io::Error),
    /// A step of the launcher failed, so the module did not start.
    #[error("failed to {step} for the module")]
    Launch {
        /// Which one.
        step: Step,
        /// Why.
        source: io::Error,
    },
    /// Waiting for output or for the launcher failed.
    #[error("failed to wait for the launcher")]
    Wait(#[source] io::Error),
    /// A pipe cannot be read.
    #[error("failed to read the module's output")]
    ReadOutput(#[source] io::Error),
    /// The launcher said something that is no reply.
    #[error("failed to read the launcher's reply")]
    Reply(#[source] io::Error),
    /// The launcher ended by itself without a reply.
    #[error("failed to get a reply from the launcher: {}", ended(*.status))]
    Vanished {
        /// How it ended, if that is known.
        status: Option<ExitStatus>,
    },
    /// Processes of the module sleep in the kernel and do not die.
    #[error("failed to kill {count} of the module's processes")]
    Survivors {
        /// How many.
        count: u64,
    },
    /// Someone undid the run, because modbox is about to end.
    #[error("failed to finish the run: modbox was told to end")]
    Undone,
}

fn ended(status: Option<ExitStatus>) -> String {
    status.map_or_else(|| "it does not end".to_owned(), |status| status.to_string())
}

/// Runs a native module to its end, however it ends.
///
/// `tmpdir` must exist and be private; the caller made it and removes it. A limit that ended the run is
/// the one reported; a limit on output ends no run and is reported when no other was hit.
///
/// # Errors
///
/// [`NativeError`], for everything that is not the module's doing. All processes are gone then, too.
pub fn run(
    cx: &NativeContext,
    invocation: &Invocation,
    tmpdir: &Path,
    limits: &Limits,
) -> Result<Outcome, NativeError> {
    let Program::Native(program) = &invocation.program else { return Err(NativeError::NotNative) };
    // 1. The module's files.
    let dir = files::open(tmpdir)?;
    files::lay_out(&dir, &invocation.files)?;
    let spec = Spec { has_stdin: !invocation.stdin.is_empty(), ..spec(cx, &program.command, limits) };
    let started = Instant::now();
    // 2. The launcher.
    let (launch, pipes) = Launch::start(cx)?;
    let launch = Arc::new(launch);
    tracing::debug!("the launcher started");
    // 3. From here on every way out that is not the ordinary one kills the tree.
    let undo = cx.cleanup.register({
        let launch = launch.clone();
        move || launch.undo()
    });
    // 4. The module.
    launch.send(&spec, &invocation.stdin).map_err(NativeError::Instruct)?;
    // 5. Its run.
    let attended = attend::attend(&launch, pipes, limits)?;
    let run_us = micros(started.elapsed());
    // A launcher that has replied only has to exit; one that has not was killed.
    let status = launch.wait(launch::ANSWER_PATIENCE);
    if status.is_some() {
        undo.disarm();
    }
    // 6. What it used.
    let contents = files::count(&dir);
    let mut outcome = outcome(attended, status, limits)?;
    outcome.usage = Usage { wall_us: run_us, disk_bytes: contents.bytes, files: contents.files, ..outcome.usage };
    outcome.timing.run_us = run_us;
    tracing::debug!(exit = ?outcome.exit, run_us, "the module ended");
    Ok(outcome)
}

fn spec(cx: &NativeContext, command: &str, limits: &Limits) -> Spec {
    Spec {
        command: command.to_owned(),
        directory: cx.directory.clone().into_os_string(),
        environment: cx.environment.clone(),
        cpu_time_us: micros(limits.cpu_time),
        max_memory: limits.max_memory,
        max_processes: limits.max_processes,
        has_stdin: false,
    }
}

fn outcome(attended: Attended, status: Option<ExitStatus>, limits: &Limits) -> Result<Outcome, NativeError> {
    let Attended { reply, timed_out, stdout, stderr } = attended;
    let wall = limits.hit(LimitKind::Wall);
    let (exit, ended_by) = match &reply {
        Some(Reply::Failed { step, errno }) => {
            return Err(NativeError::Launch { step: *step, source: io::Error::from_raw_os_error(*errno) });
        }
        Some(Reply::Ended { survivors: count @ 1.., .. }) => return Err(NativeError::Survivors { count: *count }),
        // The module may end at the very moment in which its time does; then it did end.
        Some(Reply::Ended { end: End::Exited(code), .. }) => (Exit::Code(*code), None),
        Some(Reply::Ended { end: End::Limit(limit), .. }) => (Exit::Killed, Some(limits.hit((*limit).into()))),
        Some(Reply::Ended { end: End::Requested, .. }) if !timed_out => return Err(NativeError::Undone),
        Some(Reply::Ended { end: End::Requested, .. }) => (Exit::Killed, Some(wall)),
        None if timed_out => (Exit::Killed, Some(wall)),
        // A signal can only have come from the module, or from a system out of memory: the module's
        // end, either way. An exit status can only be the launcher's own failure.
        None => match status.filter(|status| status.code().is_none()).and_then(launch::shell_code) {
            Some(code) => (Exit::Code(code), None),
            None => return Err(NativeError::Vanished { status }),
        },
    };
    let cut = || {
        let streams = [(&stdout, LimitKind::Stdout), (&stderr, LimitKind::Stderr)];
        streams.into_iter().find(|(stream, _)| stream.is_truncated()).map(|(_, kind)| limits.hit(kind))
    };
    let limit = ended_by.or_else(cut);
    let (cpu_us, memory_bytes) = match reply {
        Some(Reply::Ended { cpu_us, memory_bytes, .. }) => (cpu_us, memory_bytes),
        _ => (0, 0),
    };
    Ok(Outcome {
        exit,
        stdout,
        stderr,
        limit,
        usage: Usage { cpu_us, memory_bytes, ..Usage::default() },
        timing: Timing::default(),
        denials: Vec::new(),
        confinement: Confinement {
            level: 0,
            layers: ["process-group", "subreaper", "rlimits"].map(str::to_owned).to_vec(),
        },
    })
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
