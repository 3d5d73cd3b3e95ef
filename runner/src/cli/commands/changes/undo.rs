//! `modbox undo`: takes back a transaction that was kept.

use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::{self, Conflict, OriginPattern, StateDir, Undone};
use modbox_run::CommitState;
use modbox_run::audit::{AuditedCommit, CommitOutcome};

use crate::cli::args::UndoArgs;
use crate::cli::audit::{Audit, failed_commit};
use crate::cli::commands::changes::kept_runs::{failure, hide_secrets, print_conflicts};
use crate::cli::commands::changes::transactions;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::state_folder;
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
    let undo = || {
        let state = StateDir::open(&folder)?;
        hide_secrets(&commit::list(&state)?);
        commit::undo(&state, run, |of| origin.has(of), &NoFault)
    };
    let Some(undone) = context.cleanup.hold(undo) else { return Ok(ExitStatus::Internal) };
    let undone = undone.map_err(failure);
    let (outcome, status) = match &undone {
        Ok(undone) => (outcome(undone, run), exit_status(undone)),
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

fn exit_status(undone: &Undone) -> ExitStatus {
    match undone {
        Undone::Done => ExitStatus::Success,
        Undone::Conflict(_) => ExitStatus::NotCommitted,
        Undone::Unfinished(_) => ExitStatus::Unfinished,
    }
}

/// Returns what the audit line says.
fn outcome(undone: &Undone, run: &str) -> CommitOutcome {
    let (state, conflicts) = match undone {
        Undone::Done => ("undone", None),
        Undone::Conflict(conflicts) => (CommitState::Conflict.into(), Some(conflicts)),
        Undone::Unfinished(conflicts) => (CommitState::Unfinished.into(), Some(conflicts)),
    };
    let reason = |Conflict { path, why }: &Conflict| format!("`{}`: {why}", path.display());
    let error = conflicts.map(|conflicts| conflicts.iter().map(reason).collect::<Vec<_>>().join("; "));
    CommitOutcome { state, run: Some(run.to_owned()), changed: conflicts.is_none().then_some(true), error }
}
