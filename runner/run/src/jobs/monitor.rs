//! The monitor of a job: a process in a new session. It outlives the process that started the job, and no process of the
//! job outlives it.
//!
//! The monitor is modbox, started again with [`JOB_WORD`](order::JOB_WORD) and the job's name. `modbox status` looks for
//! these words to see whether the monitor is alive. It makes the run like any other: in workers, which it ends at the
//! run's limits.

use std::io::{self, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use modbox_vocabulary::error_chain;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;

use crate::jobs::file;
use crate::jobs::folder::JobFolder;
use crate::jobs::order::{self, FinishedRun, JobRequest, StartReply};

/// A job that runs in the background.
#[derive(Debug)]
pub struct StartedJob {
    /// The name of the job's files in the folder of jobs; Ansible's `ansible_job_id`.
    pub id: String,
    /// Its monitor, if the job is followed.
    pub followed: Option<FollowedJob>,
}

/// The monitor of a job whose end is waited for.
#[derive(Debug)]
pub struct FollowedJob {
    monitor: Child,
    output: BufReader<ChildStdout>,
}

impl FollowedJob {
    /// Returns the id of the monitor's process. It belongs to no other process as long as this job is not dropped.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.monitor.id()
    }

    /// Waits for the end of the job, and returns what its monitor says of it; `None` if it still runs after `time`.
    ///
    /// # Errors
    ///
    /// The monitor was killed.
    pub fn wait(&mut self, time: Duration) -> io::Result<Option<String>> {
        if self.output.buffer().is_empty() && !is_ready(self.output.get_ref(), time)? {
            return Ok(None);
        }
        let end = order::receive(&mut self.output);
        self.monitor.wait()?;
        end.map(Some)
    }
}

/// Returns whether a stream can be read, after at most `time`.
fn is_ready(stream: &ChildStdout, time: Duration) -> io::Result<bool> {
    let mut polled = [PollFd::new(stream, PollFlags::IN)];
    let time = Timespec::try_from(time).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let ready = rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, Some(&time)))?;
    Ok(ready > 0)
}

/// Starts a job. Returns when it runs.
///
/// # Errors
///
/// No process or pipe can be created, or the folder of jobs cannot be used.
pub fn start(program: &Path, order: &JobRequest) -> io::Result<StartedJob> {
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
    let mut output = BufReader::new(monitor.stdout.take().ok_or_else(missing)?);
    match order::receive_line(&mut output) {
        Ok(StartReply::Job(id)) => {
            let followed = order.is_followed.then_some(FollowedJob { monitor, output });
            Ok(StartedJob { id, followed })
        }
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
/// `output` does not wait for a job that it does not follow. A job that is followed ends with the process that reads
/// `output`.
///
/// # Errors
///
/// The job cannot be started, or its file cannot be written.
pub fn monitor(
    input: impl Read,
    mut output: impl io::Write + AsFd,
    hang_up: impl FnOnce() -> io::Result<()>,
    run: impl FnOnce(&JobRequest) -> Option<FinishedRun>,
) -> io::Result<()> {
    let order: JobRequest = order::receive(input)?;
    let (folder, id) = match begin(&order) {
        Ok(begun) => begun,
        Err(error) => return order::send_line(&mut output, &StartReply::Failed(error)),
    };
    order::send_line(&mut output, &StartReply::Job(id.clone()))?;
    let mut follower = Some(output).filter(|_| order.is_followed);
    match &follower {
        Some(follower) => end_with(follower.as_fd().try_clone_to_owned()?),
        None => hang_up()?,
    }
    let Some(FinishedRun { summary, end }) = run(&order) else { return Ok(()) };
    // If the user has removed the file, do not write it again.
    if folder.has(&id) {
        let content = file::finished(&id, std::process::id(), summary);
        folder.write(&id, &order.module, content).map_err(io::Error::other)?;
    }
    follower.as_mut().map_or(Ok(()), |follower| order::send(follower, &end))
}

/// Ends this process, as a signal does, when the process that reads from a pipe has ended. That process may be killed
/// before it knows this one.
fn end_with(pipe: OwnedFd) {
    thread::spawn(move || {
        // Without a wish, the kernel reports the end of the reader alone.
        let mut polled = [PollFd::new(&pipe, PollFlags::empty())];
        if rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, None)).is_ok() {
            let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::TERM);
        }
    });
}

fn begin(order: &JobRequest) -> Result<(JobFolder, String), String> {
    modbox_kernel::start_session().map_err(|error| format!("failed to start a session: {error}"))?;
    let folder = JobFolder::open_or_make(&order.folder).map_err(|error| error_chain(&error))?;
    let id = format!("{}.{}", order.name, std::process::id());
    folder.write(&id, &order.module, file::started(&id, order.release)).map_err(|error| error_chain(&error))?;
    Ok((folder, id))
}
