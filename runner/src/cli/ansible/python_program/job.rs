//! Jobs that ansible-core starts with its module `async_wrapper`.
//!
//! ansible-core starts that module with words of its own, which `job_words` parses. modbox does not run `async_wrapper`: it
//! starts the job itself, as for `modbox run --async`, and writes the same files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use modbox_contract::{Value, encode};
use modbox_kinds::ansiballz::{MAX_PAYLOAD, may_be_payload};
use modbox_run::jobs::order::{JobRequest, JobWork};
use modbox_run::jobs::{RunSummary, file, monitor};
use modbox_worker::THIS_PROGRAM;

use super::job_words::JobWords;
use super::{program, received_module};
use crate::cli::ansible::ansible_call;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::job_folder;
use crate::cli::printing::output;

/// Starts the job, and prints what `async_wrapper` prints.
pub(super) fn start(context: &Context, words: &JobWords) -> Result<ExitStatus, Failure> {
    let started = begin(context, words);
    let (id, folder) = match started {
        Ok(started) => started,
        Err(failure) => return ansible_call::answer(context, Err(failure)),
    };
    let path = folder.join(&id).display().to_string();
    // The monitor has the module. For a job the controller leaves the directory to the target.
    if let Some(directory) = words.temporary_directory().filter(|_| !words.keeps_directory) {
        let removed = std::fs::remove_dir_all(directory);
        removed.unwrap_or_else(|error| tracing::warn!(%error, directory = %directory.display(), "not removed"));
    }
    output::print_line(&encode(&Value::Dict(file::reply(&id, &path, words.release)))).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Returns the job's id and the folder of jobs.
fn begin(context: &Context, words: &JobWords) -> Result<(String, PathBuf), Failure> {
    let module = words.module.display();
    let program = modbox_files::read_file(&words.module, MAX_PAYLOAD as u64)
        .with_context(|| format!("failed to read the module `{module}` of the job"))
        .or_unavailable()?;
    if !may_be_payload(&program) {
        let remedy = "for this task set `ansible_python_interpreter` to a Python";
        return Err(anyhow!("the module `{module}` of the job is not one that ansible-core has packed; {remedy}"))
            .or_usage();
    }
    let program = String::from_utf8(program);
    let program = program.with_context(|| format!("the module `{module}` of the job is not UTF-8")).or_usage()?;
    let folder = job_folder::job_folder(None, &context.environment).or_usage()?;
    let order = JobRequest {
        name: words.name.clone(),
        folder: folder.clone(),
        release: words.release,
        module: module.to_string(),
        work: JobWork::Packed { program, limit: words.limit },
        is_followed: false,
    };
    let started = monitor::start(Path::new(THIS_PROGRAM), &order).context("failed to start the job").or_internal()?;
    Ok((started.id, folder))
}

/// Runs the packed module of a job.
///
/// # Errors
///
/// The module is damaged, or as [`ansible_call::run`].
pub(crate) fn perform(context: &Context, program: &str, limit: Duration) -> Result<RunSummary, Failure> {
    let received = program::parse(program.as_bytes()).or_usage()?;
    let run = received_module::run(context, received, Some(limit))?;
    Ok(run.into_summary())
}
