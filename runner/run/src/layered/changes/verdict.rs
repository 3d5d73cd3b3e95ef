//! Puts what was observed into the report of a run on layers: the status, the result, and the part about layers.
//!
//! This file executes nothing and compares no trees.

use modbox_vocabulary::quoting;

use crate::layered::changes::ansible_diff;
use crate::layered::changes::claim;
use crate::layered::changes::shown_changes::ShownChanges;
use crate::reports::parts::effect_report::{
    CheckReport, Claim, CommitReport, CommitState, Effect, EffectReport, OutsideEffect, Remark,
};
use crate::reports::report::{ADVICE_PREFIX, Report, Status};

/// Maximum number of reasons in a message; the report has all of them.
const MAX_REASONS: usize = 4;

/// Returns the part of a report about a run whose changes are known. `check` is what the module's own check mode did.
pub(crate) fn effect(
    mode: Effect,
    report: &Report,
    shown: ShownChanges,
    outside: Vec<OutsideEffect>,
    check: Option<CheckObserved>,
) -> EffectReport {
    let ShownChanges { totals, changes, cut, links, incomplete } = shown;
    let claimed = claimed(report);
    let is_withheld = outside.iter().any(|effect| effect.withheld);
    let mut incomplete = incomplete;
    // The module may have failed for what it was not given.
    if is_withheld && !report.status.is_success() {
        incomplete.extend(outside.iter().filter(|effect| effect.withheld).map(withheld));
    }
    let may_be_hidden = !outside.is_empty() || !incomplete.is_empty();
    let changed = totals.changed() > 0;
    EffectReport {
        mode,
        changed,
        claimed,
        claim: claimed.map(|claimed| claim::compare(claimed, &totals, may_be_hidden)),
        check: check.map(|check| CheckReport {
            claimed: check.claimed,
            wrote: check.wrote,
            agrees: check.claimed == Some(changed) && !check.wrote,
        }),
        complete: incomplete.is_empty(),
        incomplete,
        totals,
        changes,
        cut,
        links,
        outside,
        commit: CommitReport::of(CommitState::Discarded),
    }
}

/// What a module did in its own check mode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckObserved {
    /// Whether it said that something would change; `None` if it skipped or failed.
    pub(crate) claimed: Option<bool>,
    /// Whether it changed something.
    pub(crate) wrote: bool,
}

/// Returns what a module says of its changes: nothing if it was skipped, failed or gave no result.
pub(crate) fn claimed(report: &Report) -> Option<bool> {
    match report.status {
        Status::Ok => Some(false),
        Status::Changed => Some(true),
        Status::Skipped => report.result.changed().then_some(true).or(Some(false)),
        _ => None,
    }
}

fn withheld(effect: &OutsideEffect) -> Remark {
    let option = format!("--allow-{} {}", effect.kind, quoting::quote(&effect.subject));
    Remark { path: effect.subject.clone(), why: format!("the preview withheld `{option}`; `--preview-net` gives it") }
}

/// Puts an observed effect into a report: the status says what was observed, and the result too, unless it is kept.
pub(crate) fn apply(report: &mut Report, effect: EffectReport, keeps_result: bool) {
    if report.status.is_success() && !keeps_result {
        let is_skipped = report.status == Status::Skipped && !effect.changed;
        report.status = match effect.changed {
            true => Status::Changed,
            false if is_skipped => Status::Skipped,
            false => Status::Ok,
        };
        report.result.set_observed(effect.changed, &ansible_diff::of(&effect.changes));
        warnings(&effect).iter().for_each(|warning| report.result.warn(&format!("{ADVICE_PREFIX}{warning}")));
    }
    if effect.commit.state.is_failure() {
        report.status = Status::Failed;
        report.result.fail(&not_committed(effect.mode, &effect.commit));
    }
    report.effect = Some(Box::new(effect));
}

fn warnings(effect: &EffectReport) -> Vec<String> {
    let mut warnings: Vec<String> = effect.claim.and_then(claim::warning).map(str::to_owned).into_iter().collect();
    if effect.claim == Some(Claim::Unobservable) {
        warnings.push("the module says that it changed something, in a place that a preview does not see".to_owned());
    }
    if let Some(check) = &effect.check {
        if check.wrote {
            warnings.push("the module changes files in its own check mode".to_owned());
        } else if !check.agrees {
            warnings.push("the module's own check mode does not say what a real run does".to_owned());
        }
    }
    if effect.mode == Effect::Preview && !effect.incomplete.is_empty() {
        let shown = reasons(&effect.incomplete);
        warnings.push(format!("the preview is incomplete: {shown}"));
    }
    if effect.mode == Effect::Preview
        && effect.commit.state == CommitState::Discarded
        && !effect.commit.reasons.is_empty()
    {
        let shown = reasons(&effect.commit.reasons);
        warnings.push(format!("a transaction would not make these changes: {shown}"));
    }
    warnings
}

fn not_committed(mode: Effect, commit: &CommitReport) -> String {
    let reasons = reasons(&commit.reasons);
    match commit.state {
        _ if mode == Effect::Preview => format!("nothing was changed, and the changes are not saved: {reasons}"),
        CommitState::Unfinished => format!("the changes are committed in part: {reasons}"),
        CommitState::Conflict => format!("nothing was changed, because of other processes: {reasons}; run it again"),
        _ => format!("nothing was changed, because a commit is not possible: {reasons}"),
    }
}

fn reasons(remarks: &[Remark]) -> String {
    let shown = remarks.iter().take(MAX_REASONS).map(|remark| format!("`{}`: {}", remark.path, remark.why));
    let more = remarks.len().saturating_sub(MAX_REASONS);
    let more = (more > 0).then(|| format!("and {more} more, which the report lists"));
    shown.chain(more).collect::<Vec<_>>().join("; ")
}
