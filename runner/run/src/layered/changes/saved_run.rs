//! Saves the changes of a previewed run in a file, and commits such a file later.
//!
//! The form of the file and the rules of its commit are in the crate of layers. This file puts results into words.

use std::path::Path;

use modbox_overlay::commit::OwnerRights;
use modbox_overlay::commit::saved::{self, SavedChanges, SavedError, Saving};
use modbox_policy::Policy;
use modbox_scratch::{DirPurpose, RunDir, ScratchRoot};
use modbox_vocabulary::error_chain;

use crate::layered::changes::effect_report::{CommitReport, CommitState, Remark};
use crate::layered::changes::hidden_content::HiddenContent;
use crate::layered::error::LayeredError;
use crate::layered::execution::ObservedLayers;
use crate::layered::layered_run::CommitChoices;
use crate::layered::transaction::{self, refusal, with_reasons};
use crate::reports::error::RunError;

/// Saves what was observed as a new file.
pub(crate) fn save(observed: &ObservedLayers, policy: &Policy, path: &Path, hidden: &HiddenContent) -> CommitReport {
    let shown = path.display().to_string();
    let owners = transaction::owners(policy, observed);
    let hidden = transaction::hidden_names(observed, hidden);
    match saved::save(path, &transaction::grants(observed), &owners, &hidden) {
        Ok(Saving::Saved) => CommitReport { file: Some(shown), ..CommitReport::of(CommitState::Saved) },
        Ok(Saving::Refused(refusals)) => with_reasons(CommitState::Refused, refusals.iter().map(refusal)),
        Err(error) => with_reasons(CommitState::Failed, [Remark { path: shown, why: error_chain(&error) }].into_iter()),
    }
}

/// Result of the commit of a file with changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedChanges {
    /// The commit.
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
