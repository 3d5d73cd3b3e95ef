//! Saves the changes of a previewed run in a file, and commits such a file later.
//!
//! The form of the file and the rules of its commit are in the crate of layers. This file puts results into words.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use modbox_overlay::change::Change;
use modbox_overlay::commit::saved::{self, Hidden, SavedChanges, SavedError, SavedTree, Saving};
use modbox_overlay::commit::{Conflict, OwnerRights};
use modbox_overlay::text_diff::DiffBounds;
use modbox_policy::Policy;
use modbox_scratch::{DirPurpose, RunDir, ScratchRoot};
use modbox_vocabulary::error_chain;

use crate::layered::changes::hidden_content::HiddenContent;
use crate::layered::changes::plan_store;
use crate::layered::changes::shown_changes::{ChangedTree, MAX_CHANGES, ShownChanges, Shows};
use crate::layered::execution::ObservedLayers;
use crate::layered::layered_run::{CommitChoices, SavePlace};
use crate::layered::transaction::{self, refusal, with_reasons};
use crate::reports::error::RunError;
use crate::reports::error::layered_error::LayeredError;
use crate::reports::parts::effect_report::{CommitReport, CommitState, Effect, EffectReport, Remark};

/// Saves what was observed as a new file.
pub(crate) fn save(
    observed: &ObservedLayers,
    policy: &Policy,
    place: &SavePlace,
    hidden: &HiddenContent,
) -> CommitReport {
    let path = match place {
        SavePlace::File(path) => path.clone(),
        SavePlace::Store(folder) => match plan_store::new_file(folder) {
            Ok(path) => path,
            Err(error) => {
                let (path, why) = (folder.display().to_string(), error_chain(&error));
                return with_reasons(CommitState::Failed, [Remark { path, why }].into_iter());
            }
        },
    };
    let shown = path.display().to_string();
    let owners = transaction::owners(policy, observed);
    let names = transaction::hidden_names(observed, hidden);
    let files = files_with_hidden_lines(observed, hidden);
    let kept = Hidden { names: &names, has_hidden_lines: &|path| files.contains(path) };
    let report = match saved::save(&path, &transaction::grants(observed), &owners, kept) {
        Ok(Saving::Saved) => CommitReport { file: Some(shown), ..CommitReport::of(CommitState::Saved) },
        Ok(Saving::Refused(refusals)) => with_reasons(CommitState::Refused, refusals.iter().map(refusal)),
        Err(error) => with_reasons(CommitState::Failed, [Remark { path: shown, why: error_chain(&error) }].into_iter()),
    };
    transaction::masked(report, hidden)
}

/// Returns the commit report of a preview: what a transaction would refuse of its changes.
pub(crate) fn discard(observed: &ObservedLayers, policy: &Policy, hidden: &HiddenContent) -> CommitReport {
    let owners = transaction::owners(policy, observed);
    let refusals = saved::refused(&transaction::grants(observed), &owners);
    transaction::masked(with_reasons(CommitState::Discarded, refusals.iter().map(refusal)), hidden)
}

/// Returns the files of which a run hides lines, because it may have written secrets there or because they have one.
fn files_with_hidden_lines(observed: &ObservedLayers, hidden: &HiddenContent) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for (layer, list) in observed.layers.iter().zip(&observed.lists) {
        for change in &list.changes {
            let path = change.path_below(layer.path());
            // Longer contents are not shown.
            let contents = || layer.contents(change, DiffBounds::default().content as u64);
            let is_secret = || contents().map_or(true, |both| both.iter().any(|bytes| hidden.has_secret(bytes)));
            if hidden.hides(&path) || hidden.has_secrets_in_lines() && is_secret() {
                files.insert(path);
            }
        }
    }
    files
}

/// Returns what a commit of saved changes would do, as the report of a preview says it, with what keeps it from being made
/// now in the `reasons` of the commit. With `all_lines`, shows the lines of files that other users may not read, too.
/// `path` is that of the file.
///
/// # Errors
///
/// The files that the changes are about cannot be compared.
pub fn show_saved(saved: &SavedChanges, path: &Path, all_lines: bool) -> Result<EffectReport, SavedError> {
    let trees = saved.trees();
    let hidden = HiddenContent::of_saved(saved.hidden(), trees.iter().flat_map(SavedTree::hidden_lines));
    let shows = Shows { all_lines, hidden: &hidden };
    let (mut shown, mut changed) = (ShownChanges::default(), false);
    for tree in &trees {
        let (root, list) = (tree.path(), tree.changes());
        let contents = |change: &Change, bound| tree.contents(change, bound);
        tree.check_contents(MAX_CHANGES, DiffBounds::default().content as u64)?;
        changed |= list.is_changed();
        shown.add_tree(ChangedTree { root: &root, contents: &contents }, &list, shows);
    }
    let conflicts = saved.conflicts(&|_, _| OwnerRights::ALL)?;
    let reason = |one: &Conflict| Remark { path: hidden.path(&one.path), why: one.why.to_string() };
    let ShownChanges { totals, changes, cut, .. } = shown;
    Ok(EffectReport {
        mode: Effect::Preview,
        changed,
        claimed: None,
        claim: None,
        check: None,
        complete: true,
        incomplete: Vec::new(),
        totals,
        changes,
        cut,
        links: Vec::new(),
        outside: Vec::new(),
        commit: CommitReport {
            file: Some(path.display().to_string()),
            reasons: conflicts.iter().map(reason).collect(),
            ..CommitReport::of(CommitState::Saved)
        },
    })
}

/// Result of the commit of a file with changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedChanges {
    /// Whether the changes were made, and why not.
    pub commit: CommitReport,
    /// Notes on interrupted transactions.
    pub notes: Vec<String>,
}

/// Commits the changes of a file, after interrupted transactions are brought to an end. What owners the run was allowed
/// to give, and which set-id bits, was checked when the file was saved; whose file it is, by the caller.
///
/// # Errors
///
/// The directory of transactions cannot be used, or no directory can be made for the new state.
pub fn apply_saved(
    saved: &SavedChanges,
    scratch: &ScratchRoot,
    choices: &CommitChoices,
) -> Result<AppliedChanges, RunError> {
    let notes = transaction::recover(choices).map_err(LayeredError::from)?;
    let dir = RunDir::create(scratch, DirPurpose::Run, None)?;
    let owners = |_, _| OwnerRights::ALL;
    let committed: Result<_, SavedError> =
        transaction::with_settings(choices, &owners, saved.hidden(), |settings| saved.commit(dir.path(), settings));
    Ok(AppliedChanges { commit: transaction::report(committed, choices), notes })
}
