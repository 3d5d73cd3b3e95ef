//! A kept transaction that is taken back, by a person or by an agent: how that ended, and the secrets in its names.

use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::{self, CommitError, Conflict, Origin, StateDir, Transaction, Undone};
use modbox_run::audit::CommitOutcome;
use modbox_run::{CommitState, remember_hidden};

use crate::cli::exit::ExitStatus;

/// Keeps secrets in names of transactions from being shown.
pub(crate) fn hide_secrets(found: &[Transaction]) {
    let journals = found.iter().filter_map(|one| one.record.as_ref().ok()?.1.as_ref());
    journals.for_each(|journal| remember_hidden(&journal.hidden));
}

/// Takes back a transaction of an origin for which `is_meant` is true.
///
/// # Errors
///
/// As [`commit::undo`].
pub(crate) fn undo(state: &StateDir, run: &str, is_meant: impl Fn(&Origin) -> bool) -> Result<Undone, CommitError> {
    hide_secrets(&commit::list(state)?);
    commit::undo(state, run, is_meant, &NoFault)
}

/// Returns the exit status of a command that undoes.
pub(crate) fn exit_status(undone: &Undone) -> ExitStatus {
    match undone {
        Undone::Done => ExitStatus::Success,
        Undone::Conflict(_) => ExitStatus::NotCommitted,
        Undone::Unfinished(_) => ExitStatus::Unfinished,
    }
}

/// Returns what the audit line says.
pub(crate) fn outcome(undone: &Undone, run: &str) -> CommitOutcome {
    let (state, conflicts) = match undone {
        Undone::Done => ("undone", None),
        Undone::Conflict(conflicts) => (CommitState::Conflict.into(), Some(conflicts)),
        Undone::Unfinished(conflicts) => (CommitState::Unfinished.into(), Some(conflicts)),
    };
    let reason = |Conflict { path, why }: &Conflict| format!("`{}`: {why}", path.display());
    let error = conflicts.map(|conflicts| conflicts.iter().map(reason).collect::<Vec<_>>().join("; "));
    CommitOutcome { state, run: Some(run.to_owned()), changed: conflicts.is_none().then_some(true), error }
}
