//! `modbox transactions`: lists and removes transactions that can be undone or were interrupted.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::{self, Direction, Journal, OperationKind, Origin, OriginPattern, StateDir, Transaction};
use modbox_python_json::{Value, encode};
use modbox_run::mask_live_secrets;

use crate::cli::args::{TransactionsArgs, TransactionsCommand};
use crate::cli::commands::changes::kept_runs::failure;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::state_folder;
use crate::cli::kept_run::hide_secrets;
use crate::cli::printing::output;

/// Paths of a transaction that are listed for people.
const MAX_PATHS: usize = 3;

/// Lists transactions, or removes some.
pub(crate) fn run(context: &Context, args: &TransactionsArgs) -> Result<ExitStatus, Failure> {
    let folder = state_folder::transactions(&context.environment).or_usage()?;
    if !folder.exists() {
        return Ok(none(args, &folder));
    }
    let state = StateDir::open(&folder).map_err(failure)?;
    let mut found = commit::list(&state).map_err(failure)?;
    hide_secrets(&found);
    if let Some(origin) = &args.origin {
        found.retain(|one| is_of(one, origin));
    }
    match &args.command {
        Some(TransactionsCommand::Prune { runs }) => {
            prune(context, &state, &found, runs, args.origin.as_ref().unwrap_or(&OriginPattern::Person))
        }
        None if found.is_empty() => Ok(none(args, &folder)),
        None => list(args.json, &found),
    }
}

/// Lists what can be undone of an origin, for people.
pub(crate) fn list_kept(context: &Context, origin: &OriginPattern) -> Result<ExitStatus, Failure> {
    let folder = state_folder::transactions(&context.environment).or_usage()?;
    let mut found = match folder.exists() {
        true => commit::list(&StateDir::open(&folder).map_err(failure)?).map_err(failure)?,
        false => Vec::new(),
    };
    hide_secrets(&found);
    found.retain(|one| is_kept(one) && is_of(one, origin));
    if found.is_empty() {
        output::print_note(&format!("no transaction in `{}` can be undone", folder.display()));
    }
    list(false, &found)
}

fn is_kept(transaction: &Transaction) -> bool {
    matches!(&transaction.record, Ok((Direction::Keep, _)))
}

/// Returns whether a transaction is of an origin. One that was not decided, or is damaged, does not say whose it is.
fn is_of(transaction: &Transaction, origin: &OriginPattern) -> bool {
    origin_of(transaction).is_some_and(|found| origin.has(found))
}

fn origin_of(transaction: &Transaction) -> Option<&Origin> {
    transaction.record.as_ref().ok().and_then(|(_, journal)| journal.as_ref()).map(|journal| &journal.origin)
}

/// Tells people that there are none. A program that reads JSON sees no line.
fn none(args: &TransactionsArgs, folder: &Path) -> ExitStatus {
    if !args.json {
        output::print_note(&format!("there are no transactions in `{}`", folder.display()));
    }
    ExitStatus::Success
}

fn list(is_json: bool, found: &[Transaction]) -> Result<ExitStatus, Failure> {
    for transaction in found {
        let line = if is_json { encode(&json(transaction)) } else { text(transaction) };
        output::print_line(&line).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

fn prune(
    context: &Context,
    state: &StateDir,
    found: &[Transaction],
    runs: &[String],
    origin: &OriginPattern,
) -> Result<ExitStatus, Failure> {
    let kept = found.iter().filter(|one| is_kept(one) && is_of(one, origin)).map(|transaction| &transaction.run);
    let chosen: Vec<&String> = if runs.is_empty() { kept.collect() } else { runs.iter().collect() };
    // One that cannot be removed keeps no other one.
    let is_meant = |of: &Origin| origin.has(of);
    let each = |run: &&String| commit::prune(state, run, is_meant, &NoFault).err().map(|error| ((*run).clone(), error));
    let failed = context.cleanup.hold(|| chosen.iter().filter_map(each).collect::<Vec<_>>());
    let Some(failed) = failed else { return Ok(ExitStatus::Internal) };
    output::print_note(&format!("removed {} of {} transactions", chosen.len() - failed.len(), found.len()));
    let mut status = ExitStatus::Success;
    for (run, error) in failed {
        let failure = failure(error);
        output::print_error(&failure.error.context(format!("failed to remove the transaction `{run}`")));
        status = failure.status;
    }
    Ok(status)
}

fn state(transaction: &Transaction) -> &'static str {
    match &transaction.record {
        Ok((Direction::Keep, _)) => "kept",
        Ok(_) => "interrupted",
        Err(_) => "damaged",
    }
}

fn text(transaction: &Transaction) -> String {
    let journal = transaction.record.as_ref().ok().and_then(|(_, journal)| journal.as_ref());
    let age = journal.map_or_else(String::new, |journal| humantime::format_duration(age(journal)).to_string());
    let paths = journal.map(paths).unwrap_or_default();
    let shown: Vec<String> = paths.iter().take(MAX_PATHS).map(|(_, path)| output::clean_line(path)).collect();
    let more = paths.len().saturating_sub(MAX_PATHS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let origin = origin_of(transaction).filter(|origin| **origin != Origin::Person);
    let origin = origin.map(|origin| format!("{origin}  ")).unwrap_or_default();
    format!("{}  {:<11}  {age:<12}  {origin}{}{more}", transaction.run, state(transaction), shown.join(" "))
}

fn json(transaction: &Transaction) -> Value {
    let mut entries = vec![
        ("run", Value::from(transaction.run.as_str())),
        ("state", state(transaction).into()),
        ("record", transaction.path.display().to_string().into()),
    ];
    match &transaction.record {
        Ok((_, Some(journal))) => {
            entries.push(("origin", journal.origin.to_string().into()));
            entries.push(("age_s", age(journal).as_secs().into()));
            let change =
                |(kind, path): (&str, String)| Value::from([("kind", Value::from(kind)), ("path", path.into())]);
            entries.push(("changes", Value::List(paths(journal).into_iter().map(change).collect())));
        }
        Ok((_, None)) => {}
        Err(error) => entries.push(("error", error.to_string().into())),
    }
    Value::Dict(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Returns the time since the transaction began, in whole seconds.
fn age(journal: &Journal) -> Duration {
    let begun = u64::try_from(journal.since / 1_000_000_000).unwrap_or_default();
    let age = SystemTime::now().duration_since(UNIX_EPOCH + Duration::from_secs(begun)).unwrap_or_default();
    Duration::from_secs(age.as_secs())
}

/// Returns the changed paths, each with what happened to it.
fn paths(journal: &Journal) -> Vec<(&'static str, String)> {
    let changes = journal.changed_paths().map(|(kind, path)| {
        let kind = match kind {
            OperationKind::Create { .. } => "created",
            OperationKind::Replace { .. } => "replaced",
            OperationKind::Remove { .. } => "removed",
            OperationKind::Attributes { .. } => "attributes",
        };
        (kind, mask_live_secrets(&path.display().to_string()))
    });
    changes.collect()
}
