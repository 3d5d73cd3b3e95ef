//! Brings transactions to an end that a crash has interrupted: forward if they were decided, else back.
//!
//! Recovery can itself be interrupted at each call. Where the files do not allow either direction, it stops and names
//! the paths: it never guesses. Transactions of living processes are left alone.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};

use super::directories::Directories;
use super::disk_calls::DiskCalls;
use super::failure::{CommitError, Conflict, Failure, error};
use super::fault::Fault;
use super::finish::{fetch_old, finish, remove_temporaries, sweep_all};
use super::journal::{self, Journal, JournalError, Mark};
use super::publish::Publisher;
use super::state_dir::{Run, StateDir};

/// What recovery does with a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It was not decided: removes its temporaries.
    Sweep,
    /// It was decided: publishes the rest, or takes all back if that is not possible.
    Forward,
    /// It is published: removes or keeps what was replaced.
    Finish,
    /// It is being taken back: takes the rest back.
    Back,
    /// It was taken back: removes its temporaries.
    Clean,
    /// It is kept: nothing.
    Keep,
}

/// Result of the recovery of one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// All is published.
    Forward,
    /// Nothing is published.
    Back,
    /// It is neither. The record says where the old and new files are.
    Stopped {
        /// What is not as expected.
        conflicts: Vec<Conflict>,
    },
}

/// Recovered transaction.
#[derive(Debug)]
pub struct Recovered {
    /// Name of the transaction.
    pub run: String,
    /// Path of its record.
    pub path: PathBuf,
    /// What was done with it, or why it is left as it is.
    pub result: Result<Recovery, CommitError>,
}

/// Decides on what a journal says. Pure.
///
/// # Errors
///
/// Fails if the journal is cut, changed, or of another version: it is not acted on.
pub fn decide(journal: Option<&str>) -> Result<(Direction, Option<Journal>), JournalError> {
    let Some(text) = journal else { return Ok((Direction::Sweep, None)) };
    let (journal, mark) = Journal::parse(text)?;
    let direction = match mark {
        None => Direction::Forward,
        Some(Mark::Done) => Direction::Finish,
        Some(Mark::Kept) => Direction::Keep,
        Some(Mark::Back) => Direction::Back,
        Some(Mark::Undone) => Direction::Clean,
    };
    Ok((direction, Some(journal)))
}

/// Recovers all interrupted transactions.
///
/// # Errors
///
/// Fails if the directory of transactions cannot be listed.
pub fn recover(state: &StateDir, fault: &dyn Fault) -> Result<Vec<Recovered>, CommitError> {
    let mut recovered = Vec::new();
    for name in state.names()? {
        let Some(run) = state.open_run(&name)? else { continue };
        let result = recover_run(&run, DiskCalls::new(fault)).transpose();
        if let Some(result) = result {
            recovered.push(Recovered { run: name, path: run.path.clone(), result });
        }
    }
    Ok(recovered)
}

/// Recovers one transaction. Returns `None` if it is kept.
fn recover_run(run: &Run, calls: DiskCalls<'_>) -> Result<Option<Recovery>, CommitError> {
    let (direction, journal) = read(run)?;
    if direction == Direction::Keep {
        return Ok(None);
    }
    let recovered = match journal {
        None => sweep_prepared(run, calls),
        Some(journal) => {
            let roots = open_roots(&journal)?;
            match directories(&journal, &roots) {
                Ok(directories) => {
                    let publisher = Publisher { calls, directories: &directories, since: journal.since };
                    proceed(run, direction, &journal, publisher)
                }
                Err(failure) => Err(failure),
            }
        }
    };
    match recovered {
        Ok(recovery) => Ok(Some(recovery)),
        Err(Failure::Conflict(conflict)) => Ok(Some(Recovery::Stopped { conflicts: vec![conflict] })),
        Err(Failure::Call { verb, path, cause }) => Err(error(verb, &path, cause)),
        Err(Failure::Error(error)) => Err(error),
        Err(Failure::Refused(refusal)) => {
            Err(CommitError::Record { path: run.path.clone(), reason: refusal.reason.to_string() })
        }
    }
}

/// Reads the journal of a transaction, and decides.
pub(super) fn read(run: &Run) -> Result<(Direction, Option<Journal>), CommitError> {
    let text = if run.is_decided()? { Some(run.read()?) } else { None };
    let record = |reason: String| CommitError::Record { path: run.path.clone(), reason };
    let (direction, journal) =
        decide(text.as_deref().map(|text| journal::parts(text).1)).map_err(|cause| record(cause.to_string()))?;
    if journal.as_ref().is_some_and(|journal| journal.run != run.name) {
        return Err(record("it is the record of another transaction".to_owned()));
    }
    Ok((direction, journal))
}

/// Opens the roots of a journal by their paths.
pub(super) fn open_roots(journal: &Journal) -> Result<Vec<OwnedFd>, CommitError> {
    let open = |root: &super::directories::RootRecord| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(&root.path, flags, Mode::empty()).map_err(|cause| error("open", &root.path, cause))
    };
    journal.roots.iter().map(open).collect()
}

/// Returns whether a root is gone, or is another directory now.
pub(super) fn is_gone(root: &super::directories::RootRecord) -> bool {
    match rustix::fs::stat(&root.path) {
        Ok(found) => found.st_ino != root.number,
        Err(error) => matches!(error, rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR),
    }
}

/// Returns the directories of a journal. A root that is another directory than before is a conflict.
pub(super) fn directories<'a>(journal: &Journal, roots: &'a [OwnedFd]) -> Result<Directories<'a>, Failure> {
    let named = journal.roots.iter().zip(roots).map(|(record, root)| (record.path.clone(), root.as_fd())).collect();
    let mut directories = Directories::new(named)?;
    let mut pairs = directories.roots.iter().zip(&journal.roots);
    if let Some((_, record)) = pairs.find(|(found, record)| found.number != record.number) {
        return Err(Failure::conflict(&record.path, super::failure::Why::Directory));
    }
    directories.list.clone_from(&journal.directories);
    Ok(directories)
}

fn sweep_prepared(run: &Run, calls: DiskCalls<'_>) -> Result<Recovery, Failure> {
    let text = run.read()?;
    let (prepared, _) = journal::parts(&text);
    // Nothing is made before all of it is written.
    if journal::is_whole(prepared) {
        let record = |cause: JournalError| CommitError::Record { path: run.path.clone(), reason: cause.to_string() };
        let (prepared, _) = Journal::parse(prepared).map_err(record)?;
        let roots = open_roots(&prepared)?;
        sweep_all(&run.name, &directories(&prepared, &roots)?, calls)?;
    }
    run.remove(calls)?;
    Ok(Recovery::Back)
}

fn proceed(run: &Run, direction: Direction, journal: &Journal, publisher: Publisher<'_>) -> Result<Recovery, Failure> {
    match direction {
        Direction::Forward => go_forward(run, journal, publisher),
        Direction::Finish => {
            finish(run, &journal.operations, publisher, journal.keep_undo, journal.durable)?;
            Ok(Recovery::Forward)
        }
        Direction::Back => go_back(run, journal, publisher),
        Direction::Clean => clean(run, journal, publisher),
        Direction::Sweep | Direction::Keep => Ok(Recovery::Back),
    }
}

fn go_forward(run: &Run, journal: &Journal, publisher: Publisher<'_>) -> Result<Recovery, Failure> {
    let (mut made, mut obstacles, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for operation in &journal.operations {
        if publisher.is_made(operation)? {
            obstacles.extend(conflict(publisher.check_all_taken(operation))?);
            made.push(operation);
        } else {
            obstacles.extend(conflict(publisher.check_possible(operation))?);
            rest.push(operation);
        }
    }
    if obstacles.is_empty() {
        for operation in rest {
            publisher.apply(operation)?;
        }
        run.mark(publisher.calls, Mark::Done, journal.durable)?;
        finish(run, &journal.operations, publisher, journal.keep_undo, journal.durable)?;
        return Ok(Recovery::Forward);
    }
    for operation in made {
        if let Some(conflict) = conflict(publisher.check_reversible(operation))? {
            obstacles.push(conflict);
            return Ok(Recovery::Stopped { conflicts: obstacles });
        }
    }
    run.mark(publisher.calls, Mark::Back, journal.durable)?;
    go_back(run, journal, publisher)
}

/// Takes a transaction back, with what was kept of it.
pub(super) fn go_back(run: &Run, journal: &Journal, publisher: Publisher<'_>) -> Result<Recovery, Failure> {
    fetch_old(run, &journal.operations, publisher)?;
    let mut conflicts = Vec::new();
    for operation in journal.operations.iter().rev() {
        conflicts.extend(conflict(publisher.revert(operation))?);
    }
    if !conflicts.is_empty() {
        return Ok(Recovery::Stopped { conflicts });
    }
    run.mark(publisher.calls, Mark::Undone, journal.durable)?;
    clean(run, journal, publisher)
}

fn clean(run: &Run, journal: &Journal, publisher: Publisher<'_>) -> Result<Recovery, Failure> {
    remove_temporaries(&journal.operations, publisher)?;
    run.remove(publisher.calls)?;
    Ok(Recovery::Back)
}

/// Returns a conflict as a value; other failures end recovery.
pub(super) fn conflict(result: Result<(), Failure>) -> Result<Option<Conflict>, Failure> {
    match result {
        Ok(()) => Ok(None),
        Err(Failure::Conflict(conflict)) => Ok(Some(conflict)),
        Err(failure) => Err(failure),
    }
}
