//! The end of a transaction: removes what was replaced, or keeps it so that the transaction can be undone.
//!
//! All of this can be done again after a crash. This file does not publish.

use std::ffi::{OsStr, OsString};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::conflict::summarize;
use super::directories::Directories;
use super::discard::{remove_tree, sweep};
use super::disk_calls::DiskCalls;
use super::failure::{CommitError, Context, Failure};
use super::inode::{look, status_changed};
use super::journal::{Below, Mark, Operation};
use super::publish::Publisher;
use super::state_dir::Run;

/// Summary of a published entry, by which its later changes are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    /// Time of the last status change.
    changed: i64,
    below: Below,
}

/// Removes all temporaries of a transaction.
pub(super) fn sweep_all(run: &str, directories: &Directories<'_>, calls: DiskCalls<'_>) -> Result<(), Failure> {
    for index in 0..directories.list.len() {
        let dir = match directories.open(index) {
            // A directory that was removed or replaced has no temporaries that can be found.
            Err(Failure::Conflict(_)) => continue,
            opened => opened?,
        };
        sweep(calls, dir, run).context("remove temporaries from", &directories.path(index, OsStr::new("")))?;
    }
    Ok(())
}

/// Removes the temporaries of operations. Their directories can be large, so they are not listed.
pub(super) fn remove_temporaries(operations: &[Operation], publisher: Publisher<'_>) -> Result<(), Failure> {
    remove_names(operations.iter(), publisher, |one| vec![one.temporary.clone(), one.second_temporary()])
}

/// Removes what a published transaction has replaced or removed.
fn remove_old(operations: &[Operation], publisher: Publisher<'_>) -> Result<(), Failure> {
    let replaced = operations.iter().filter(|operation| operation.old_state().is_some());
    remove_names(replaced, publisher, |one| vec![one.temporary.clone()])
}

fn remove_names<'a>(
    operations: impl Iterator<Item = &'a Operation>,
    publisher: Publisher<'_>,
    names: fn(&Operation) -> Vec<OsString>,
) -> Result<(), Failure> {
    for operation in operations {
        let dir = match publisher.directories.open_or_last(operation.directory) {
            Err(Failure::Conflict(_)) => continue,
            opened => opened?,
        };
        let path = publisher.directories.path(operation.directory, &operation.name);
        for name in names(operation) {
            remove_tree(publisher.calls, &dir, &name).context("remove the temporary of", &path)?;
        }
    }
    Ok(())
}

/// Ends a published transaction.
pub(super) fn finish(
    run: &Run,
    operations: &[Operation],
    publisher: Publisher<'_>,
    keep_undo: bool,
    durable: bool,
) -> Result<(), Failure> {
    if !keep_undo {
        remove_old(operations, publisher)?;
        return Ok(run.remove(publisher.calls)?);
    }
    keep_old(run, operations, publisher)?;
    if run.read_published()?.is_none() {
        let published: Result<Vec<_>, _> = operations.iter().map(|one| look_at_published(publisher, one)).collect();
        let text = serde_json::to_string(&published?);
        let text = text.map_err(|cause| CommitError::Record { path: run.path.clone(), reason: cause.to_string() })?;
        run.write_published(publisher.calls, &text, durable).context("write", &run.path)?;
    }
    Ok(run.mark(publisher.calls, Mark::Kept, durable)?)
}

/// Moves the replaced entries into the record of the transaction. Entries on another file system stay where they are.
fn keep_old(run: &Run, operations: &[Operation], publisher: Publisher<'_>) -> Result<(), Failure> {
    let old = run.make_kept(publisher.calls).context("make the directory of replaced files of", &run.path)?;
    for (index, operation) in operations.iter().enumerate().filter(|(_, operation)| operation.old_state().is_some()) {
        let dir = publisher.directories.open(operation.directory)?;
        match publisher.calls.move_free(dir, &operation.temporary, &old, &kept_name(index)) {
            // Moved before a crash, or not movable.
            Ok(()) | Err(Errno::NOENT | Errno::XDEV) => {}
            Err(cause) => {
                let path = publisher.directories.path(operation.directory, &operation.name);
                return Err(cause).context("keep the old state of", &path);
            }
        }
    }
    Ok(())
}

/// Moves what was replaced back beside the names.
pub(super) fn fetch_old(run: &Run, operations: &[Operation], publisher: Publisher<'_>) -> Result<(), Failure> {
    let old = run.kept().context("open the directory of replaced files of", &run.path)?;
    let Some(old) = old else { return Ok(()) };
    for (index, operation) in operations.iter().enumerate().filter(|(_, operation)| operation.old_state().is_some()) {
        let dir = publisher.directories.open(operation.directory)?;
        match publisher.calls.move_free(&old, &kept_name(index), dir, &operation.temporary) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(cause) => {
                let path = publisher.directories.path(operation.directory, &operation.name);
                return Err(cause).context("take back the old state of", &path);
            }
        }
    }
    Ok(())
}

fn kept_name(index: usize) -> OsString {
    index.to_string().into()
}

/// Returns the summary of what an operation has published; `None` if it has published no entry.
pub(super) fn look_at_published(publisher: Publisher<'_>, operation: &Operation) -> Result<Option<Published>, Failure> {
    if operation.new_state().is_none() {
        return Ok(None);
    }
    let path = publisher.directories.path(operation.directory, &operation.name);
    let dir = publisher.directories.open(operation.directory)?;
    let Some(stat) = look(&dir, &operation.name).context("look at", &path)? else { return Ok(None) };
    let changed = i64::try_from(status_changed(&stat)).unwrap_or(i64::MAX);
    Ok(Some(Published { changed, below: summarize(dir, &operation.name, &path)? }))
}
