//! The supervisor of a job: a process in a new session. It outlives the process that started the job, and no process of
//! the job outlives it.
//!
//! The supervisor is modbox, started again with [`SUPERVISOR_WORD`](order::SUPERVISOR_WORD) and the job's name. `modbox
//! status` looks for these words to see whether the supervisor is alive. The run is a third process, started with
//! [`RUN_WORD`]: a run confines its process irrevocably, and a confined process could not write the job's file.

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
use crate::jobs::order::{self, Order, RunSummary, StartReply};

/// The first command-line word of the process of a job's run.
pub const RUN_WORD: &str = "__job-run";

/// How long a run may take to clean up after SIGTERM.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// Pause between two checks whether the run has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Starts a job. Returns its id when it runs.
///
/// # Errors
///
/// No process or pipe can be created, or the folder of jobs cannot be used.
pub fn start(program: &Path, order: &Order) -> io::Result<String> {
    // The supervisor stays, so it must not inherit descriptors that were left open for this process.
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
        Ok(StartReply::Job(id)) => Ok(id),
        Ok(StartReply::Failed(reason)) => Err(io::Error::other(reason)),
        Err(error) => {
            drop(supervisor.kill());
            let status = supervisor.wait()?;
            Err(io::Error::new(error.kind(), format!("the supervisor said nothing of use ({status}): {error}")))
        }
    }
}

/// Runs the supervisor: reads an order from `input`, writes to `output` that the job runs, and returns when the job has
/// ended. `hang_up` closes the descriptor behind `output`, so that the reader of `output` does not wait for the job.
///
/// # Errors
///
/// The job cannot be started, or its file cannot be written.
pub fn supervise(
    input: impl Read,
    mut output: impl io::Write,
    hang_up: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let order: Order = order::receive(input)?;
    match begin(&order) {
        Ok((folder, id, run)) => {
            order::send(&mut output, &StartReply::Job(id.clone()))?;
            drop(output);
            hang_up()?;
            let process = run.id();
            let summary = wait_for_summary(run, order.patience);
            // If the user has removed the file, do not write it again.
            if folder.has(&id) {
                folder.write(&id, file::finished(&id, process, summary)).map_err(io::Error::other)?;
            }
            Ok(())
        }
        Err(error) => order::send(&mut output, &StartReply::Failed(error)),
    }
}

fn begin(order: &Order) -> Result<(JobFolder, String, Child), String> {
    // In a new session, the job gets no signals from the terminal, not even when the terminal closes.
    rustix::process::setsid().map_err(|error| format!("failed to start a session: {error}"))?;
    let folder = JobFolder::open_or_make(&order.folder).map_err(|error| error_chain(&error))?;
    let id = format!("{}.{}", order.name, std::process::id());
    folder.write(&id, file::started(&id, order.release)).map_err(|error| error_chain(&error))?;
    match start_run(order) {
        Ok(run) => Ok((folder, id, run)),
        Err(error) => {
            // The caller never learns this job's id, so the file would be useless.
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

/// Waits for the summary of a run, and ends a run that sends none in time.
fn wait_for_summary(mut run: Child, patience: Duration) -> RunSummary {
    let Some(stdout) = run.stdout.take() else { return lost_run("it has no output") };
    let (sender, summary) = mpsc::channel();
    // The thread is not joined: it ends when the pipe closes.
    thread::spawn(move || drop(sender.send(order::receive::<RunSummary>(stdout))));
    match summary.recv_timeout(patience) {
        Ok(Ok(summary)) => {
            // The run has only to exit now.
            end(&mut run, KILL_PATIENCE);
            summary
        }
        Err(RecvTimeoutError::Timeout) => {
            end(&mut run, Duration::ZERO);
            lost_run("it did not end at its limits")
        }
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
            let ended =
                end(&mut run, KILL_PATIENCE).map_or_else(|| "it does not end".to_owned(), |status| status.to_string());
            lost_run(&ended)
        }
    }
}

fn lost_run(why: &str) -> RunSummary {
    let result =
        ModuleResult::runner_failure(&format!("the process that ran the module ended without a result: {why}"), None);
    RunSummary {
        result: result.to_json(),
        parsed: false,
        stderr: String::new(),
        limit: None,
        command: String::new(),
        kept_files: None,
    }
}

/// Waits for a run to end, then sends SIGTERM, so that it removes its temporary files, then SIGKILL. Its child
/// processes die with it.
fn end(run: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let ended = wait(run, patience).or_else(|| {
        // The process was not reaped yet, so its id cannot belong to another process.
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

/// Makes the kernel send SIGTERM to this process when its supervisor ends for any reason.
///
/// # Errors
///
/// The supervisor has ended.
pub fn end_with_supervisor(supervisor: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // The supervisor may have ended before the call above.
    match getppid() {
        Some(parent) if parent.as_raw_nonzero().get().unsigned_abs() == supervisor => Ok(()),
        _ => Err(io::Error::other("the supervisor is gone")),
    }
}
