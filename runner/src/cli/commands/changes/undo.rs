//! `modbox undo`: takes back a transaction that was kept.

use modbox_overlay::commit::{OriginPattern, StateDir, Undone};
use modbox_run::audit::AuditedCommit;

use crate::cli::args::UndoArgs;
use crate::cli::audit::{Audit, failed_commit};
use crate::cli::commands::changes::kept_runs::{failure, print_conflicts};
use crate::cli::commands::changes::transactions;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::state_folder;
use crate::cli::kept_run;
use crate::cli::printing::output;

/// Takes back a transaction of the person, or of the origin that is named. Without the name of one, lists them.
pub(crate) fn run(context: &Context, args: &UndoArgs) -> Result<ExitStatus, Failure> {
    let origin = args.origin.as_ref().unwrap_or(&OriginPattern::Person);
    match &args.run {
        Some(run) => undo(context, args, run, origin),
        None => transactions::list_kept(context, origin),
    }
}

fn undo(context: &Context, args: &UndoArgs, run: &str, origin: &OriginPattern) -> Result<ExitStatus, Failure> {
    let folder = state_folder::transactions(&context.environment).or_usage()?;
    let audit = Audit::of_command(context, &args.audited)?;
    let record = folder.join(run);
    let pending = audit.start_commit(context, AuditedCommit { command: "undo", path: &record, agent: None })?;
    let undo = || kept_run::undo(&StateDir::open(&folder)?, run, |of| origin.has(of));
    let Some(undone) = context.cleanup.hold(undo) else { return Ok(ExitStatus::Internal) };
    let undone = undone.map_err(failure);
    let (outcome, status) = match &undone {
        Ok(undone) => (kept_run::outcome(undone, run), kept_run::exit_status(undone)),
        Err(failure) => (failed_commit(failure), failure.status),
    };
    let audited = pending.finish(&outcome, status);
    match undone? {
        Undone::Done => output::print_note(&format!("`{run}` is undone")),
        Undone::Conflict(conflicts) => {
            print_conflicts("nothing was changed, since a file was changed after the transaction", &conflicts);
        }
        Undone::Unfinished(conflicts) => print_conflicts("undone in part; `modbox recover` goes on", &conflicts),
    }
    audited?;
    Ok(status)
}
