//! Makes of switches and of the keys of a job how a run is made on layers.

use std::path::{Path, PathBuf};

use modbox_overlay::commit::{Origin, Strength};
use modbox_policy::Policy;
use modbox_run::batch::{JobEffect, JobOptions, JobSave};
use modbox_run::{CommitChoices, LayeredMode, LayeredRun, Module, RealEffects, Report, RunRequest, Runner, SavePlace};

use crate::cli::args::RunArgs;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::folders::state_folder;

/// Returns how the run of a job is made on layers, if it is: as its line says, or as the policy says of check mode. What it
/// commits is of this origin.
///
/// # Errors
///
/// A transaction has no folder for its records, or the job asks for one in check mode.
pub(crate) fn of_job(
    context: &Context,
    job: &JobOptions,
    policy: &Policy,
    origin: &Origin,
) -> anyhow::Result<Option<LayeredRun>> {
    if job.save.is_some() && job.effect != JobEffect::Preview {
        anyhow::bail!("`save` needs the effect `preview`");
    }
    let is_asked = job.is_asked && job.effect == JobEffect::Direct && !job.check && is_confined(policy);
    let mode = match job.effect {
        JobEffect::Direct if is_asked => {
            let choices = choices(context, job.durable, false)?;
            LayeredMode::Transaction(CommitChoices { origin: origin.clone(), ..choices })
        }
        JobEffect::Direct if job.check => {
            return Ok(LayeredRun::in_place_of_check(policy.check_rule(), job.diff));
        }
        JobEffect::Direct => return Ok(None),
        JobEffect::Preview => {
            let save = job.save.as_ref().map_or(Ok(None), |save| save_place(context, save))?;
            LayeredMode::Preview { outside: outside(job.preview_net), compares_check: job.check, save }
        }
        JobEffect::Transaction if job.check => {
            anyhow::bail!("a transaction cannot be in check mode; use the effect `preview`")
        }
        JobEffect::Transaction => {
            let choices = choices(context, job.durable, job.keep_undo)?;
            LayeredMode::Transaction(CommitChoices { origin: origin.clone(), ..choices })
        }
    };
    Ok(Some(LayeredRun {
        mode,
        shows_all_lines: job.diff,
        accepts_incomplete: job.incomplete_ok,
        keeps_result: is_asked,
    }))
}

/// Returns whether something confines a module: what is not confined lacks nothing, and has no layers.
fn is_confined(policy: &Policy) -> bool {
    !policy.allows_everything() && policy.unconfined_by().is_none()
}

pub(crate) fn outside(accepted: bool) -> RealEffects {
    if accepted { RealEffects::Accepted } else { RealEffects::Refused }
}

/// Returns where a job saves its preview.
fn save_place(context: &Context, save: &JobSave) -> anyhow::Result<Option<SavePlace>> {
    Ok(match save {
        JobSave::Store(false) => None,
        JobSave::Store(true) => Some(SavePlace::Store(state_folder::plans(&context.environment)?)),
        JobSave::File(path) => Some(SavePlace::File(new_file(context, path)?)),
    })
}

/// Returns the path of a file that a run will make, if it can be made.
fn new_file(context: &Context, path: &Path) -> anyhow::Result<PathBuf> {
    let path = context.environment.absolute(path);
    let shown = path.display();
    if path.symlink_metadata().is_ok() {
        anyhow::bail!("failed to save the changes as `{shown}`: it exists already; use another name");
    }
    if !path.parent().is_some_and(Path::is_dir) {
        anyhow::bail!("failed to save the changes as `{shown}`: its directory does not exist; make it first");
    }
    Ok(path)
}

/// Returns the choices for a commit of the person at the command line.
///
/// # Errors
///
/// There is no folder for the records of transactions.
pub(crate) fn choices(context: &Context, durable: bool, keeps_undo: bool) -> anyhow::Result<CommitChoices> {
    Ok(CommitChoices {
        state: state_folder::transactions(&context.environment)?,
        strength: if durable { Strength::Power } else { Strength::Process },
        keeps_undo,
        origin: Origin::Person,
    })
}

/// Way of running a module.
pub(crate) type Way<'a> = Box<dyn FnOnce(&Runner, &Module, &RunRequest<'_>) -> Report + 'a>;

/// Returns the way of running a module that the switches ask for.
///
/// # Errors
///
/// A transaction has no folder for its records, or a file for changes exists already.
pub(crate) fn way<'a>(context: &'a Context, args: &'a RunArgs) -> Result<Way<'a>, Failure> {
    let layers = &args.layers;
    let mode = match (layers.preview, layers.transaction) {
        (true, _) => LayeredMode::Preview {
            outside: outside(layers.preview_net),
            compares_check: args.check,
            save: layers
                .save
                .as_ref()
                .map(|path| new_file(context, path).map(SavePlace::File))
                .transpose()
                .or_usage()?,
        },
        (false, true) => LayeredMode::Transaction(choices(context, layers.durable, layers.keep_undo).or_usage()?),
        (false, false) => return Ok(Box::new(Runner::run)),
    };
    let run =
        LayeredRun { mode, shows_all_lines: args.diff, accepts_incomplete: layers.incomplete_ok, keeps_result: false };
    Ok(Box::new(move |runner, module, request| runner.run_on_layers(module, request, &run)))
}
