//! Does one run of `modbox run` with `--preview` or `--transaction`.

use modbox_overlay::commit::Strength;

use crate::app::{CommitChoices, Effect, LayeredRun, Module, RealEffects, Report, RunRequest, Runner};
use crate::cli::args::RunArgs;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::state_folder;

/// Way of running a module.
pub(crate) type Way<'a> = Box<dyn FnOnce(&Runner, &Module, &RunRequest<'_>) -> Report + 'a>;

/// Returns the way of running a module that the switches ask for.
///
/// # Errors
///
/// A transaction has no folder for its records.
pub(crate) fn way<'a>(context: &'a Context, args: &'a RunArgs) -> Result<Way<'a>, Failure> {
    let layers = &args.layers;
    let effect = match (layers.preview, layers.transaction) {
        (true, _) => Effect::Preview,
        (false, true) => Effect::Transaction,
        (false, false) => return Ok(Box::new(Runner::run)),
    };
    let state = state_folder::transactions(&context.environment).or_usage()?;
    Ok(Box::new(move |runner, module, request| {
        let run = LayeredRun {
            effect,
            outside: if layers.preview_net { RealEffects::Accepted } else { RealEffects::Refused },
            shows_all_lines: args.diff,
            compares_check: args.check,
            accepts_incomplete: layers.incomplete_ok,
            commit: CommitChoices {
                state: &state,
                strength: if layers.durable { Strength::Power } else { Strength::Process },
                keeps_undo: layers.keep_undo,
            },
        };
        runner.run_on_layers(module, request, &run)
    }))
}
