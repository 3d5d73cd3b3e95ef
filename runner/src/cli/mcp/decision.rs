//! Does what a person has decided about a plan: makes the changes, all or none, or drops them.

use std::path::PathBuf;

use modbox_agents::answer::{Answer, RefusedUse};
use modbox_agents::wire::Decision;
use modbox_contract::{Dict, Value, decode};
use modbox_overlay::commit::{Origin, StateDir, Strength};
use modbox_run::audit::{AgentCall, AgentDecision, AuditedCommit, CommitOutcome};
use modbox_run::{AppliedChanges, CommitChoices, CommitState, Remark, apply_saved, mask_live_secrets, remember_hidden};
use modbox_scratch::ScratchRoot;

use crate::cli::audit::{Audit, failed_commit};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::kept_run;
use crate::cli::mcp::plans::{ClaimedPlan, KeptDenial, PlanRecord, PlannedAction};
use crate::cli::mcp::taken_back;
use crate::cli::printing::output;
use crate::cli::saved_file;

/// What decisions are done with.
pub(crate) struct Decisions<'a> {
    pub(crate) context: &'a Context,
    pub(crate) audit: Audit,
    /// The folder of transactions.
    pub(crate) state: PathBuf,
    /// Whose the commits are.
    pub(crate) origin: Origin,
}

impl Decisions<'_> {
    /// Applies or drops a plan, and returns the answer of its call. A call that was planned itself is not run here: if its answer is a
    /// success, it may be.
    pub(crate) fn follow(&self, plan: &ClaimedPlan, decision: Decision, by: &str, call: &AgentCall) -> Answer {
        let answer = match self.audited(plan, decision, by, call) {
            Ok(answer) => answer,
            Err(failure) => Answer::refused("failed", vec![output::clean_line(&error_words(&failure.error))]),
        };
        plan.remove();
        answer
    }

    /// Does so with a line of the audit log.
    fn audited(&self, plan: &ClaimedPlan, decision: Decision, by: &str, call: &AgentCall) -> Result<Answer, Failure> {
        let decided = AgentDecision { call, by, decision: decision.as_str(), after_ms: plan.record.after_ms() };
        let path = match &plan.record.action {
            PlannedAction::Apply => plan.file.clone(),
            PlannedAction::Undo(run) => self.state.join(run),
            PlannedAction::Run(_) | PlannedAction::Tell(_) => plan.record_file(),
        };
        let commit = AuditedCommit { command: "mcp", path: &path, agent: Some(decided) };
        let pending = self.audit.start_commit(self.context, commit)?;
        if decision != Decision::Apply {
            let outcome = CommitOutcome { state: "discarded", run: None, changed: Some(false), error: None };
            pending.finish(&outcome, ExitStatus::Success)?;
            return Ok(Answer::refused("discarded", vec!["a person said no; nothing was changed".to_owned()]));
        }
        let made = match &plan.record.action {
            PlannedAction::Apply => self.apply(plan).map(|applied| made(plan, &applied)),
            PlannedAction::Undo(run) => self.undo(plan, run),
            PlannedAction::Run(_) => Ok(approved()),
            PlannedAction::Tell(_) => Ok(Made { answer: yes(&plan.record, None, Vec::new()), ..approved() }),
        };
        let (outcome, status) = match &made {
            Ok(Made { outcome, status, .. }) => (outcome.clone(), *status),
            Err(failure) => (failed_commit(failure), failure.status),
        };
        let audited = pending.finish(&outcome, status);
        let answer = made?.answer;
        audited?;
        Ok(answer)
    }

    fn undo(&self, plan: &ClaimedPlan, run: &str) -> Result<Made, Failure> {
        let undo = || kept_run::undo(&StateDir::open(&self.state)?, run, |of| *of == self.origin);
        let undone = self.context.cleanup.hold(undo);
        let undone = undone.ok_or_else(ending).or_internal()?.map_err(anyhow::Error::from).or_internal()?;
        Ok(Made {
            outcome: kept_run::outcome(&undone, run),
            status: kept_run::exit_status(&undone),
            answer: taken_back::answer(&plan.record, &undone),
        })
    }

    fn apply(&self, plan: &ClaimedPlan) -> Result<AppliedChanges, Failure> {
        let saved = saved_file::read(&plan.file).or_unavailable()?;
        remember_hidden(saved.hidden());
        let context = self.context;
        let scratch = ScratchRoot::new(&context.environment.temp_dir, context.cleanup.clone());
        let choices = CommitChoices {
            state: self.state.clone(),
            strength: Strength::Process,
            keeps_undo: true,
            origin: self.origin.clone(),
        };
        let applied = context.cleanup.hold(|| apply_saved(&saved, &scratch, &choices));
        applied.ok_or_else(ending).or_internal()?.or_internal()
    }
}

/// What was made of a plan.
struct Made {
    outcome: CommitOutcome,
    status: ExitStatus,
    answer: Answer,
}

fn made(plan: &ClaimedPlan, applied: &AppliedChanges) -> Made {
    let state = applied.commit.state;
    let status = match state {
        CommitState::Unfinished => ExitStatus::Unfinished,
        state if state.is_failure() => ExitStatus::NotCommitted,
        _ => ExitStatus::Success,
    };
    Made { outcome: CommitOutcome::from(&applied.commit), status, answer: answer(plan, applied) }
}

/// Returns what was made of the plan of a run: it follows, and has an audit line of its own.
fn approved() -> Made {
    let outcome = CommitOutcome { state: "approved", run: None, changed: None, error: None };
    let answer = Answer { is_success: true, ..Answer::refused("ok", Vec::new()) };
    Made { outcome, status: ExitStatus::Success, answer }
}

fn ending() -> anyhow::Error {
    anyhow::anyhow!("modbox is ending; nothing was changed")
}

fn answer(plan: &ClaimedPlan, AppliedChanges { commit, notes }: &AppliedChanges) -> Answer {
    let reasons = commit.reasons.iter().map(|Remark { path, why }| format!("`{path}`: {why}"));
    let mut told: Vec<String> = reasons.chain(notes.iter().cloned()).collect();
    let status = match commit.state {
        CommitState::Committed | CommitState::Nothing => {
            return yes(&plan.record, commit.run.clone(), told);
        }
        CommitState::Conflict => {
            told.insert(
                0,
                "nothing was changed, since a file was changed after the person was asked; call again".to_owned(),
            );
            "conflict"
        }
        CommitState::Unfinished => {
            told.insert(0, "a part was changed; the operator must run `modbox recover`".to_owned());
            "unfinished"
        }
        _ => {
            told.insert(0, "nothing was changed, because a commit is not possible".to_owned());
            "refused"
        }
    };
    let told = told.iter().map(|note| mask_live_secrets(&output::clean_line(note)));
    Answer { run: commit.run.clone(), ..Answer::refused(status, told.collect()) }
}

/// Returns the answer of a call to which a person has said yes.
fn yes(record: &PlanRecord, run: Option<String>, mut notes: Vec<String>) -> Answer {
    let ask = record.ask.clone().unwrap_or_default();
    notes.extend(ask.notes);
    let denial = |KeptDenial { capability, subject, key }| RefusedUse { capability, subject, key };
    Answer {
        status: record.status.clone(),
        is_success: !ask.is_failure,
        result: entries(&record.result),
        changes: record.changes.clone(),
        run,
        denials: ask.denials.into_iter().map(denial).collect(),
        notes,
        ..Answer::refused("", Vec::new())
    }
}

/// Returns the answer of a call to which a person has said yes by hand.
pub(crate) fn given(record: &PlanRecord) -> Answer {
    let run = record.ask.as_ref().and_then(|ask| ask.run.clone());
    yes(record, run, vec!["a person has said yes by hand".to_owned()])
}

/// Returns the entries of a result that was kept as JSON.
fn entries(result: &serde_json::Value) -> Dict {
    match decode(&result.to_string()) {
        Ok(Value::Dict(entries)) => entries,
        _ => Dict::new(),
    }
}
