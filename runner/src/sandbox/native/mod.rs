//! Runs native modules: a command for the shell, in a tree of processes that is watched and wholly
//! killed; and single programs, which guests ask for, in the same way.
//!
//! A module is confined to a room: namespaces, in which there is nothing but what was granted and a runtime
//! [`base`], and the walls of the [`kernel`](crate::sandbox::kernel) around it. Only a module that is trusted with
//! everything has none. The steps, numbered where the code takes them:
//!
//! host ([`run`])
//! 1. write the module's files into its temporary directory;
//! 2. start the launcher, with a socket as its input and two pipes as its output;
//! 3. register how to undo that, should a signal end modbox;
//! 4. send the launcher what to start, and what it may reach;
//! 5. empty the pipes until it replies or the time is over;
//! 6. count what was used.
//!
//! launcher ([`launcher`])
//! 1. open `/proc`; 2. start a session; 3. become a subreaper; 4. hide inherited descriptors; 5. listen for ended
//!    children; 6. make a process in new namespaces (user, mount, pid, net, ipc, uts), map its users, wait until it has
//!    made its room and joined its control group, if there can be one, and let it begin if what is in force is accepted; 7. go before all others, if root; 8. watch the
//!    tree, and take reports of calls; 9. kill what is left of it; 10. take single names back to where they belong;
//!    11. say how it ended, and remove the room's file system and the control group.
//!
//! the first process of the room (`init`)
//! 1. die with the launcher; have a thread make its network; 2. wait for its users; 3. start a session; 4. make the file system (mounts private, what is
//!    granted and the base copied, read-only where it is, a `/proc` with its own limit of processes, a file system in
//!    memory for `/tmp`, `/dev` and the module's files, all of it mounted in a new root, the old one gone), and enter the network; 5. join the
//!    `group`; 6. enter the working directory; 7. `no_new_privs`, capabilities, limits, Landlock, seccomp; 8. have calls
//!    reported; 9. say what is in force; 10. start the shell, or the program; 11. wait for it, and end, with all that is in
//!    the namespace.
//!
//! Where the kernel gives no namespaces, the first process does 1, 2 and 5 to 11: level 2. That is for ordinary users
//! alone, since rules of the kernel know neither modes nor owners, which are then refused by seccomp; sockets with a path
//! are, too.
//!
//! Each process watches the other. The launcher kills the tree when the host is gone, even by SIGKILL;
//! the host does so when the launcher is gone or does not answer. A module in a room can signal neither. Two things are
//! left to one that is not: a module that kills the launcher *and* left a process in another session
//! leaves that process; and under a user who is not root, who has no right to go first, a bomb of more busy
//! processes than the launcher gets to stop ends late and may leave some behind.

mod attend;
pub mod base;
mod commit;
mod denials;
mod files;
mod group;
mod init;
mod launch;
pub mod launcher;
mod link;
mod mounts;
mod namespaces;
mod network;
mod observe;
mod own;
mod places;
mod program;
mod protocol;
mod reports;
mod room;
mod root;
mod runtime;
mod stage;
mod stdin;
mod system;
mod tree;
mod watch;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;

use crate::sandbox::cleanup::Cleanup;
use crate::sandbox::invocation::{Confinement, Exit, Invocation, LimitKind, Outcome, Program, Timing, Usage};
use crate::sandbox::kernel::Reached;
use crate::sandbox::limits::Limits;
use crate::sandbox::native::attend::Attended;
use crate::sandbox::native::launch::Launch;
use crate::sandbox::native::link::Failure;
use crate::sandbox::native::protocol::{End, InForce, Reply, Spec, Start};
use crate::sandbox::native::room::Room;

pub use crate::sandbox::native::group::control_groups;
pub use crate::sandbox::native::program::{NotStarted, ProgramCommand, ProgramOutcome, run_program};
pub use crate::sandbox::native::protocol::Step;
pub use crate::sandbox::native::room::Confine;

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
    /// The module's whole environment; nothing is inherited beside it. One that is confined has a few more variables,
    /// unless they are among these.
    pub environment: Vec<(OsString, OsString)>,
    /// What the module is confined to; without it, it can do everything that this user can.
    pub confine: Option<Confine>,
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
    #[error("failed to {step} for the module{}", named(subject))]
    Launch {
        /// Which one.
        step: Step,
        /// On what.
        subject: String,
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
    /// The kernel gives less than is accepted, so the module did not start.
    #[error("failed to confine the module enough: it would be level {}", .0.level)]
    Unconfined(Reached),
    /// Someone undid the run, because modbox is about to end.
    #[error("failed to finish the run: modbox was told to end")]
    Undone,
}

fn named(subject: &str) -> String {
    if subject.is_empty() { String::new() } else { format!(", `{subject}`") }
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
    let start = Start::Shell(program.command.clone());
    let spec = Spec { has_stdin: !invocation.stdin.is_empty(), ..spec(cx, start, tmpdir, limits) };
    run_spec(cx, &dir, spec, &invocation.stdin, limits).map(|(outcome, _)| outcome)
}

/// Runs what a launcher is told. Returns the signal that ended it, too, if it was a program.
fn run_spec(
    cx: &NativeContext,
    tmpdir: &Dir,
    mut spec: Spec,
    stdin: &[u8],
    limits: &Limits,
) -> Result<(Outcome, Option<i32>), NativeError> {
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
    if let Some(room) = &mut spec.room {
        // The launcher, which is in the same ones, gets ready meanwhile.
        room.groups = group::find::around();
    }
    // 4. The module.
    launch.send(&spec, stdin).map_err(NativeError::Instruct)?;
    // 5. Its run.
    let attended = attend::attend(&launch, pipes, limits)?;
    let run_us = micros(started.elapsed());
    // A launcher that has replied only has to exit; one that has not was killed.
    let status = launch.wait(launch::ANSWER_PATIENCE);
    if status.is_some() {
        undo.disarm();
    }
    // 6. What it used.
    let unheard = attended.reply.is_none();
    let signal = match &attended.reply {
        Some(Reply::Ended { end: End::Signalled(signal), .. }) => Some(*signal),
        _ => None,
    };
    let mut outcome = outcome(attended, status, limits)?;
    if let Some(confine) = cx.confine.as_ref().filter(|_| unheard) {
        // No module begins with less.
        outcome.confinement.level = confine.least;
        outcome.notes.push(
            "the launcher did not answer, so it is only known what the module was confined by at least".to_owned(),
        );
    }
    outcome.usage.wall_us = run_us;
    if cx.confine.is_none() {
        let contents = files::count(tmpdir);
        outcome.usage =
            Usage { disk_bytes: contents.bytes, tmp_bytes: contents.bytes, files: contents.files, ..outcome.usage };
    }
    outcome.timing.run_us = run_us;
    tracing::debug!(exit = ?outcome.exit, run_us, "the module ended");
    Ok((outcome, signal))
}

fn spec(cx: &NativeContext, start: Start, tmpdir: &Path, limits: &Limits) -> Spec {
    let mut environment = cx.environment.clone();
    let room = cx.confine.as_ref().map(|confine| Room::new(confine, tmpdir.to_owned(), limits));
    if room.is_some() {
        let given: Vec<OsString> = environment.iter().map(|(name, _)| name.clone()).collect();
        let more = room::ENVIRONMENT.iter().filter(|(name, _)| !given.iter().any(|given| given == *name));
        environment.extend(more.map(|(name, value)| (name.into(), value.into())));
    }
    Spec {
        start,
        directory: cx.directory.clone().into_os_string(),
        only_there: false,
        umask: None,
        environment,
        cpu_time_us: micros(limits.cpu_time),
        max_memory: limits.max_memory,
        max_processes: limits.max_processes,
        has_stdin: false,
        room,
    }
}

impl From<InForce> for Reached {
    fn from(in_force: InForce) -> Self {
        Self { level: in_force.level, layers: in_force.layers, missing: in_force.missing }
    }
}

fn launch_error(Failure { step, errno, subject }: Failure) -> NativeError {
    NativeError::Launch { step, subject, source: io::Error::from_raw_os_error(errno) }
}

fn outcome(attended: Attended, status: Option<ExitStatus>, limits: &Limits) -> Result<Outcome, NativeError> {
    let Attended { reply, timed_out, stdout, stderr } = attended;
    let wall = limits.hit(LimitKind::Wall);
    let mut outcome = Outcome {
        exit: Exit::Killed,
        stdout,
        stderr,
        limit: None,
        usage: Usage::default(),
        timing: Timing::default(),
        denials: Vec::new(),
        confinement: Confinement::default(),
        notes: Vec::new(),
    };
    match reply {
        Some(Reply::Failed(failure)) => return Err(launch_error(failure)),
        Some(Reply::Short(in_force)) => return Err(NativeError::Unconfined(in_force.into())),
        Some(Reply::Ended { survivors: count @ 1.., .. }) => return Err(NativeError::Survivors { count }),
        Some(Reply::Ended { end, cpu_us, memory_bytes, disk, in_force, uncommitted, refused, .. }) => {
            match end {
                // The module may end at the very moment in which its time does; then it did end.
                End::Exited(code) => outcome.exit = Exit::Code(code),
                End::Signalled(signal) => outcome.exit = Exit::Code(128 + signal),
                End::Limit(limit) => outcome.limit = Some(limits.hit(limit.into())),
                End::Requested if !timed_out => return Err(NativeError::Undone),
                End::Requested => outcome.limit = Some(wall),
                End::NotStarted(failure) => return Err(launch_error(failure)),
            }
            // The kernel's own limit, which is in whole seconds, may be there before the watch on a busy machine. Then
            // it ended one process, and others in their own ways.
            let ended_by_itself = outcome.limit.is_none() && outcome.exit != Exit::Code(0);
            if ended_by_itself && cpu_us > micros(limits.cpu_time) {
                (outcome.exit, outcome.limit) = (Exit::Killed, Some(limits.hit(LimitKind::Cpu)));
            }
            outcome.usage = Usage { cpu_us, memory_bytes, ..Usage::default() };
            if let Some(disk) = disk {
                outcome.usage.disk_bytes = disk.bytes;
                (outcome.usage.tmp_bytes, outcome.usage.files) = (disk.private, disk.files);
            }
            outcome.confinement.level = in_force.level;
            outcome.confinement.layers.clone_from(&in_force.layers);
            outcome.notes.clone_from(&in_force.notes);
            outcome.notes.extend(Reached::from(in_force).notes());
            outcome.notes.extend(uncommitted.iter().map(denials::uncommitted));
            outcome.denials = denials::denials(refused);
        }
        None if timed_out => outcome.limit = Some(wall),
        // A signal can only have come from the module, or from a system out of memory: the module's
        // end, either way. An exit status can only be the launcher's own failure.
        None => match status.filter(|status| status.code().is_none()).and_then(launch::shell_code) {
            Some(code) => outcome.exit = Exit::Code(code),
            None => return Err(NativeError::Vanished { status }),
        },
    }
    let cut = || {
        let streams = [(&outcome.stdout, LimitKind::Stdout), (&outcome.stderr, LimitKind::Stderr)];
        streams.into_iter().find(|(stream, _)| stream.is_truncated()).map(|(_, kind)| limits.hit(kind))
    };
    outcome.limit = outcome.limit.or_else(cut);
    outcome.confinement.layers.extend(["process-group", "subreaper"].map(str::to_owned));
    if outcome.confinement.level == 0 {
        outcome.confinement.layers.push("rlimits".to_owned());
    }
    Ok(outcome)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
