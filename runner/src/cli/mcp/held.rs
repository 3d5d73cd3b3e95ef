//! The gate for runs that were given what a person is asked for: their answer is kept until the person has decided.
//!
//! Nothing that comes from such a run reaches the client before: neither what it read, nor a name that it chose, nor why it failed, nor
//! how long it took. What it has changed stands in the question to the person, and in no answer: whether a file was changed can tell
//! what is in it.

use std::path::Path;

use modbox_agents::answer::{Answer, RefusedUse, lists_whole};
use modbox_agents::question::{Asked, ProposedChange, Question};
use modbox_agents::wire::{Outcome, PendingQuestion};
use modbox_policy::Confirm;
use modbox_run::{CommitState, ShownChange, mask_live_secrets};

use crate::cli::mcp::gate::{EndedCall, Gate, TOO_MUCH, apply_by_hand, line, remove};
use crate::cli::mcp::plans::{KeptAsk, KeptDenial, PlanRecord, future_ms};
use crate::cli::mcp::wanted::name_path;

/// The line of what an answer does not tell before the yes.
const UNTOLD: &str = "what it reads, changes and asks for besides is told after the yes";

/// Why a call that was given what a person is asked for is refused. No word of these comes from its run.
const UNAUDITED: &str = "nothing was changed, and the run is missing in an audit file; tell the operator";

/// The same, for changes that cannot be saved; told after the yes.
const NOT_SHOWN: &str = "nothing was changed: a person could not be shown all that the call does";

/// The same, for a plan that cannot be kept.
const NOT_KEPT: &str = "nothing was changed: failed to keep the plan; too many calls may wait for a person already";

impl Gate {
    /// Returns the question about a run that was given what a person is asked for, or how it is decided about. Nothing that comes from the
    /// run is in it: neither what it read, nor a name that it chose, nor why it failed.
    pub(super) fn held(&self, call: &EndedCall<'_>, plain: &Answer) -> Outcome {
        let EndedCall { report, wanted, .. } = call;
        let effect = report.effect.as_deref();
        let saved = effect.filter(|effect| effect.commit.state == CommitState::Saved);
        let file = saved.and_then(|effect| effect.commit.file.as_deref()).map(Path::new);
        let refused = |why: &str| {
            file.into_iter().for_each(remove);
            Outcome::from(Answer::refused("refused", vec![why.to_owned()]))
        };
        if !call.is_audited {
            return refused(UNAUDITED);
        }
        let changes = saved.map_or(&[][..], |effect| &effect.changes);
        let named: Vec<String> = changes.iter().filter(|change| is_named(call, change)).map(named_line).collect();
        let hides = named.len() < changes.len() || saved.is_some_and(|effect| effect.cut > 0);
        let lines: Vec<String> = wanted.lines().iter().map(|line| mask_live_secrets(line)).collect();
        let named_grants = wanted.named_lines().into_iter().map(|line| mask_live_secrets(&line));
        let told: Vec<String> = named_grants.chain([UNTOLD.to_owned()]).collect();
        if self.confirm == Confirm::Client && !lists_whole(&told) {
            return refused(TOO_MUCH);
        }
        // Why there is nothing to say yes to is told after it, too.
        let is_lost = effect.is_some_and(|effect| effect.commit.state.is_failure());
        let plain = if is_lost { &Answer::refused("refused", vec![NOT_SHOWN.to_owned()]) } else { plain };
        let ask = KeptAsk {
            wanted: lines.clone(),
            told: told.clone(),
            is_failure: !plain.is_success,
            denials: plain.denials.iter().map(kept_denial).collect(),
            notes: plain.notes.clone(),
            run: None,
        };
        let record = PlanRecord {
            call: call.digest.clone(),
            told_ms: Some(future_ms(call.evened_at)),
            result: plain.to_json()["result"].clone(),
            status: plain.status.clone(),
            changes: changes.iter().map(line).collect(),
            ask: Some(ask),
            ..PlanRecord::now()
        };
        let Ok(plan) = self.plans.keep_held(file, record) else { return refused(NOT_KEPT) };
        // The name of the saved preview would tell that the run did not fail.
        let (by_hand, show) = apply_by_hand(&self.plans.record_file(&plan));
        let unasked = self.waiting(&plan, told, (&by_hand, &show), true);
        if !matches!(self.confirm, Confirm::Person | Confirm::None) {
            return unasked.into();
        }
        let change = |line| ProposedChange { line, diff: None, hides_content: false };
        let question = Question {
            asked: Asked::Grants { wanted: lines, hides },
            module: call.module.to_owned(),
            changes: named.into_iter().map(change).collect(),
            more: 0,
            command: Some(show),
        };
        Outcome::Question(Box::new(PendingQuestion { plan, text: question.text(), unasked }))
    }
}

/// Returns whether a change is of a path that was named before anything was read that the module is not granted.
fn is_named(call: &EndedCall<'_>, change: &ShownChange) -> bool {
    let path = Path::new(&change.path);
    change.from.is_none() && (call.wanted.names(path) || name_path(call.arguments, path))
}

/// Returns such a change without what would tell something of the content.
fn named_line(change: &ShownChange) -> String {
    mask_live_secrets(&format!("{} {}", change.kind, change.path))
}

fn kept_denial(RefusedUse { capability, subject, key }: &RefusedUse) -> KeptDenial {
    KeptDenial { capability: capability.clone(), subject: subject.clone(), key: key.clone() }
}
