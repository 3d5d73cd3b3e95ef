//! The process that looks after a job: in a session of its own, it outlives whoever asked for the job, and nothing of
//! the job outlives it.
//!
//! It is modbox itself, started again with [`SUPERVISOR_WORD`](order::SUPERVISOR_WORD) and the job's name, by which `modbox status` knows that it lives. The
//! run is a third process, with [`RUN_WORD`]: a run confines its process for good, and a confined process could not
//! write the job's file any more.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use modbox_contract::ModuleResult;
use modbox_vocabulary::error_chain;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::jobs::file;
use crate::jobs::folder::JobFolder;
use crate::jobs::order::{self, Begun, Done, Order};

/// The word that makes modbox the process of a job's run.
pub const RUN_WORD: &str = "__job-run";

/// How long a run that is told to end may take to leave nothing behind.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

const PAUSE: Duration = Duration::from_millis(20);

/// Starts a job. Returns when it runs, with its id.
///
/// # Errors
///
/// No process, no pipe, no folder.
pub fn start(program: &Path, order: &Order) -> io::Result<String> {
    // What whoever started this process left open for it is not for a process that stays.
    modbox_native::hide_descriptors()?;
    #[expect(clippy::disallowed_methods, reason = "the one place that starts supervisors")]
    let mut command = Command::new(program);
    command
        .arg0("modbox")
        .arg(order::SUPERVISOR_WORD)
        .arg(&order.name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut supervisor = command.spawn()?;
    let missing = || io::Error::other("a supervisor without streams");
    order::send(supervisor.stdin.take().ok_or_else(missing)?, order)?;
    match order::receive(supervisor.stdout.take().ok_or_else(missing)?) {
        Ok(Begun::Job(id)) => Ok(id),
        Ok(Begun::Failed(reason)) => Err(io::Error::other(reason)),
        Err(error) => {
            drop(supervisor.kill());
            let status = supervisor.wait()?;
            Err(io::Error::new(error.kind(), format!("the supervisor said nothing of use ({status}): {error}")))
        }
    }
}

/// Is a supervisor: takes an order from `input`, says on `output` that it began, and returns when the job is over.
/// `hang_up` closes `output` for good.
///
/// # Errors
///
/// A job that cannot be begun, or whose file cannot be written.
pub fn supervise(
    input: impl Read,
    mut output: impl io::Write,
    hang_up: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let order: Order = order::receive(input)?;
    match begin(&order) {
        Ok((folder, id, run)) => {
            order::send(&mut output, &Begun::Job(id.clone()))?;
            drop(output);
            hang_up()?;
            let process = run.id();
            let done = attend(run, order.patience);
            // Whoever removed the file does not want another.
            if folder.has(&id) {
                folder.write(&id, file::finished(&id, process, done)).map_err(io::Error::other)?;
            }
            Ok(())
        }
        Err(error) => order::send(&mut output, &Begun::Failed(error)),
    }
}

fn begin(order: &Order) -> Result<(JobFolder, String, Child), String> {
    // Out of the reach of a terminal that closes, and of the signals that it sends.
    rustix::process::setsid().map_err(|error| format!("failed to start a session: {error}"))?;
    let folder = JobFolder::open_or_make(&order.folder).map_err(|error| error_chain(&error))?;
    let id = format!("{}.{}", order.name, std::process::id());
    folder.write(&id, file::started(&id, order.release)).map_err(|error| error_chain(&error))?;
    match start_run(order) {
        Ok(run) => Ok((folder, id, run)),
        Err(error) => {
            // Nobody is told of this job, so nobody would ask about it.
            let _ = folder.remove(&id);
            Err(format!("failed to start the run: {error}"))
        }
    }
}

fn start_run(order: &Order) -> io::Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "the one place that starts the run of a job")]
    let mut command = Command::new(modbox_native::THIS_BINARY);
    command.arg0("modbox").arg(RUN_WORD).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut run = command.spawn()?;
    let stdin = run.stdin.take().ok_or_else(|| io::Error::other("a run without streams"))?;
    let order = Order { supervisor: std::process::id(), ..order.clone() };
    if let Err(error) = order::send(stdin, &order) {
        drop(run.kill());
        drop(run.wait());
        return Err(error);
    }
    Ok(run)
}

/// Waits for what a run has to say. One that says nothing in time is ended.
fn attend(mut run: Child, patience: Duration) -> Done {
    let Some(stdout) = run.stdout.take() else { return lost("it has no output") };
    let (sender, said) = mpsc::channel();
    // Nobody waits for this thread: it ends with the pipe.
    thread::spawn(move || drop(sender.send(order::receive::<Done>(stdout))));
    match said.recv_timeout(patience) {
        Ok(Ok(done)) => {
            // It has only to exit now.
            end(&mut run, KILL_PATIENCE);
            done
        }
        Err(RecvTimeoutError::Timeout) => {
            end(&mut run, Duration::ZERO);
            lost("it did not end at its limits")
        }
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
            let ended =
                end(&mut run, KILL_PATIENCE).map_or_else(|| "it does not end".to_owned(), |status| status.to_string());
            lost(&ended)
        }
    }
}

fn lost(why: &str) -> Done {
    let result =
        ModuleResult::runner_failure(&format!("the process that ran the module ended without a result: {why}"), None);
    Done {
        result: result.to_json(),
        parsed: false,
        stderr: String::new(),
        limit: None,
        command: String::new(),
        kept_files: None,
    }
}

/// Waits for a run to end by itself, then tells it to, so that it removes what it made, then kills it. What is below it
/// dies with it.
fn end(run: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let ended = wait(run, patience).or_else(|| {
        // Not waited for yet, so the number is still its own.
        let _ = rustix::process::kill_process(Pid::from_child(run), Signal::TERM);
        wait(run, KILL_PATIENCE)
    });
    if ended.is_none() {
        drop(run.kill());
    }
    ended.or_else(|| run.wait().ok())
}

fn wait(run: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + patience;
    loop {
        match run.try_wait() {
            Ok(Some(status)) => return Some(status),
            _ if Instant::now() >= deadline => return None,
            _ => thread::sleep(PAUSE),
        }
    }
}

/// Has the kernel tell this process to end when its supervisor does, however that ends.
///
/// # Errors
///
/// A supervisor that is gone.
pub fn end_with(supervisor: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // It may have ended before.
    match getppid() {
        Some(parent) if parent.as_raw_nonzero().get().unsigned_abs() == supervisor => Ok(()),
        _ => Err(io::Error::other("the supervisor is gone")),
    }
}
