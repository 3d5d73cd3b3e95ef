//! Runs the modules that controllers have sent, for `modbox task` and for its jobs.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use modbox_contract::{Dict, GivenSecrets, Value};
use modbox_fleet::envelope::Envelope;
use modbox_fleet::module_digest::ModuleDigest;
use modbox_run::jobs::RunSummary;
use modbox_run::{Module, ModuleFile};

use crate::cli::ansible::ansible_call::{self, AnsibleCall, AnsweredRun};
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::folders::fleet_folder;

/// Returns the bytes of a module, if it is kept.
pub(crate) fn kept(context: &Context, module: ModuleDigest) -> Result<Option<Vec<u8>>, Failure> {
    fleet_folder::get(&context.environment, module).context("failed to read the modules that are kept").or_internal()
}

/// Returns the name of a task's module, for policies and reports.
pub(crate) fn name(module: ModuleDigest, args: &Dict) -> String {
    args.get("_ansible_module_name").and_then(Value::as_str).map_or_else(|| module.to_string(), str::to_owned)
}

/// Runs a module that is kept. `limit` replaces the default time limit.
///
/// # Errors
///
/// As [`ansible_call::run`].
pub(crate) fn run(
    context: &Context,
    task: Envelope,
    bytes: Vec<u8>,
    limit: Option<Duration>,
) -> Result<AnsweredRun, Failure> {
    let Envelope { module, args, policy, signature, audit } = task;
    let name = name(module, &args);
    let path = Path::new(&name);
    let file = ModuleFile { path: path.to_owned(), bytes: bytes.into() };
    let (policy, signature) = (policy.as_deref(), signature.as_deref());
    let call = AnsibleCall {
        path,
        name: &name,
        args,
        secrets: GivenSecrets::default(),
        open_files: 0,
        limit,
        policy,
        signature,
        audit,
    };
    ansible_call::run(context, call, || Ok(Module::new(file, None)))
}

/// Runs the task of a job.
pub(crate) fn perform(context: &Context, task: &str, limit: Duration) -> Result<RunSummary, Failure> {
    let task = Envelope::parse(task.as_bytes()).or_internal()?;
    let bytes = kept(context, task.module)?.context("the module of the job is not kept any more; run the task again");
    let run = run(context, task, bytes.or_unavailable()?, Some(limit))?;
    Ok(run.into_summary())
}
