//! The gate for runs that would change something. A preview without changes is answered; one with changes waits for a person.
//!
//! Nothing of the module's result is told before the person says yes: the result says that something was done, which is not
//! true yet.

use std::path::Path;

use modbox_agents::answer::{Answer, lists_whole};
use modbox_agents::own::APPLY;
use modbox_agents::question::{ProposedChange, Question};
use modbox_agents::wire::{Outcome, PendingQuestion};
use modbox_policy::Confirm;
use modbox_run::{CommitState, EffectReport, Report, ShownChange, ShownContent, in_one_line, mask_live_secrets};

use crate::cli::exit::error_words;
use crate::cli::mcp::outcome;
use crate::cli::mcp::plans::{PlanRecord, Plans, now_ms};
use crate::cli::mcp::tool_settings::{Unconfirmed, are_unconfirmed};
use crate::cli::printing::output;

/// A call whose run has ended.
pub(crate) struct EndedCall<'a> {
    /// The full name of the module.
    pub(crate) module: &'a str,
    /// The digest of the call.
    pub(crate) digest: String,
    pub(crate) report: &'a Report,
    pub(crate) is_audited: bool,
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
        let told = |answer: Answer| GateOutcome::Told(answer.into());
        let Some(effect) = call.report.effect.as_deref() else { return told(plain()) };
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
        Some(self.waiting(&file, plan, record.changes))
    }

    fn planned(&self, call: &EndedCall<'_>, effect: &EffectReport, file: &Path, plain: Answer) -> GateOutcome {
        let changes: Vec<String> = effect.changes.iter().map(line).collect();
        let is_at_once = self.is_at_once(effect);
        if self.confirm == Confirm::Client && !is_at_once && (effect.cut > 0 || !lists_whole(&changes)) {
            remove(file);
            let reason = "nothing was changed: the changes are too many or too long to be shown whole to who approves them; call with \
                          less, or let the operator set `confirm: person`";
            return GateOutcome::Told(Answer::refused("refused", vec![reason.to_owned()]).into());
        }
        let record = PlanRecord {
            call: call.digest.clone(),
            policy: String::new(),
            asked_ms: now_ms(),
            result: plain.to_json()["result"].clone(),
            status: plain.status,
            changes: changes.clone(),
        };
        let plan = match self.plans.keep(file, record) {
            Ok(plan) => plan,
            Err(error) => {
                remove(file);
                let reason = format!("failed to keep the plan: {}", error_words(&error));
                return GateOutcome::Told(Answer::refused("failed", vec![reason]).into());
            }
        };
        if is_at_once {
            return GateOutcome::AtOnce(plan);
        }
        let unasked = self.waiting(file, &plan, changes);
        if self.confirm != Confirm::Person {
            return GateOutcome::Told(unasked.into());
        }
        let question = Question {
            module: call.module.to_owned(),
            changes: effect.changes.iter().map(proposed).collect(),
            more: effect.cut,
            command: format!("modbox apply --show {}", output::clean_line(&file.display().to_string())),
        };
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

    /// Returns whether changes need no confirmation.
    fn is_at_once(&self, effect: &EffectReport) -> bool {
        let paths = effect.changes.iter().flat_map(|change| [Some(&change.path), change.from.as_ref()]);
        let paths = paths.flatten().map(Path::new);
        // Of a change that is not listed, no path is known.
        self.confirm == Confirm::None || (effect.cut == 0 && are_unconfirmed(&self.unconfirmed, paths))
    }

    /// Returns the answer of a call whose changes are not made yet.
    fn waiting(&self, file: &Path, plan: &str, changes: Vec<String>) -> Answer {
        let shown = output::clean_line(&file.display().to_string());
        let note = match self.confirm {
            Confirm::Client => {
                format!("nothing was changed: `{APPLY}` with this plan and these changes makes them, within 15 minutes")
            }
            _ => format!(
                "nothing was changed: a person decides within 15 minutes by `modbox apply {shown}`, and `modbox apply --show {shown}` \
                 shows all of it"
            ),
        };
        Answer { is_success: true, changes, plan: Some(plan.to_owned()), ..Answer::refused("planned", vec![note]) }
    }
}

/// Returns a change in a line.
fn line(change: &ShownChange) -> String {
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

/// Returns the answer of a call whose changes cannot be saved.
fn not_saved(effect: &EffectReport) -> Answer {
    let reasons = effect.commit.reasons.iter().map(|one| format!("`{}`: {}", one.path, one.why));
    let mut notes = vec!["nothing was changed: a person could not be shown all that the call does".to_owned()];
    notes.extend(reasons.map(|reason| mask_live_secrets(&output::clean_line(&reason))));
    Answer::refused("refused", notes)
}

fn remove(file: &Path) {
    if let Err(error) = std::fs::remove_file(file) {
        output::print_note(&format!("failed to remove `{}`: {error}", file.display()));
    }
}
