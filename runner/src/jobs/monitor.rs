//! The monitor of a job: a process in a new session. It outlives the process that started the job, and no process of the
//! job outlives it.
//!
//! The monitor is modbox, started again with [`JOB_WORD`](order::JOB_WORD) and the job's name. `modbox status` looks for
//! these words to see whether the monitor is alive. It makes the run like any other: in workers, which it ends at the
//! run's limits.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use modbox_vocabulary::error_chain;

use crate::jobs::file;
use crate::jobs::folder::JobFolder;
use crate::jobs::order::{self, JobRequest, RunSummary, StartReply};

/// Starts a job. Returns its id when it runs.
///
/// # Errors
///
/// No process or pipe can be created, or the folder of jobs cannot be used.
pub fn start(program: &Path, order: &JobRequest) -> io::Result<String> {
    // The monitor stays, so it must not inherit descriptors that were left open for this process.
    modbox_kernel::hide_descriptors_from(3)?;
    #[expect(clippy::disallowed_methods, reason = "the one place that starts monitors of jobs")]
    let mut command = Command::new(program);
    command
        .arg0("modbox")
        .arg(order::JOB_WORD)
        .arg(&order.name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut monitor = command.spawn()?;
    let missing = || io::Error::other("a monitor without streams");
    order::send(monitor.stdin.take().ok_or_else(missing)?, order)?;
    match order::receive(monitor.stdout.take().ok_or_else(missing)?) {
        Ok(StartReply::Job(id)) => Ok(id),
        Ok(StartReply::Failed(reason)) => Err(io::Error::other(reason)),
        Err(error) => {
            drop(monitor.kill());
            let status = monitor.wait()?;
            Err(io::Error::new(error.kind(), format!("the job's monitor did not answer ({status}): {error}")))
        }
    }
}

/// Runs the monitor of a job: reads an order from `input`, writes to `output` that the job runs, makes the run with `run`,
/// and writes its result to the job's file. `hang_up` closes the descriptor behind `output`, so that the reader of
/// `output` does not wait for the job.
///
/// # Errors
///
/// The job cannot be started, or its file cannot be written.
pub fn monitor(
    input: impl Read,
    mut output: impl io::Write,
    hang_up: impl FnOnce() -> io::Result<()>,
    run: impl FnOnce(&JobRequest) -> Option<RunSummary>,
) -> io::Result<()> {
    let order: JobRequest = order::receive(input)?;
    match begin(&order) {
        Ok((folder, id)) => {
            order::send(&mut output, &StartReply::Job(id.clone()))?;
            drop(output);
            hang_up()?;
            let summary = run(&order);
            // If the user has removed the file, do not write it again.
            if let Some(summary) = summary.filter(|_| folder.has(&id)) {
                let content = file::finished(&id, std::process::id(), summary);
                folder.write(&id, &order.module, content).map_err(io::Error::other)?;
            }
            Ok(())
        }
        Err(error) => order::send(&mut output, &StartReply::Failed(error)),
    }
}

fn begin(order: &JobRequest) -> Result<(JobFolder, String), String> {
    // In a new session, the job gets no signals from the terminal, not even when the terminal closes.
    rustix::process::setsid().map_err(|error| format!("failed to start a session: {error}"))?;
    let folder = JobFolder::open_or_make(&order.folder).map_err(|error| error_chain(&error))?;
    let id = format!("{}.{}", order.name, std::process::id());
    folder.write(&id, &order.module, file::started(&id, order.release)).map_err(|error| error_chain(&error))?;
    Ok((folder, id))
}
