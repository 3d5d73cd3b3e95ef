//! A whole play on layers: prepares them, and shows or commits what the play has changed.
//!
//! The play runs in a thread with mounts of its own. The thread leaves them before it commits, since a commit is made on the
//! machine's own files.

use std::cell::RefCell;
use std::rc::Rc;

use modbox_contract::Dict;
use modbox_policy::Policy;
use modbox_python_json::{Value, encode, to_value};
use modbox_run::audit::{AuditedCommit, CommitOutcome};
use modbox_run::{
    CommitChoices, CommitState, Effect, EffectReport, HiddenContent, LayeredError, OutsideEffect, OutsideKind,
    PlayChanges, PlayLayers, TaskSecrets, recover_transactions, withhold_outside,
};
use modbox_scratch::ScratchRoot;

use crate::cli::args::{PlayArgs, PlayFormat};
use crate::cli::audit::Audit;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::layered;
use crate::cli::printing::effect_output::push_effect;
use crate::cli::printing::output;
use crate::cli::settings::Settings;

/// A play on layers, shared with the runner of its modules.
pub(crate) type SharedLayeredPlay<'a> = Rc<LayeredPlay<'a>>;

pub(crate) struct LayeredPlay<'a> {
    context: &'a Context,
    args: &'a PlayArgs,
    effect: Effect,
    /// The grants of every module.
    policy: Policy,
    choices: Option<CommitChoices>,
    audit: Audit,
    progress: RefCell<Progress>,
}

/// What changes while a play on layers runs.
struct Progress {
    state: State,
    outside: Vec<OutsideEffect>,
    /// What its tasks hide.
    hidden: HiddenContent,
    /// Why the changes of an ended play are not known.
    failure: Option<Failure>,
}

/// How far a play on layers is.
#[derive(Debug)]
enum State {
    /// Its tasks change layers.
    Layered(Box<PlayLayers>),
    /// Its changes were shown, and committed or discarded.
    Ended(Ended),
}

/// How the changes of a play ended.
#[derive(Debug, Clone, Copy)]
struct Ended {
    commit: CommitState,
    /// Whether everything was seen, or the operator accepts less.
    is_accepted: bool,
}

/// Gives this process the namespaces that an ordinary user needs for a play on layers. Call it before threads are started.
///
/// # Errors
///
/// The machine gives this user no namespaces.
pub(crate) fn prepare_process(args: &PlayArgs) -> Result<(), Failure> {
    // A preview of check mode is refused later, with a reason.
    let is_layered = (args.layers.preview || args.layers.transaction) && !args.check;
    if is_layered { PlayLayers::prepare_process().or_unavailable() } else { Ok(()) }
}

impl<'a> LayeredPlay<'a> {
    /// Gives this thread mounts of its own, with layers over what every module may write. Returns `None` for a play that
    /// changes the machine at once.
    ///
    /// # Errors
    ///
    /// The grants are wrong, or cannot be withheld; an interrupted transaction cannot be looked at; this user can make no
    /// layers; or a granted directory can have none.
    pub(crate) fn enter(context: &'a Context, args: &'a PlayArgs) -> Result<Option<SharedLayeredPlay<'a>>, Failure> {
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
        let merged = settings.for_every_module().or_usage()?;
        let mut policy = merged.policy;
        let accepted = layers.preview_net || effect == Effect::Transaction;
        let outside = withhold_outside(&mut policy, layered::outside(accepted)).or_usage()?;
        let choices = match effect {
            Effect::Preview => None,
            Effect::Transaction => Some(layered::choices(context, layers.durable, layers.keep_undo).or_usage()?),
        };
        if let Some(choices) = &choices {
            recover_transactions(choices).or_internal()?.iter().for_each(|note| output::print_note(note));
        }
        let audit = Audit::open(&policy)?;
        let scratch = ScratchRoot::new(&context.environment.temp_dir, context.cleanup.clone());
        let own = scratch.folders().or_internal()?.into_iter().chain(context.environment.cache_dir.clone());
        let mut layers = PlayLayers::enter(&merged.limits, own.collect(), &scratch).or_unavailable()?;
        layers.cover(&policy, false).or_unavailable()?;
        let (state, hidden) = (State::Layered(Box::new(layers)), HiddenContent::default());
        let progress = Progress { state, outside, hidden, failure: None };
        let progress = RefCell::new(progress);
        Ok(Some(Rc::new(Self { context, args, effect, policy, choices, audit, progress })))
    }

    /// Returns whether changes are held by layers, and not yet committed or discarded.
    pub(crate) fn holds_changes(&self) -> bool {
        matches!(self.progress.borrow().state, State::Layered(_))
    }

    /// Makes layers over what a run may write. Returns whether there is a new layer; then directories that were opened
    /// before show the machine's own files.
    ///
    /// # Errors
    ///
    /// A directory can have no layer.
    pub(crate) fn cover(&self, policy: &Policy, is_guest: bool) -> Result<bool, LayeredError> {
        match &mut self.progress.borrow_mut().state {
            State::Layered(layers) => layers.cover(policy, is_guest),
            State::Ended(_) => Ok(false),
        }
    }

    /// Notes what a run hides of what it may have written.
    pub(crate) fn hide(&self, secrets: &TaskSecrets, arguments: &Dict, policy: &Policy) {
        self.progress.borrow_mut().hidden.add_run(secrets, arguments, policy);
    }

    /// Notes a handler that waits for the commit. A preview commits nothing, so that it does not run.
    pub(crate) fn await_commit(&self, name: &str) {
        let withheld = self.effect == Effect::Preview;
        let effect = OutsideEffect { kind: OutsideKind::Handler, subject: name.to_owned(), withheld };
        self.progress.borrow_mut().outside.push(effect);
    }

    /// Commits the changes of a transaction before the play ends, for handlers that wait. Returns whether they may run.
    pub(crate) fn commit(&self) -> bool {
        self.choices.is_some()
            && self.end(true).unwrap_or_else(|failure| {
                self.progress.borrow_mut().failure = Some(failure);
                false
            })
    }

    /// Ends the layers of a play, once. Shows the changes, and commits them if the play is a transaction and succeeded.
    /// Returns whether the machine has the changes now.
    fn end(&self, succeeded: bool) -> Result<bool, Failure> {
        let mut progress = self.progress.borrow_mut();
        let discarded = State::Ended(Ended { commit: CommitState::Discarded, is_accepted: true });
        let State::Layered(layers) = std::mem::replace(&mut progress.state, discarded) else { return Ok(false) };
        let changes = layers.finish().or_internal()?;
        let mut report =
            changes.effect(self.effect, std::mem::take(&mut progress.outside), self.args.diff, &progress.hidden);
        let is_accepted = report.complete || self.args.layers.incomplete_ok;
        let audited = match self.choices.as_ref().filter(|_| succeeded) {
            Some(choices) => self.commit_changes((&changes, &progress.hidden), choices, &mut report, is_accepted)?,
            None => Ok(()),
        };
        let commit = report.commit.state;
        progress.state = State::Ended(Ended { commit, is_accepted });
        print(&report, self.args.output)?;
        audited?;
        Ok(matches!(commit, CommitState::Committed | CommitState::Nothing))
    }

    /// Commits the changes of a play, and audits that. Returns whether the end of the commit could be audited.
    ///
    /// # Errors
    ///
    /// The start of the commit cannot be audited. Then nothing is committed.
    fn commit_changes(
        &self,
        (changes, hidden): (&PlayChanges, &HiddenContent),
        choices: &CommitChoices,
        report: &mut EffectReport,
        is_accepted: bool,
    ) -> Result<Result<(), Failure>, Failure> {
        let path = self.args.files.first().map(|file| self.context.environment.absolute(file)).unwrap_or_default();
        let pending =
            self.audit.start_commit(self.context, AuditedCommit { command: "play", path: &path, agent: None })?;
        report.commit.reasons.clone_from(&report.incomplete);
        report.commit.state = CommitState::Refused;
        let commit = || changes.commit(&self.policy, choices, hidden);
        let committed = is_accepted.then(|| self.context.cleanup.hold(commit)).flatten();
        committed.into_iter().for_each(|commit| report.commit = commit);
        let status = exit_status(ExitStatus::Success, Ended { commit: report.commit.state, is_accepted });
        Ok(pending.finish(&CommitOutcome::from(&report.commit), status))
    }

    /// Ends the layers of a play if they are still there. Returns the exit status: that of the play, or one that tells that
    /// its changes were not committed.
    ///
    /// # Errors
    ///
    /// The changes cannot be known, and are discarded; or standard output cannot be written.
    pub(crate) fn conclude(&self, status: ExitStatus) -> Result<ExitStatus, Failure> {
        self.end(status == ExitStatus::Success)?;
        let mut progress = self.progress.borrow_mut();
        if let Some(failure) = progress.failure.take() {
            return Err(failure);
        }
        let State::Ended(ended) = progress.state else { return Ok(status) };
        Ok(exit_status(status, ended))
    }
}

/// Returns the exit status of a play, which tells also that its changes were not committed.
fn exit_status(status: ExitStatus, Ended { commit, is_accepted }: Ended) -> ExitStatus {
    match (status, commit) {
        (ExitStatus::Success, CommitState::Unfinished) => ExitStatus::Unfinished,
        (ExitStatus::Success, state) if state.is_failure() => ExitStatus::NotCommitted,
        (ExitStatus::Success, _) if !is_accepted => ExitStatus::NotCommitted,
        (status, _) => status,
    }
}

fn print(report: &EffectReport, format: PlayFormat) -> Result<(), Failure> {
    let mut text = String::new();
    push_effect(&mut text, report);
    match format {
        PlayFormat::Human => output::print_bytes(&output::coloured(&std::io::stdout(), &text)).or_internal(),
        PlayFormat::Jsonl => {
            let effect = to_value(report).map_err(anyhow::Error::new).or_internal()?;
            output::print_line(&encode(&[("event", Value::from("effect")), ("effect", effect)].into())).or_internal()
        }
        // The page is one document on standard output.
        PlayFormat::Html => {
            output::print_stderr(&text);
            Ok(())
        }
    }
}
