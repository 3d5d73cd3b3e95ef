//! Commits what a successful run has changed, all or nothing.
//!
//! The rules of a commit are in the crate of layers. This file calls it, and puts its result into words.

use std::error::Error;
use std::os::unix::ffi::OsStrExt as _;

use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::{
    self, CommitError, Committed, Conflict, Direction, Granted, Origin, OwnerRights, Owners, Recovered, Recovery,
    Refusal, Settings, StateDir, Transaction,
};
use modbox_policy::Policy;
use modbox_vocabulary::error_chain;

use crate::layered::changes::hidden_content::HiddenContent;
use crate::layered::execution::ObservedLayers;
use crate::layered::known_owners::known_owners;
use crate::layered::layered_run::CommitChoices;
use crate::reports::parts::effect_report::{CommitReport, CommitState, Remark};

/// Number of transactions of one origin that are kept for `modbox undo`.
const MAX_KEPT: usize = 20;

/// Brings interrupted transactions to an end, before a module sees their files. Returns notes for the report.
///
/// # Errors
///
/// The directory of transactions cannot be used.
pub(crate) fn recover(choices: &CommitChoices) -> Result<Vec<String>, CommitError> {
    let recovered = commit::recover(&StateDir::open(&choices.state)?, &NoFault)?;
    let note = |Recovered { run, result, .. }: Recovered| match result {
        Ok(Recovery::Forward) => format!("the interrupted transaction `{run}` is finished"),
        Ok(Recovery::Back) => format!("the interrupted transaction `{run}` is taken back"),
        Ok(Recovery::Stopped { .. }) | Err(_) => {
            format!("the interrupted transaction `{run}` cannot be finished; `modbox recover` says why")
        }
    };
    Ok(recovered.into_iter().map(note).collect())
}

/// Removes the oldest kept transactions of this origin, so that only its newest ones can be undone. Those of others stay.
fn prune(choices: &CommitChoices) -> Result<(), CommitError> {
    let state = StateDir::open(&choices.state)?;
    let found = commit::list(&state)?;
    let is_own = |origin: &Origin| *origin == choices.origin;
    let is_kept =
        |one: &&Transaction| matches!(&one.record, Ok((Direction::Keep, Some(journal))) if is_own(&journal.origin));
    let kept: Vec<_> = found.iter().filter(is_kept).collect();
    let old = kept.len().saturating_sub(MAX_KEPT);
    // One that cannot be removed keeps no other one.
    for one in kept.iter().take(old) {
        if let Err(error) = commit::prune(&state, &one.run, is_own, &NoFault) {
            tracing::warn!(error = error_chain(&error), run = one.run, "failed to remove a transaction");
        }
    }
    Ok(())
}

/// Commits the changes of all layers. Nothing of `hidden` is in the report.
pub(crate) fn commit(
    observed: &ObservedLayers,
    policy: &Policy,
    choices: &CommitChoices,
    hidden: &HiddenContent,
) -> CommitReport {
    masked(report(try_commit(observed, policy, choices, hidden), choices), hidden)
}

/// Returns a report without what a run hides.
pub(crate) fn masked(mut report: CommitReport, hidden: &HiddenContent) -> CommitReport {
    report.reasons = report.reasons.into_iter().map(|remark| hidden.remark(remark)).collect();
    report
}

/// Returns the result of a commit in words. Removes the oldest kept transactions if another one is kept.
pub(crate) fn report(committed: Result<Committed, impl Error + 'static>, choices: &CommitChoices) -> CommitReport {
    match committed {
        Ok(Committed::Nothing) => CommitReport::of(CommitState::Nothing),
        Ok(Committed::Done { run, undo }) => {
            if let Err(error) = if undo { prune(choices) } else { Ok(()) } {
                tracing::warn!(%error, "failed to remove the oldest transactions");
            }
            CommitReport { run: Some(run), undo, ..CommitReport::of(CommitState::Committed) }
        }
        Ok(Committed::Conflict(conflicts)) => with_reasons(CommitState::Conflict, conflicts.iter().map(conflict)),
        Ok(Committed::Refused(refusals)) => with_reasons(CommitState::Refused, refusals.iter().map(refusal)),
        Ok(Committed::Unfinished(record)) => {
            let path = record.display().to_string();
            let why = "a part of the changes is published; `modbox recover` goes on or takes them back".to_owned();
            let run = record.file_name().map(|name| name.to_string_lossy().into_owned());
            CommitReport { run, ..with_reasons(CommitState::Unfinished, [Remark { path, why }].into_iter()) }
        }
        Err(error) => {
            let path = choices.state.display().to_string();
            with_reasons(CommitState::Failed, [Remark { path, why: error_chain(&error) }].into_iter())
        }
    }
}

fn try_commit(
    observed: &ObservedLayers,
    policy: &Policy,
    choices: &CommitChoices,
    hidden: &HiddenContent,
) -> Result<Committed, CommitError> {
    let (owners, hidden) = (owners(policy, observed), hidden_names(observed, hidden));
    with_settings(choices, &owners, &hidden, |settings| commit::commit(&grants(observed), settings))
}

/// Returns the secrets in names of what was observed, and in targets of links and names of attributes.
pub(crate) fn hidden_names(observed: &ObservedLayers, hidden: &HiddenContent) -> Vec<String> {
    let layers = observed.layers.iter().zip(&observed.lists);
    let paths = layers.flat_map(|(layer, list)| list.changes.iter().map(|change| layer.path().join(&change.path)));
    let mut found = hidden.secrets_in_names(paths);
    for (layer, list) in observed.layers.iter().zip(&observed.lists) {
        for change in &list.changes {
            let path = change.path_below(layer.path());
            for entry in [&change.before, &change.after].into_iter().flatten() {
                let targets = entry.target.iter().map(|target| target.as_os_str().as_bytes());
                let names = targets.chain(entry.xattrs.keys().map(String::as_bytes));
                names.for_each(|name| found.extend(hidden.secrets_in_target(&path, name)));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Calls `action` with the settings of a commit. `hidden` are secrets in names.
pub(crate) fn with_settings<T, E: From<CommitError>>(
    choices: &CommitChoices,
    owners: &Owners<'_>,
    hidden: &[String],
    action: impl FnOnce(Settings<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let state = StateDir::open(&choices.state)?;
    let (strength, keep_undo) = (choices.strength, choices.keeps_undo);
    action(Settings { owners, strength, keep_undo, origin: &choices.origin, hidden, state: &state, fault: &NoFault })
}

/// Returns which owners a run may give: those that are granted, and those that files there had before; and which set-id bits.
/// The sandbox has checked each change by the same rule. A new file has the user of the run, and the group that its directory gives.
pub(crate) fn owners(policy: &Policy, observed: &ObservedLayers) -> impl Fn(u32, u32) -> OwnerRights {
    let own = policy.user().map_or_else(|| rustix::process::geteuid().as_raw(), |user| user.uid);
    let granted = policy.owners();
    let known = known_owners(observed);
    move |uid, gid| OwnerRights {
        may_own: uid == own || known.or_granted(&granted, Some(uid), Some(gid)),
        set_id: granted.set_id_bits(uid, gid),
    }
}

/// Returns the parts of a commit of what was observed.
pub(crate) fn grants(observed: &ObservedLayers) -> Vec<Granted<'_>> {
    let layers = observed.layers.iter().zip(&observed.lists);
    layers.map(|(layer, list)| layer.granted(list.changes.clone(), observed.start)).collect()
}

pub(crate) fn with_reasons(state: CommitState, reasons: impl Iterator<Item = Remark>) -> CommitReport {
    CommitReport { reasons: reasons.collect(), ..CommitReport::of(state) }
}

fn conflict(conflict: &Conflict) -> Remark {
    Remark { path: conflict.path.display().to_string(), why: conflict.why.to_string() }
}

pub(crate) fn refusal(refusal: &Refusal) -> Remark {
    Remark { path: refusal.path.display().to_string(), why: refusal.reason.to_string() }
}
