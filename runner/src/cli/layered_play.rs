//! Runs a whole play on layers: prepares them, and shows or commits what the play has changed.
//!
//! The play runs in a thread with mounts of its own, and commits in a thread without them.

use std::cell::RefCell;
use std::rc::Rc;

use modbox_policy::Policy;
use modbox_scratch::ScratchRoot;

use crate::app::{CommitChoices, CommitState, Effect, EffectReport, OutsideEffect, PlayChanges, PlayLayers};
use crate::app::{recover_transactions, withhold_outside};
use crate::cli::args::{PlayArgs, PlayFormat};
use crate::cli::context::Context;
use crate::cli::effect_output::push_effect;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::play::SharedPlayLayers;
use crate::cli::settings::Settings;
use crate::cli::{layered, output};

/// What a play on layers needs beside the layers.
#[derive(Debug)]
pub(crate) struct PreparedLayers {
    effect: Effect,
    outside: Vec<OutsideEffect>,
    /// The grants of every module.
    policy: Policy,
    choices: Option<CommitChoices>,
}

/// Prepares a play on layers. Returns `None` for a play that changes the machine at once.
///
/// # Errors
///
/// The grants are wrong, or cannot be withheld; or an interrupted transaction cannot be looked at.
pub(crate) fn prepare(context: &Context, args: &PlayArgs) -> Result<Option<PreparedLayers>, Failure> {
    let layers = &args.layers;
    let effect = match (layers.preview, layers.transaction) {
        (true, _) => Effect::Preview,
        (false, true) => Effect::Transaction,
        (false, false) => return Ok(None),
    };
    if args.check {
        let message = "a preview of a play shows what a real run changes; leave out `--check`";
        return Err(anyhow::anyhow!(message)).or_usage();
    }
    let settings = Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
    let mut policy = settings.for_every_module().or_usage()?.policy;
    let accepted = layers.preview_net || effect == Effect::Transaction;
    let outside = withhold_outside(&mut policy, layered::outside(accepted)).or_usage()?;
    let choices = match effect {
        Effect::Preview => None,
        Effect::Transaction => Some(layered::choices(context, layers.durable, layers.keep_undo).or_usage()?),
    };
    if let Some(choices) = &choices {
        recover_transactions(choices).or_internal()?.iter().for_each(|note| output::print_note(note));
    }
    Ok(Some(PreparedLayers { effect, outside, policy, choices }))
}

/// Gives this thread mounts of its own, with layers over what every module may write.
///
/// # Errors
///
/// This user can make no layers, or a granted directory can have none.
pub(crate) fn enter(
    context: &Context,
    args: &PlayArgs,
    prepared: Option<&PreparedLayers>,
) -> Result<Option<SharedPlayLayers>, Failure> {
    let Some(prepared) = prepared else { return Ok(None) };
    let settings = Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
    let limits = settings.for_every_module().or_usage()?.limits;
    let scratch = ScratchRoot::new(&context.environment.temp_dir, context.cleanup.clone());
    let own = scratch.folders().or_internal()?.into_iter().chain(context.environment.cache_dir.clone());
    let mut layers = PlayLayers::enter(&limits, own.collect()).or_unavailable()?;
    layers.cover(&prepared.policy).or_unavailable()?;
    Ok(Some(Rc::new(RefCell::new(layers))))
}

/// Ends a play, and returns what it has changed.
///
/// # Errors
///
/// The changes cannot be known; they are discarded.
pub(crate) fn finish(
    layers: Option<SharedPlayLayers>,
    status: ExitStatus,
) -> Result<(ExitStatus, Option<PlayChanges>), Failure> {
    let Some(layers) = layers.and_then(Rc::into_inner) else { return Ok((status, None)) };
    let changes = layers.into_inner().finish().or_internal()?;
    Ok((status, Some(changes)))
}

/// Commits the changes of a successful play if it is a transaction, and prints them.
///
/// # Errors
///
/// Standard output cannot be written.
pub(crate) fn conclude(
    context: &Context,
    args: &PlayArgs,
    prepared: PreparedLayers,
    changes: &PlayChanges,
    status: ExitStatus,
) -> Result<ExitStatus, Failure> {
    let PreparedLayers { effect, outside, policy, choices } = prepared;
    let mut report = changes.effect(effect, outside, args.diff);
    let accepted = report.complete || args.layers.incomplete_ok;
    if let Some(choices) = choices
        && status == ExitStatus::Success
    {
        report.commit.reasons.clone_from(&report.incomplete);
        report.commit.state = CommitState::Refused;
        let committed = accepted.then(|| context.cleanup.hold(|| changes.commit(&policy, &choices))).flatten();
        committed.into_iter().for_each(|commit| report.commit = commit);
    }
    print(&report, args.output)?;
    Ok(match (status, report.commit.state) {
        (ExitStatus::Success, CommitState::Unfinished) => ExitStatus::Unfinished,
        (ExitStatus::Success, state) if state.is_failure() => ExitStatus::NotCommitted,
        (ExitStatus::Success, _) if !accepted => ExitStatus::NotCommitted,
        (status, _) => status,
    })
}

fn print(report: &EffectReport, format: PlayFormat) -> Result<(), Failure> {
    let mut text = String::new();
    push_effect(&mut text, report);
    match format {
        PlayFormat::Human => output::print_bytes(&output::coloured(&std::io::stdout(), &text)).or_internal(),
        PlayFormat::Jsonl => {
            let event = serde_json::json!({"event": "effect", "effect": report});
            output::print_line(&event.to_string()).or_internal()
        }
        // The page is one document on standard output.
        PlayFormat::Html => {
            output::print_note(text.trim_end());
            Ok(())
        }
    }
}
