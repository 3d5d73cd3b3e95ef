//! Jobs: the commands `modbox run --async`, `modbox status` and `modbox jobs`, and the monitor of a job.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use clap::Parser;
use modbox_contract::{Dict, Value, decode, encode};
use modbox_run::jobs::order::{FinishedRun, JobRequest, JobWork, RunSummary};
use modbox_run::jobs::{JobError, JobFolder, State, file, folder, monitor};
use modbox_run::{CENSORED, locate};
use modbox_worker::THIS_PROGRAM;

use crate::cli::ansible::installed_release::installed;
use crate::cli::ansible::{python_program, sent_module};
use crate::cli::args::{Cli, Command, JobFolderArgs, JobsArgs, OutputFormat, RunArgs, StatusArgs};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::folders::job_folder;
use crate::cli::named::find::Lookup;
use crate::cli::perform;
use crate::cli::play::{TaskJob, TaskJobEnd};
use crate::cli::printing::{job_summary, output};
use crate::cli::process::become_user;
use crate::cli::process::environment::Environment;
use crate::cli::settings::Settings;

/// Stands for the name of a module that is not known.
const NO_NAME: &str = "-";

/// Returns the folder of jobs, from the switch, the variable or the default.
pub(crate) fn job_folder(args: &JobFolderArgs, environment: &Environment) -> anyhow::Result<PathBuf> {
    job_folder::job_folder(args.async_dir.as_deref(), environment)
}

/// Starts a job and prints what `async_wrapper` would print. Checks the command line and the module's file first.
pub(crate) fn start(
    context: &Context,
    args: &RunArgs,
    task: &Dict,
    argv: &[OsString],
    format: OutputFormat,
) -> Result<ExitStatus, Failure> {
    Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
    become_user::resolve(args.become_user.as_deref())?;
    let lookup =
        Lookup::of_run(context, &args.lookup, &args.grants.policy, &args.python.module_utils, args.python.ansiballz)?;
    let internal = args.internal.resolve(|| installed(&context.environment, &lookup)).or_usage()?;
    let found = lookup.find_or_build(context, &args.module)?;
    locate::read(&found.path).or_unavailable()?;
    let folder = job_folder(&args.jobs, &context.environment).or_usage()?;
    let order = JobRequest {
        name: file::new_name(internal.contract),
        folder: folder.clone(),
        release: internal.contract,
        module: found.name.clone(),
        work: JobWork::Command { command: argv.to_vec(), args: encode(&Value::Dict(task.clone())) },
        is_followed: false,
    };
    let started = monitor::start(Path::new(THIS_PROGRAM), &order).context("failed to start the job").or_internal()?;
    let id = started.id;
    let path = folder.join(&id).display().to_string();
    match format {
        OutputFormat::Human => {
            let module = output::clean_line(&args.module.display().to_string());
            let path = output::clean_line(&path);
            output::print_line(&format!("started: {module}\n  ansible_job_id: {id}\n  results_file: {path}"))
        }
        OutputFormat::Result | OutputFormat::Report => {
            output::print_line(&encode(&Value::Dict(file::reply(&id, &path, internal.contract))))
        }
    }
    .or_internal()?;
    Ok(ExitStatus::Success)
}

/// Runs the monitor of a job.
pub(crate) fn monitor(context: &Context) -> Result<ExitStatus, Failure> {
    let hang_up = || {
        let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
        Ok(rustix::stdio::dup2_stdout(nothing)?)
    };
    let run = |order: &JobRequest| {
        let finished = perform(context, &order.work);
        let finished = finished.unwrap_or_else(|failure| {
            let summary = job_summary::not_run(&error_words(&failure.error));
            FinishedRun { summary, end: TaskJobEnd::internal().encode() }
        });
        // A signal that ends this process cuts the run short, and the job is lost.
        (!context.cleanup.is_ending()).then_some(finished)
    };
    monitor::monitor(io::stdin().lock(), io::stdout().lock(), hang_up, run).or_internal()?;
    Ok(ExitStatus::Success)
}

fn perform(context: &Context, work: &JobWork) -> Result<FinishedRun, Failure> {
    match work {
        JobWork::Command { command, args } => {
            perform_command(context, command, args).map(|summary| FinishedRun { summary, end: String::new() })
        }
        JobWork::Task(task) => TaskJob::decode(task).or_internal()?.perform(context),
        JobWork::Sent { task, limit } => {
            sent_module::perform(context, task, *limit).map(|summary| FinishedRun { summary, end: String::new() })
        }
        JobWork::Packed { program, limit } => python_program::job::perform(context, program, *limit)
            .map(|summary| FinishedRun { summary, end: String::new() }),
    }
}

fn perform_command(context: &Context, command: &[OsString], args: &str) -> Result<RunSummary, Failure> {
    // The command line was parsed before, when the job was started.
    let cli = Cli::try_parse_from(command).or_internal()?;
    let Command::Run(run) = cli.command else {
        return Err(anyhow::anyhow!("the command line of the job does not run a module")).or_internal();
    };
    let Ok(Value::Dict(task)) = decode(args) else {
        return Err(anyhow::anyhow!("the arguments of the job are not a dict")).or_internal();
    };
    let (report, audited) = perform::perform(context, &run, task, None)?;
    Ok(job_summary::of_audited(report, run.no_log, audited))
}

/// Prints the status of a job, as `async_status` does, or removes the job's file.
pub(crate) fn status(context: &Context, args: &StatusArgs) -> Result<ExitStatus, Failure> {
    let path = job_folder(&args.folder, &context.environment).or_usage()?;
    let id = &args.job;
    if !path.exists() {
        let message = format!("unknown job `{id}`: no job was started yet in `{}`", path.display());
        return Err(anyhow::anyhow!(message)).or_unavailable();
    }
    let folder = JobFolder::open(&path).map_err(failure)?;
    let path = folder.path_of(id).display().to_string();
    let (answer, status) = if args.cleanup {
        folder.remove(id).map_err(failure)?;
        let entries = [("ansible_job_id", Value::from(id.as_str())), ("erased", path.into())];
        (entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(), ExitStatus::Success)
    } else {
        let (job, state) = folder.look(id, folder::is_alive).map_err(failure)?;
        (file::shown(job.to_status(state, &path), CENSORED), status_of(state))
    };
    output::print_line(&encode(&Value::Dict(answer))).or_internal()?;
    Ok(status)
}

fn failure(error: JobError) -> Failure {
    let status = match error {
        JobError::Id(_) => ExitStatus::Usage,
        JobError::File { .. } => ExitStatus::Internal,
        JobError::Unknown { .. } | JobError::Folder { .. } => ExitStatus::Unavailable,
    };
    Failure { status, error: error.into() }
}

fn status_of(state: State) -> ExitStatus {
    match state {
        State::Running => ExitStatus::Running,
        State::Succeeded => ExitStatus::Success,
        State::Failed => ExitStatus::Failed,
        State::TimedOut => ExitStatus::Limit,
        State::Lost => ExitStatus::Crashed,
    }
}

/// Prints one line for each job.
pub(crate) fn list(context: &Context, args: &JobsArgs) -> Result<ExitStatus, Failure> {
    let path = job_folder(&args.folder, &context.environment).or_usage()?;
    if !path.exists() {
        return Ok(no_jobs(args, &path));
    }
    let folder = JobFolder::open(&path).map_err(failure)?;
    let jobs = folder.list().map_err(failure)?;
    if jobs.is_empty() {
        return Ok(no_jobs(args, &path));
    }
    for (id, written) in jobs {
        // The file may have been removed since it was listed.
        let Ok((_, state)) = folder.look(&id, folder::is_alive) else { continue };
        let state = state.as_str();
        let age = SystemTime::now().duration_since(written).unwrap_or_default().as_secs();
        let module = folder.module_of(&id);
        let line = match args.json {
            true => {
                let module = module.map_or(Value::Null, Value::from);
                let job =
                    [("job", Value::from(id)), ("state", state.into()), ("age_s", age.into()), ("module", module)];
                encode(&Value::from(job))
            }
            false => {
                let age = humantime::format_duration(Duration::from_secs(age));
                let module = output::clean_line(module.as_deref().unwrap_or(NO_NAME));
                format!("{id}  {state:<9}  {age:<12}  {module}")
            }
        };
        output::print_line(&line).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

/// Tells people that there are no jobs. A program that reads JSON sees no line.
fn no_jobs(args: &JobsArgs, folder: &Path) -> ExitStatus {
    if !args.json {
        output::print_note(&format!("there are no jobs in `{}`", folder.display()));
    }
    ExitStatus::Success
}
