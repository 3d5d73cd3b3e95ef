//! The jobs of a play: starts them, follows those that their tasks wait for, and reads and removes their files.
//!
//! The text of a play may name the folder of jobs. Unless it is the usual one, the policy must allow the folder, since
//! modbox itself writes and reads there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use modbox_cleanup::UndoGuard;
use modbox_contract::{Dict, NewSecrets, Release, decode};
use modbox_policy::{Access, Policy, normalize};
use modbox_run::jobs::monitor::{self, FollowedJob};
use modbox_run::jobs::order::JobWork;
use modbox_run::jobs::{JobError, JobFolder, JobRequest, State, file, folder};
use modbox_run::remember_told;
use modbox_tasks::run::host::{HostError, HostErrorKind, JobQuestion, JobState, JobWish};
use modbox_vocabulary::{error_chain, quoting::quote};
use modbox_worker::THIS_PROGRAM;
use rustix::process::{Pid, Signal};

use crate::cli::context::Context;
use crate::cli::exit::error_words;
use crate::cli::folders::job_folder::job_folder;
use crate::cli::play::task_modules::task_job::{TaskJob, TaskJobEnd};

/// The time between two looks at a job that another process started.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

pub(crate) struct PlayJobs<'a> {
    context: &'a Context,
    policy: Policy,
    followed: HashMap<String, Followed>,
}

/// A job that its task waits for.
struct Followed {
    // Dropped first: the id of the monitor's process is its own as long as `job` is there.
    guard: UndoGuard,
    job: FollowedJob,
}

impl<'a> PlayJobs<'a> {
    /// Creates the jobs of a play without any. `policy` is that of all modules.
    pub(crate) fn new(context: &'a Context, policy: Policy) -> Self {
        Self { context, policy, followed: HashMap::new() }
    }

    /// Starts a job, and returns what `async_wrapper` says of one.
    pub(crate) fn start(&mut self, job: &TaskJob, named: Option<&str>, is_followed: bool) -> Result<Dict, HostError> {
        let release = Release::default();
        let folder = self.folder(named, Access::Write)?;
        let order = JobRequest {
            name: file::new_name(release),
            folder: folder.clone(),
            release,
            module: job.name.clone(),
            work: JobWork::Task(job.encode().map_err(|error| internal(error_words(&error)))?),
            is_followed,
        };
        // Registered first: from now on a signal is handled, and the monitor of a job that was not yet heard of ends by
        // itself, since nothing reads what it says.
        let process = Arc::new(AtomicU32::new(0));
        let guard = is_followed.then(|| {
            let process = Arc::clone(&process);
            self.context.cleanup.register(move || end(process.load(Ordering::SeqCst)))
        });
        let started = monitor::start(Path::new(THIS_PROGRAM), &order);
        let started = started.map_err(|error| internal(format!("failed to start the job: {error}")))?;
        let id = started.id;
        if let (Some(job), Some(guard)) = (started.followed, guard) {
            process.store(job.process(), Ordering::SeqCst);
            self.followed.insert(id.clone(), Followed { guard, job });
        }
        let path = folder.join(&id).display().to_string();
        Ok(file::reply(&id, &path, release))
    }

    /// Answers a question about a job.
    pub(crate) fn answer(&mut self, question: &JobQuestion<'_>) -> Result<JobState, HostError> {
        let JobQuestion { id, folder: named, wish } = *question;
        let access = if wish == JobWish::Remove { Access::Write } else { Access::Read };
        let path = self.folder(named, access)?;
        match wish {
            JobWish::Status => state(&path, id),
            JobWish::Wait(time) => self.wait(&path, id, time),
            JobWish::Remove => remove(&path, id),
        }
    }

    /// Waits until a job ends, or until a time is over.
    fn wait(&mut self, path: &Path, id: &str, time: Duration) -> Result<JobState, HostError> {
        let Some(followed) = self.followed.get_mut(id) else { return watch(path, id, time) };
        let end = match followed.job.wait(time) {
            Ok(None) => return state(path, id),
            Ok(Some(text)) => TaskJobEnd::decode(&text),
            Err(error) => {
                tracing::debug!(id, %error, "the monitor of a job ended");
                TaskJobEnd::internal()
            }
        };
        if let Some(followed) = self.followed.remove(id) {
            followed.guard.disarm();
        }
        let report = end.report.and_then(|report| decode(&report).ok());
        Ok(JobState { report, failure: end.failure, is_finished: true, ..state(path, id)? })
    }

    /// Returns the folder of jobs, if the policy allows it.
    fn folder(&self, named: Option<&str>, access: Access) -> Result<PathBuf, HostError> {
        let environment = &self.context.environment;
        let folder = |named| job_folder(named, environment).map_err(|error| internal(error_words(&error)));
        let usual = folder(None)?;
        let Some(named) = named else { return Ok(usual) };
        let found = normalize(&folder(Some(Path::new(named)))?);
        if found == usual || self.policy.covers(&found, access) || self.policy.allows_everything() {
            return Ok(found);
        }
        let shown = found.display().to_string();
        let switch = if access == Access::Write { "--allow-write" } else { "--allow-read" };
        let message = format!(
            "failed to use the folder of jobs `{shown}`: a variable of the play names it, and nothing grants it; allow it \
             with `{switch} {}`",
            quote(&shown)
        );
        Err(HostError { message, kind: HostErrorKind::Denied, report: None })
    }
}

/// Ends the monitor of a job, and with it the job. Number 0 stands for none.
fn end(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    // The monitor may have ended by itself.
    let _ = pid.map(|pid| rustix::process::kill_process(pid, Signal::TERM));
}

/// Looks at the file of a job until the job ends, or until a time is over.
fn watch(path: &Path, id: &str, time: Duration) -> Result<JobState, HostError> {
    let end = Instant::now() + time;
    loop {
        let found = state(path, id)?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || found.is_finished || !found.is_known {
            return Ok(found);
        }
        thread::sleep(left.min(BETWEEN_LOOKS));
    }
}

fn state(path: &Path, id: &str) -> Result<JobState, HostError> {
    let Some(folder) = open(path)? else { return Ok(unknown(path, id)) };
    let job = match folder.read(id) {
        Ok(job) => job,
        Err(JobError::Id(_) | JobError::Unknown { .. }) => return Ok(unknown(path, id)),
        Err(error) => return Err(internal(error_chain(&error))),
    };
    let state = job.state(folder::is_alive);
    let file = shown(path, id);
    let mut result = job.to_status(state, &file);
    NewSecrets::take(&mut result).iter().for_each(remember_told);
    Ok(JobState { is_known: true, result, file, is_finished: state != State::Running, ..JobState::default() })
}

/// Removes the file of a job.
fn remove(path: &Path, id: &str) -> Result<JobState, HostError> {
    let Some(folder) = open(path)? else { return Ok(unknown(path, id)) };
    match folder.remove(id) {
        Ok(()) => Ok(JobState { is_known: true, is_finished: true, ..unknown(path, id) }),
        Err(JobError::Id(_) | JobError::Unknown { .. }) => Ok(unknown(path, id)),
        Err(error) => Err(internal(error_chain(&error))),
    }
}

/// Opens the folder of jobs; `None` if it does not exist.
fn open(path: &Path) -> Result<Option<JobFolder>, HostError> {
    if !path.exists() {
        return Ok(None);
    }
    JobFolder::open(path).map(Some).map_err(|error| internal(error_chain(&error)))
}

/// Returns the state of a job that does not exist.
fn unknown(path: &Path, id: &str) -> JobState {
    JobState { file: shown(path, id), ..JobState::default() }
}

fn shown(path: &Path, id: &str) -> String {
    path.join(id).display().to_string()
}

fn internal(message: String) -> HostError {
    HostError { message, kind: HostErrorKind::Internal, report: None }
}
