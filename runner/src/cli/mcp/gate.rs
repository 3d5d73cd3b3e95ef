//! The gate for runs that would change something. A preview without changes is answered; one with changes waits for a person.
//!
//! Nothing of the module's result is told before the person says yes: the result says that something was done, which is not
//! true yet.

use std::path::Path;
use std::time::Instant;

use modbox_agents::answer::{Answer, lists_whole};
use modbox_agents::own::{APPLY, UNDO};
use modbox_agents::question::{Asked, ProposedChange, Question};
use modbox_agents::wire::{Outcome, PendingQuestion};
use modbox_contract::Dict;
use modbox_policy::Confirm;
use modbox_run::{
    CommitState, Effect, EffectReport, Report, ShownChange, ShownContent, in_one_line, mask_live_secrets,
};

use crate::cli::exit::error_words;
use crate::cli::mcp::outcome;
use crate::cli::mcp::plans::{PlanRecord, PlannedAction, PlannedCall, Plans, future_ms};
use crate::cli::mcp::taken_back::TakenBack;
use crate::cli::mcp::tool_settings::{Unconfirmed, are_unconfirmed};
use crate::cli::mcp::wanted::WantedGrants;
use crate::cli::printing::output;

/// Name of the origin of what tools commit, for `modbox undo --origin`.
pub(crate) const ORIGIN: &str = "mcp";

/// The command that shows the runs of tools that can be taken back.
const SHOW_RUNS: &str = "modbox transactions --origin mcp --json";

/// Why a client cannot approve.
pub(super) const TOO_MUCH: &str = "nothing was changed: the changes are too many or too long to be shown whole to who approves them; call with \
                        less, or let the operator set `confirm: person`";

/// Why a person who decides by hand cannot decide.
const UNSEEN_BY_HAND: &str = "the module did not run: what it does on other machines cannot be shown to decide by hand";

/// A call whose run has ended.
pub(crate) struct EndedCall<'a> {
    /// The full name of the module.
    pub(crate) module: &'a str,
    /// The digest of the call.
    pub(crate) digest: String,
    pub(crate) arguments: &'a Dict,
    pub(crate) report: &'a Report,
    pub(crate) is_audited: bool,
    /// When the client is told, if it must not know how long the run took.
    pub(crate) evened_at: Instant,
    /// What the run was given that a person is asked for.
    pub(crate) wanted: &'a WantedGrants,
}

/// What decides about plans.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) plans: Plans,
    pub(crate) confirm: Confirm,
    /// Paths of which changes are made at once.
    pub(crate) unconfirmed: Vec<Unconfirmed>,
}

/// What a call leads to.
pub(crate) enum GateOutcome {
    /// An answer or a question.
    Told(Outcome),
    /// The plan is applied at once: this is its name.
    AtOnce(String),
}

impl Gate {
    /// Returns the answer of a call, or the question that comes before it.
    pub(crate) fn outcome(&self, call: &EndedCall<'_>) -> GateOutcome {
        let plain = || outcome::answer(call.module, call.report, call.is_audited, self.confirm == Confirm::Never);
        if !call.wanted.is_empty() {
            let outcome = Box::new(self.held(call, &plain()));
            return GateOutcome::Told(Outcome::Evened { outcome, at: call.evened_at });
        }
        let told = |answer: Answer| GateOutcome::Told(answer.into());
        let Some(effect) = call.report.effect.as_deref() else { return told(plain()) };
        if effect.mode == Effect::Transaction {
            return told(transacted(effect, plain()));
        }
        let Some(file) = effect.commit.file.as_deref().filter(|_| effect.commit.state == CommitState::Saved) else {
            return told(match effect.commit.state.is_failure() {
                true => not_saved(effect),
                false => plain(),
            });
        };
        let is_nothing = effect.changes.is_empty() && effect.cut == 0;
        if is_nothing || !call.is_audited {
            remove(Path::new(file));
            return told(plain());
        }
        self.planned(call, effect, Path::new(file), plain())
    }

    /// Returns the answer of a call whose plan is not decided about, if there is one.
    pub(crate) fn still_planned(&self, plan: &str, digest: &str) -> Option<Answer> {
        let (record, file) = self.plans.open(plan, digest)?;
        let (by_hand, show) = match &record.action {
            PlannedAction::Undo(run) => (undo_by_hand(run), SHOW_RUNS.to_owned()),
            PlannedAction::Apply if record.ask.is_none() => apply_by_hand(&file),
            PlannedAction::Apply | PlannedAction::Tell(_) => apply_by_hand(&self.plans.record_file(plan)),
            PlannedAction::Run(_) => return Some(self.waiting_run(plan, record.changes)),
        };
        let again = record.ask.is_some();
        Some(self.waiting(plan, record.told_lines(), (&by_hand, &show), again))
    }

    fn planned(&self, call: &EndedCall<'_>, effect: &EffectReport, file: &Path, plain: Answer) -> GateOutcome {
        let changes: Vec<String> = effect.changes.iter().map(line).collect();
        let paths = effect.changes.iter().flat_map(|change| [Some(&change.path), change.from.as_ref()]);
        let is_at_once = self.is_at_once(paths.flatten().map(Path::new), effect.cut > 0);
        if self.confirm == Confirm::Client && !is_at_once && (effect.cut > 0 || !lists_whole(&changes)) {
            remove(file);
            return GateOutcome::Told(Answer::refused("refused", vec![TOO_MUCH.to_owned()]).into());
        }
        let record = PlanRecord {
            call: call.digest.clone(),
            result: plain.to_json()["result"].clone(),
            status: plain.status,
            changes: changes.clone(),
            ..PlanRecord::now()
        };
        let plan = match self.plans.keep(file, record) {
            Ok(plan) => plan,
            Err(error) => {
                remove(file);
                return GateOutcome::Told(not_kept(&error).into());
            }
        };
        let (by_hand, show) = apply_by_hand(file);
        self.open_plan(OpenPlan {
            is_at_once,
            module: call.module,
            changes: effect.changes.iter().map(proposed).collect(),
            more: effect.cut,
            by_hand,
            show,
            plan,
        })
    }

    /// Returns the answer of a call that takes a run back, or the question that comes before it.
    pub(crate) fn undo(&self, run: &str, taken_back: Vec<TakenBack>, call: String) -> GateOutcome {
        let is_at_once = self.is_at_once(taken_back.iter().map(|one| one.path.as_path()), false);
        let changes: Vec<String> = taken_back.into_iter().map(|one| one.line).collect();
        if self.confirm == Confirm::Client && !is_at_once && !lists_whole(&changes) {
            return GateOutcome::Told(Answer::refused("refused", vec![TOO_MUCH.to_owned()]).into());
        }
        let record = PlanRecord {
            call,
            status: "changed".to_owned(),
            changes: changes.clone(),
            action: PlannedAction::Undo(run.to_owned()),
            ..PlanRecord::now()
        };
        let plan = match self.plans.keep_action(record) {
            Ok(plan) => plan,
            Err(error) => return GateOutcome::Told(not_kept(&error).into()),
        };
        let run = output::clean_line(run);
        let change = |line| ProposedChange { line, diff: None, hides_content: false };
        self.open_plan(OpenPlan {
            is_at_once,
            module: UNDO,
            changes: changes.into_iter().map(change).collect(),
            more: 0,
            by_hand: undo_by_hand(&run),
            show: SHOW_RUNS.to_owned(),
            plan,
        })
    }

    /// Returns the question before a run that cannot be shown, or how it is decided about.
    pub(crate) fn ask_to_run(
        &self,
        module: &str,
        planned: PlannedCall,
        lines: Vec<String>,
        (digest, evened_at): (String, Option<Instant>),
    ) -> Outcome {
        match self.confirm {
            Confirm::Client if !lists_whole(&lines) => {
                return Answer::refused("refused", vec![TOO_MUCH.to_owned()]).into();
            }
            Confirm::Hand => return Answer::refused("refused", vec![UNSEEN_BY_HAND.to_owned()]).into(),
            _ => {}
        }
        let action = PlannedAction::Run(planned);
        let told_ms = evened_at.map(future_ms);
        let record = PlanRecord { call: digest, told_ms, changes: lines.clone(), action, ..PlanRecord::now() };
        let plan = match self.plans.keep_action(record) {
            Ok(plan) => plan,
            Err(error) => return not_kept(&error).into(),
        };
        let unasked = self.waiting_run(&plan, lines.clone());
        if !matches!(self.confirm, Confirm::Person | Confirm::None) {
            return unasked.into();
        }
        let change = |line| ProposedChange { line, diff: None, hides_content: false };
        let changes = lines.into_iter().map(change).collect();
        let command = Some(apply_by_hand(&self.plans.record_file(&plan)).1);
        let question = Question { asked: Asked::Run, module: module.to_owned(), changes, more: 0, command };
        Outcome::Question(Box::new(PendingQuestion { plan, text: question.text(), unasked }))
    }

    /// Returns the answer of a call that is not run yet.
    fn waiting_run(&self, plan: &str, lines: Vec<String>) -> Answer {
        if self.confirm == Confirm::Client {
            let note =
                format!("the module did not run: `{APPLY}` with this plan and these lines runs it, within 15 minutes");
            let planned = Answer::refused("planned", vec![note]);
            return Answer { is_success: true, changes: lines, plan: Some(plan.to_owned()), ..planned };
        }
        let note = "the module did not run: a person must say yes before, since what it does on other machines cannot be shown, and has not";
        Answer::refused("refused", vec![note.to_owned()])
    }

    /// Asks about a plan, tells how it is decided about, or lets it be applied at once.
    fn open_plan(
        &self,
        OpenPlan { plan, is_at_once, module, changes, more, by_hand, show }: OpenPlan<'_>,
    ) -> GateOutcome {
        if is_at_once {
            return GateOutcome::AtOnce(plan);
        }
        let lines = changes.iter().map(|change| change.line.clone()).collect();
        let unasked = self.waiting(&plan, lines, (&by_hand, &show), false);
        if self.confirm != Confirm::Person {
            return GateOutcome::Told(unasked.into());
        }
        let (asked, command) = (Asked::Changes, Some(show));
        let question = Question { asked, module: module.to_owned(), changes, more, command };
        GateOutcome::Told(Outcome::Question(Box::new(PendingQuestion { plan, text: question.text(), unasked })))
    }

    /// Drops what the run of a cancelled call has saved.
    pub(crate) fn drop_saved(&self, report: &Report) {
        let commit = report.effect.as_deref().map(|effect| &effect.commit);
        if let Some(file) =
            commit.filter(|commit| commit.state == CommitState::Saved).and_then(|commit| commit.file.as_deref())
        {
            remove(Path::new(file));
        }
    }

    /// Returns whether changes of these paths need no confirmation. Of a change that is not listed, no path is known.
    fn is_at_once<'a>(&self, paths: impl Iterator<Item = &'a Path>, is_cut: bool) -> bool {
        self.confirm == Confirm::None || (!is_cut && are_unconfirmed(&self.unconfirmed, paths))
    }

    /// Returns the answer of a call whose changes are not made yet. `again` tells that the same call gets what it waits for.
    pub(super) fn waiting(
        &self,
        plan: &str,
        changes: Vec<String>,
        (by_hand, show): (&str, &str),
        again: bool,
    ) -> Answer {
        let again = if again { "; then the same call gets its answer" } else { "" };
        let note = match self.confirm {
            Confirm::Client => {
                format!("nothing was changed: `{APPLY}` with this plan and these changes makes them, within 15 minutes")
            }
            _ => format!(
                "nothing was changed: a person decides within 15 minutes by `{by_hand}`, and `{show}` shows all of it{again}"
            ),
        };
        Answer { is_success: true, changes, plan: Some(plan.to_owned()), ..Answer::refused("planned", vec![note]) }
    }
}

/// A plan that was kept.
struct OpenPlan<'a> {
    plan: String,
    /// Whether it needs no confirmation.
    is_at_once: bool,
    /// The module or tool that would make the changes.
    module: &'a str,
    changes: Vec<ProposedChange>,
    /// Number of changes that are not among them.
    more: u64,
    /// The command by which a person makes the changes.
    by_hand: String,
    /// The command that shows all of them.
    show: String,
}

/// Returns the commands by which a person decides about a plan: that which says yes, and that which shows all of it.
pub(super) fn apply_by_hand(file: &Path) -> (String, String) {
    let shown = shown_path(file);
    (format!("modbox apply {shown}"), format!("modbox apply --show {shown}"))
}

fn undo_by_hand(run: &str) -> String {
    format!("modbox undo --origin {ORIGIN} {run}")
}

fn not_kept(error: &anyhow::Error) -> Answer {
    Answer::refused("failed", vec![format!("failed to keep the plan: {}", error_words(error))])
}

fn shown_path(file: &Path) -> String {
    output::clean_line(&file.display().to_string())
}

pub(super) fn line(change: &ShownChange) -> String {
    mask_live_secrets(&in_one_line(change))
}

/// Returns a change as a question has it.
fn proposed(change: &ShownChange) -> ProposedChange {
    ProposedChange {
        line: line(change),
        diff: change.diff.as_deref().map(mask_live_secrets),
        hides_content: change.content.is_some_and(|content| content != ShownContent::Text),
    }
}

/// Returns the answer of a call that was run without a preview.
fn transacted(effect: &EffectReport, plain: Answer) -> Answer {
    let commit = &effect.commit;
    if !commit.state.is_failure() {
        if commit.state != CommitState::Committed {
            return plain;
        }
        let changes = effect.changes.iter().map(line).collect();
        let more = (effect.cut > 0).then(|| format!("{} more changes are not listed", effect.cut));
        let notes = plain.notes.iter().cloned().chain(more).collect();
        return Answer { changes, run: commit.run.clone(), notes, ..plain };
    }
    let (status, files) = match commit.state {
        CommitState::Conflict => {
            ("conflict", "no file was changed, since another process has changed one of them meanwhile")
        }
        CommitState::Unfinished => {
            ("unfinished", "a part of the files was changed; the operator must run `modbox recover`")
        }
        _ => ("refused", "no file was changed, because a commit is not possible"),
    };
    let reasons = commit.reasons.iter().map(|one| format!("`{}`: {}", one.path, one.why));
    let mut notes = vec![format!("{files}; what the module did on other machines stays")];
    notes.extend(reasons.map(|reason| mask_live_secrets(&output::clean_line(&reason))));
    Answer { run: commit.run.clone(), ..Answer::refused(status, notes) }
}

/// Returns the answer of a call whose changes cannot be saved.
fn not_saved(effect: &EffectReport) -> Answer {
    let reasons = effect.commit.reasons.iter().map(|one| format!("`{}`: {}", one.path, one.why));
    let mut notes = vec!["nothing was changed: a person could not be shown all that the call does".to_owned()];
    notes.extend(reasons.map(|reason| mask_live_secrets(&output::clean_line(&reason))));
    Answer::refused("refused", notes)
}

pub(super) fn remove(file: &Path) {
    if let Err(error) = std::fs::remove_file(file) {
        output::print_note(&format!("failed to remove `{}`: {error}", file.display()));
    }
}
