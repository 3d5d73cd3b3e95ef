//! What the commands for kept and interrupted transactions share: their errors and their conflicts.

use modbox_overlay::commit::{CommitError, Conflict};

use crate::cli::exit::{ExitStatus, Failure};
use crate::cli::printing::output;

/// Prints what is not as a transaction expects it.
pub(crate) fn print_conflicts(what: &str, conflicts: &[Conflict]) {
    output::print_note(what);
    for Conflict { path, why } in conflicts {
        output::print_note(&format!("`{}`: {why}", path.display()));
    }
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
