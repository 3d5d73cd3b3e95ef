//! `modbox play`: runs the tasks of playbooks on this host.

mod load_errors;
mod opened_play;
mod play_asking;
mod play_inputs;
mod play_learning;
mod playbooks;

use std::rc::Rc;

use anyhow::Context as _;
use modbox_tasks::model::play::Playbook;
use modbox_tasks::run::host::HostErrorKind;
use modbox_tasks::run::play::RunError;
use modbox_tasks::run::playbook::{RunEnd, run as run_playbooks};

use self::opened_play::OpenedPlay;
use self::play_inputs::PlayInputs;
use self::play_learning::write_learned;
use self::playbooks::{listed, read_all};
use crate::cli::args::{PlayArgs, PlayFormat};
use crate::cli::commands::policy::usable;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::layered_play::{LayeredPlay, SharedLayeredPlay, prepare_process};
use crate::cli::play::shown::needs_of_events::NeedsOfEvents;
use crate::cli::play::{self, Explainer, PlayHost, SharedLearning, Sink, with_root_powers};
use crate::cli::printing::output;
use crate::cli::process::deep_stack;

/// Runs the playbooks, on layers if that is asked for.
pub(crate) fn run(context: &Context, args: &PlayArgs) -> Result<ExitStatus, Failure> {
    prepare_process(args)?;
    let play = || {
        let layered = LayeredPlay::enter(context, args)?;
        let status = run_plays(context, args, layered.clone())?;
        layered.map_or(Ok(status), |layered| layered.conclude(status))
    };
    deep_stack::run(play).or_internal()?
}

/// Runs the playbooks. A play on layers is one of this thread.
fn run_plays<'a>(
    context: &'a Context,
    args: &'a PlayArgs,
    layered: Option<SharedLayeredPlay<'a>>,
) -> Result<ExitStatus, Failure> {
    let inputs = PlayInputs::read(context, args)?;
    let play = OpenedPlay::open(context, args, inputs)?;
    let playbooks = read_all(&play.inputs.files, &play.loader(), &play.options, args)?;
    let (engine, merges_mappings) = (&play.engine.templates, play.inputs.load.merges_mappings);
    if let Some(status) = listed(&playbooks, args, (engine, &play.options, merges_mappings))? {
        return Ok(status);
    }
    let mut host = play.host()?;
    layered.into_iter().for_each(|layered| host.set_layered(layered));
    match args.explain {
        true => explain(context, &play, &playbooks, (&mut host, args.output)),
        false => perform(context, &play, &playbooks, (host, args)),
    }
}

/// Runs playbooks that were read, shows what happens, and writes what was learned.
fn perform(
    context: &Context,
    play: &OpenedPlay<'_>,
    playbooks: &[Playbook],
    (mut host, args): (PlayHost<'_>, &PlayArgs),
) -> Result<ExitStatus, Failure> {
    let (engine, options, load) = (&play.engine.templates, &play.options, &play.inputs.load);
    let learning = args.learn.as_ref().map(|file| (file, SharedLearning::default()));
    learning.iter().for_each(|(_, learning)| host.learn(Rc::clone(learning)));
    let mut sink = Sink::new(args.output, options.verbosity, options.shows_skipped);
    sink.plugins(&play.engine.plugins.listings());
    let mut events = NeedsOfEvents { needs: play.tree.needs(), before: 0, inner: &mut sink };
    let ended = run_playbooks(playbooks, engine, &mut host, &mut events, options, load);
    let needs = play.tree.needs().take();
    let shown = if learning.is_some() { &[][..] } else { &needs };
    let finished = sink.finish(shown).context("failed to write to standard output").or_internal();
    let status = exit_status(&ended);
    if let Some((file, learning)) = learning {
        write_learned(context, &learning, &needs, (file, args.reasons, status))?;
    }
    finished.map(|()| status)
}

/// Explains the playbooks, and runs nothing.
fn explain(
    context: &Context,
    play: &OpenedPlay<'_>,
    playbooks: &[Playbook],
    (host, format): (&mut PlayHost<'_>, PlayFormat),
) -> Result<ExitStatus, Failure> {
    let (engine, tree) = (&play.engine.templates, &*play.tree);
    let settings = (&play.options, &play.inputs.load);
    let mut explainer = Explainer::new(format == PlayFormat::Jsonl);
    let mut text = String::new();
    let mut print = |part: &str| text.push_str(part);
    for playbook in playbooks {
        let explained = explainer.playbook(playbook, (engine, tree, &mut *host), settings, &mut print);
        explained.map_err(|message| anyhow::anyhow!("{}", message.brief())).or_usage()?;
    }
    explainer.plugins(&play.engine.plugins.listings(), &mut print);
    let environment = &context.environment;
    let checked = |policy: &str| usable(environment, policy).map(|policy| with_root_powers(environment, &policy));
    let is_refused = explainer.finish(checked, &mut print).or_internal()?;
    output::print_bytes(play::without_secrets(&text).as_bytes()).or_internal()?;
    Ok(if is_refused { ExitStatus::Usage } else { ExitStatus::Success })
}

fn exit_status(ended: &RunEnd) -> ExitStatus {
    match (&ended.error, ended.first_failure) {
        (Some(RunError::Load(_)), _) => ExitStatus::Usage,
        (_, Some(HostErrorKind::NotFound)) => ExitStatus::Unavailable,
        (_, Some(HostErrorKind::Denied)) => ExitStatus::Denied,
        (_, Some(HostErrorKind::Limit | HostErrorKind::TimedOut)) => ExitStatus::Limit,
        (_, Some(HostErrorKind::Crash)) => ExitStatus::Crashed,
        (_, Some(HostErrorKind::Internal)) => ExitStatus::Internal,
        (Some(_), None) => ExitStatus::Failed,
        (None, None) if ended.failed => ExitStatus::Failed,
        (None, None) if ended.unreachable => ExitStatus::Denied,
        (None, None) => ExitStatus::Success,
    }
}
