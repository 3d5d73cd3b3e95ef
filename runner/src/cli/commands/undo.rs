//! `modbox undo`: takes back a transaction that was kept.

use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::{self, CommitError, Conflict, StateDir, Undone};

use crate::cli::args::UndoArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::output;
use crate::cli::state_folder;

/// Takes back a transaction.
pub(crate) fn run(context: &Context, args: &UndoArgs) -> Result<ExitStatus, Failure> {
    let folder = state_folder::transactions(&context.environment).or_usage()?;
    let undo = || commit::undo(&StateDir::open(&folder)?, &args.run, &NoFault);
    let Some(undone) = context.cleanup.hold(undo) else { return Ok(ExitStatus::Internal) };
    match undone.map_err(failure)? {
        Undone::Done => {
            output::print_note(&format!("`{}` is undone", args.run));
            Ok(ExitStatus::Success)
        }
        Undone::Conflict(conflicts) => {
            print_conflicts("nothing was changed, since a file was changed after the transaction", &conflicts);
            Ok(ExitStatus::NotCommitted)
        }
        Undone::Unfinished(conflicts) => {
            print_conflicts("undone in part; `modbox recover` goes on", &conflicts);
            Ok(ExitStatus::Unfinished)
        }
    }
}

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
        CommitError::Unavailable(_) => ExitStatus::Unavailable,
        CommitError::Record { .. } => ExitStatus::Unfinished,
        _ => ExitStatus::Internal,
    };
    Failure { status, error: error.into() }
}
