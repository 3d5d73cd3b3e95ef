//! Takes a kept transaction back, and removes kept transactions.
//!
//! Undoing is the way back of recovery, so a crash within it is recovered as any other. What other processes have
//! changed since is a conflict, and then nothing is undone.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use super::disk_calls::DiskCalls;
use super::failure::{CommitError, Conflict, Failure, Why, error};
use super::fault::Fault;
use super::finish::{Published, look_at_published, remove_temporaries};
use super::journal::{Journal, Mark, Operation};
use super::origin::Origin;
use super::publish::Publisher;
use super::recover::{self, Direction, Recovery, conflict, directories, go_back, is_gone, open_roots};
use super::state_dir::{Run, StateDir};

/// Kept, interrupted or damaged transaction.
#[derive(Debug)]
pub struct Transaction {
    /// Name of the transaction, by which `modbox undo` finds it.
    pub run: String,
    /// Path of its record.
    pub path: PathBuf,
    /// Direction in which recovery would bring it, with the journal if it was decided. An error if its record is
    /// damaged.
    pub record: Result<(Direction, Option<Journal>), CommitError>,
}

/// Result of undoing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// All is as before the transaction.
    Done,
    /// Other processes have changed the files since. Nothing is undone.
    Conflict(Vec<Conflict>),
    /// A part is undone and the rest cannot be.
    Unfinished(Vec<Conflict>),
}

/// Undoes a kept transaction of an origin for which `is_meant` is true.
///
/// # Errors
///
/// Fails if the transaction is not kept or of another origin, its record is damaged, or a call fails.
pub fn undo(
    state: &StateDir,
    name: &str,
    is_meant: impl Fn(&Origin) -> bool,
    fault: &dyn Fault,
) -> Result<Undone, CommitError> {
    let unavailable = || CommitError::Unavailable(state.path().join(name));
    let run = state.open_run(name)?.ok_or_else(unavailable)?;
    let (Direction::Keep, Some(journal)) = recover::read(&run)? else { return Err(unavailable()) };
    check_origin(&run, &journal, is_meant)?;
    let roots = open_roots(&journal)?;
    undo_run(&run, &journal, &roots, DiskCalls::new(fault)).map_err(|failure| into_error(&run, failure))
}

fn undo_run(run: &Run, journal: &Journal, roots: &[OwnedFd], calls: DiskCalls<'_>) -> Result<Undone, Failure> {
    let directories = match directories(journal, roots) {
        Err(Failure::Conflict(conflict)) => return Ok(Undone::Conflict(vec![conflict])),
        found => found?,
    };
    let publisher = Publisher { calls, directories: &directories, since: journal.since };
    let published = read_published(run, journal)?;
    let mut conflicts = Vec::new();
    for (operation, published) in journal.operations.iter().zip(published) {
        conflicts.extend(conflict(check(publisher, operation, published))?);
    }
    if !conflicts.is_empty() {
        return Ok(Undone::Conflict(conflicts));
    }
    run.mark(calls, Mark::Back, journal.durable)?;
    Ok(match go_back(run, journal, publisher)? {
        Recovery::Stopped { conflicts } => Undone::Unfinished(conflicts),
        Recovery::Forward | Recovery::Back => Undone::Done,
    })
}

fn check(publisher: Publisher<'_>, operation: &Operation, published: Option<Published>) -> Result<(), Failure> {
    publisher.check_reversible(operation)?;
    if look_at_published(publisher, operation)? == published {
        return Ok(());
    }
    let path = publisher.directories.path(operation.directory, &operation.name);
    Err(Failure::conflict(&path, Why::Changed))
}

fn read_published(run: &Run, journal: &Journal) -> Result<Vec<Option<Published>>, CommitError> {
    let text = run.read_published()?.unwrap_or_default();
    let published: Vec<Option<Published>> = serde_json::from_str(&text).unwrap_or_default();
    if published.len() == journal.operations.len() {
        return Ok(published);
    }
    Err(CommitError::Record { path: run.path.clone(), reason: "its list of published files is damaged".to_owned() })
}

/// Returns all kept, interrupted and damaged transactions, oldest first. Those of living processes are left out.
///
/// # Errors
///
/// Fails if the directory of transactions cannot be read.
pub fn list(state: &StateDir) -> Result<Vec<Transaction>, CommitError> {
    let mut found = Vec::new();
    for name in state.names()? {
        let Some(run) = state.open_run(&name)? else { continue };
        found.push(Transaction { record: recover::read(&run), path: run.path.clone(), run: name });
    }
    Ok(found)
}

/// Removes a kept transaction of an origin for which `is_meant` is true, with the files that it has replaced. It cannot be
/// undone any more. In a directory that is gone or is another one now, no file of it can be found.
///
/// # Errors
///
/// Fails if it is not kept or of another origin, or a call fails.
pub fn prune(
    state: &StateDir,
    name: &str,
    is_meant: impl Fn(&Origin) -> bool,
    fault: &dyn Fault,
) -> Result<(), CommitError> {
    let calls = DiskCalls::new(fault);
    let unavailable = || CommitError::Unavailable(state.path().join(name));
    let run = state.open_run(name)?.ok_or_else(unavailable)?;
    let (Direction::Keep, Some(journal)) = recover::read(&run)? else { return Err(unavailable()) };
    check_origin(&run, &journal, is_meant)?;
    // The other roots of the grants do not matter, whatever has become of them.
    let journal = with_used_roots(without_gone_roots(journal));
    let roots = open_roots(&journal)?;
    let pruned = directories(&journal, &roots).and_then(|found| {
        let publisher = Publisher { calls, directories: &found, since: journal.since };
        remove_temporaries(&journal.operations, publisher)
    });
    pruned.map_err(|failure| into_error(&run, failure))?;
    run.remove(calls)
}

fn check_origin(run: &Run, journal: &Journal, is_meant: impl Fn(&Origin) -> bool) -> Result<(), CommitError> {
    let origin = &journal.origin;
    if is_meant(origin) { Ok(()) } else { Err(CommitError::Foreign { path: run.path.clone(), origin: origin.clone() }) }
}

/// Returns the journal without the operations in roots that are gone.
fn without_gone_roots(mut journal: Journal) -> Journal {
    let is_there: Vec<bool> = journal.roots.iter().map(|root| !is_gone(root)).collect();
    let root_of = |operation: &Operation| journal.directories.get(operation.directory).map(|found| found.root);
    let found = |operation: &Operation| root_of(operation).is_some_and(|root| is_there.get(root) == Some(&true));
    let mut operations = std::mem::take(&mut journal.operations);
    operations.retain(found);
    journal.operations = operations;
    journal
}

/// Returns the journal with those roots alone that its operations are in.
fn with_used_roots(mut journal: Journal) -> Journal {
    let root_of = |operation: &Operation| journal.directories.get(operation.directory).map(|found| found.root);
    let used: BTreeSet<usize> = journal.operations.iter().filter_map(root_of).collect();
    journal.roots = used.iter().filter_map(|root| journal.roots.get(*root).cloned()).collect();
    for directory in &mut journal.directories {
        // No operation is in a directory of another root.
        directory.root = used.iter().position(|root| *root == directory.root).unwrap_or_default();
    }
    journal
}

fn into_error(run: &Run, failure: Failure) -> CommitError {
    let record = |reason: String| CommitError::Record { path: run.path.clone(), reason };
    match failure {
        Failure::Call { verb, path, cause } => error(verb, &path, cause),
        Failure::Error(error) => error,
        Failure::Conflict(conflict) => record(format!("`{}`: {}", conflict.path.display(), conflict.why)),
        Failure::Refused(refusal) => record(format!("`{}`: {}", refusal.path.display(), refusal.reason)),
    }
}
