//! `modbox task`: runs a task that a controller sends on standard input, or keeps a module for later tasks.

use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use modbox_contract::{ModuleResult, Release, Value, encode};
use modbox_fleet::envelope::{Envelope, EnvelopeError};
use modbox_fleet::module_digest::ModuleDigest;
use modbox_fleet::modules::MAX_MODULE;
use modbox_fleet::need::Need;
use modbox_fleet::shipment;
use modbox_run::jobs::order::{JobRequest, JobWork};
use modbox_run::jobs::{file, monitor};
use modbox_trust::signature_file::MAX_SIGNATURE_FILE;
use modbox_worker::THIS_PROGRAM;

use crate::cli::ansible::ansible_call;
use crate::cli::ansible::sent_module;
use crate::cli::args::TaskArgs;
use crate::cli::commands::runs::job;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::folders::fleet_folder;
use crate::cli::printing::output;
use crate::cli::settings::MAX_POLICY;
use crate::cli::task_args::MAX_ARGS;

/// Maximum bytes of a task: its arguments, its policy, its signature, and the rest.
const MAX_TASK: u64 = MAX_ARGS + 2 * MAX_POLICY + 2 * MAX_SIGNATURE_FILE + (1 << 10);

/// Maximum bytes that are read and dropped after a failure, so that a controller that still sends hears of it.
const MAX_REST: u64 = 256 << 20;

/// Runs the task, or keeps the module. Prints one line of JSON, also for a failure.
pub(crate) fn run(context: &Context, args: &TaskArgs) -> Result<ExitStatus, Failure> {
    let answered = match args.store {
        Some(digest) => store(context, digest),
        None => run_task(context, args),
    };
    answered.or_else(|failure| {
        // The controller may also be gone.
        let _ = io::copy(&mut io::stdin().lock().take(MAX_REST), &mut io::sink());
        let result = ModuleResult::runner_failure(&error_words(&failure.error), None);
        output::print_line(&result.to_json()).or_internal()?;
        Ok(failure.status)
    })
}

/// Keeps the module that is sent.
fn store(context: &Context, digest: ModuleDigest) -> Result<ExitStatus, Failure> {
    let bytes = shipment::receive(io::stdin().lock(), digest, MAX_MODULE).or_unavailable()?;
    fleet_folder::put(&context.environment, &bytes, &context.cleanup).or_internal()?;
    let answer = Value::from([("modbox_stored", Value::from(digest.to_string()))]);
    output::print_line(&encode(&answer)).or_internal()?;
    Ok(ExitStatus::Success)
}

fn run_task(context: &Context, task: &TaskArgs) -> Result<ExitStatus, Failure> {
    let bytes =
        modbox_files::read_stream(io::stdin().lock(), MAX_TASK).context("failed to read the task").or_usage()?;
    let envelope = match Envelope::parse(&bytes) {
        Err(EnvelopeError::Newer(_)) => return need(Need::Runner),
        parsed => parsed.or_usage()?,
    };
    let Some(kept) = sent_module::kept(context, envelope.module)? else { return need(Need::Module) };
    match task.background {
        Some(limit) => start(context, task, &envelope, limit),
        None => ansible_call::answer(context, sent_module::run(context, envelope, kept, None)),
    }
}

/// Starts a job that runs the task, and prints what `async_wrapper` would print.
fn start(context: &Context, task: &TaskArgs, envelope: &Envelope, limit: Duration) -> Result<ExitStatus, Failure> {
    let version = envelope.args.get("_ansible_version").and_then(Value::as_str);
    let release = version.map_or_else(Release::default, Release::of_version);
    let folder = job::job_folder(&task.jobs, &context.environment).or_usage()?;
    let order = JobRequest {
        name: file::new_name(release),
        folder: folder.clone(),
        release,
        module: sent_module::name(envelope.module, &envelope.args),
        work: JobWork::Sent { task: envelope.to_json(), limit },
        is_followed: false,
    };
    let started = monitor::start(Path::new(THIS_PROGRAM), &order).context("failed to start the job").or_internal()?;
    let path = folder.join(&started.id).display().to_string();
    output::print_line(&encode(&Value::Dict(file::reply(&started.id, &path, release)))).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Answers what this target lacks.
fn need(need: Need) -> Result<ExitStatus, Failure> {
    output::print_line(&need.to_json(std::env::consts::ARCH)).or_internal()?;
    Ok(ExitStatus::Need)
}
