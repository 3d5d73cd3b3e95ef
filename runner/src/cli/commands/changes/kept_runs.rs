//! What the commands for kept and interrupted transactions share: their errors, their conflicts, and the secrets in names.

use modbox_overlay::commit::{CommitError, Conflict, Transaction};
use modbox_run::remember_hidden;

use crate::cli::exit::{ExitStatus, Failure};
use crate::cli::printing::output;

/// Prints what is not as a transaction expects it.
pub(crate) fn print_conflicts(what: &str, conflicts: &[Conflict]) {
    output::print_note(what);
    for Conflict { path, why } in conflicts {
        output::print_note(&format!("`{}`: {why}", path.display()));
    }
}

/// Keeps secrets in names of transactions from being shown.
pub(crate) fn hide_secrets(found: &[Transaction]) {
    let journals = found.iter().filter_map(|one| one.record.as_ref().ok()?.1.as_ref());
    journals.for_each(|journal| remember_hidden(&journal.hidden));
}

/// Returns an error of a transaction with its exit status.
pub(crate) fn failure(error: CommitError) -> Failure {
    let status = match error {
        CommitError::Unavailable(_) | CommitError::Foreign { .. } => ExitStatus::Unavailable,
        CommitError::Record { .. } => ExitStatus::Unfinished,
        _ => ExitStatus::Internal,
    };
    Failure { status, error: error.into() }
}
