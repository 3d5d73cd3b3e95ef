//! Commits lists of changes: plan, check, prepare, decide, publish, finish.
//!
//! Until the journal is written, nothing but temporaries exists. From then on recovery goes forward. If another process
//! has changed a file meanwhile, all is taken back. This file does not decide whether a run is committed.

use std::path::{Path, PathBuf};

use crate::changes::change::Change;

use super::directories::Directories;
use super::disk_calls::DiskCalls;
use super::failure::{CommitError, Conflict, Failure, error};
use super::fault::Fault;
use super::finish::{finish, remove_temporaries, sweep_all};
use super::inode;
use super::journal::{Journal, Mark, Operation};
use super::origin::Origin;
use super::plan::{self, Owners, Reason, Refusal, Step};
use super::prepare::{self, Checked, Granted};
use super::publish::Publisher;
use super::recover::conflict;
use super::state_dir::{Run, StateDir};

/// Upper bound of copies that are written to the disk one by one.
const FEW: usize = 10;

/// Crash after which a commit is still all or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// The end of the process, by whatever signal.
    Process,
    /// Loss of power, too. Each step is written to the disk.
    Power,
}

/// How a commit is made.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// Owners that may be given.
    pub owners: &'a Owners<'a>,
    /// The worst crash after which the commit is still all or nothing.
    pub strength: Strength,
    /// Whether the commit can be undone.
    pub keep_undo: bool,
    /// Whose the transaction is.
    pub origin: &'a Origin,
    /// Secrets in names, which are not shown where the transaction is listed.
    pub hidden: &'a [String],
    /// Directory of transactions.
    pub state: &'a StateDir,
    /// Faults before calls; [`NoFault`](super::fault::NoFault) in the program.
    pub fault: &'a dyn Fault,
}

impl std::fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Settings");
        shown.field("strength", &self.strength).field("keep_undo", &self.keep_undo).finish_non_exhaustive()
    }
}

/// Result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// The list had nothing to publish.
    Nothing,
    /// All is published.
    Done {
        /// Name of the transaction.
        run: String,
        /// Whether it can be undone.
        undo: bool,
    },
    /// Another process has changed the files. Nothing of the list is published.
    Conflict(Vec<Conflict>),
    /// The list has changes that a commit does not make. Nothing is published.
    Refused(Vec<Refusal>),
    /// A part is published and could not be taken back. The record of the transaction.
    Unfinished(PathBuf),
}

/// Commits the changes of granted directories and names, all or none.
///
/// # Errors
///
/// Fails if a call fails. Nothing of the list is published then.
pub fn commit(grants: &[Granted<'_>], settings: Settings<'_>) -> Result<Committed, CommitError> {
    match try_commit(grants, settings) {
        Ok(committed) => Ok(committed),
        Err(failures) => outcome(failures),
    }
}

/// Returns the result of a commit that was not made. A refusal is told before a conflict, and an error before both.
fn outcome(failures: Vec<Failure>) -> Result<Committed, CommitError> {
    let (mut conflicts, mut refusals) = (Vec::new(), Vec::new());
    for failure in failures {
        match failure {
            Failure::Call { verb, path, cause } => return Err(error(verb, &path, cause)),
            Failure::Error(error) => return Err(error),
            Failure::Conflict(conflict) => conflicts.push(conflict),
            Failure::Refused(refusal) => refusals.push(refusal),
        }
    }
    Ok(if refusals.is_empty() { Committed::Conflict(conflicts) } else { Committed::Refused(refusals) })
}

/// Checks the places of the changes, as a commit does before it makes anything. Returns a conflict or a refusal, or that
/// there is nothing against a commit.
pub(super) fn check_places(grants: &[Granted<'_>], owners: &Owners<'_>) -> Result<Committed, CommitError> {
    let changes: Vec<Vec<Change>> = grants.iter().map(placed).collect();
    let checked = plan_all(grants, &changes, owners).and_then(|steps| {
        let roots = grants.iter().map(|granted| (granted.path.clone(), granted.real)).collect();
        let mut directories = Directories::new(roots).map_err(|failure| vec![failure])?;
        check_all(grants, steps, &mut directories).map(drop)
    });
    checked.map_or_else(outcome, |()| Ok(Committed::Nothing))
}

fn try_commit(grants: &[Granted<'_>], settings: Settings<'_>) -> Result<Committed, Vec<Failure>> {
    let calls = DiskCalls::new(settings.fault);
    let changes: Vec<Vec<Change>> = grants.iter().map(placed).collect();
    let steps = plan_all(grants, &changes, settings.owners)?;
    if steps.iter().all(Vec::is_empty) {
        return Ok(Committed::Nothing);
    }
    let roots = grants.iter().map(|granted| (granted.path.clone(), granted.real)).collect();
    let mut directories = Directories::new(roots).map_err(|failure| vec![failure])?;
    let checked = check_all(grants, steps, &mut directories)?;
    let run = settings.state.begin(calls).map_err(one)?;
    let operations = match prepare_all(&run, grants, &checked, &directories, settings) {
        Ok(operations) => operations,
        Err(failure) => {
            abandon(&run, &directories, calls);
            return Err(vec![failure]);
        }
    };
    publish_all(&run, &operations, &directories, since(grants), settings)
}

fn one(error: CommitError) -> Vec<Failure> {
    vec![Failure::Error(error)]
}

/// Returns the changes with paths below the directory that is opened: a granted name is the path of its change.
pub(super) fn placed(granted: &Granted<'_>) -> Vec<Change> {
    let mut changes = granted.changes.clone();
    if let Some(only) = &granted.only {
        for change in changes.iter_mut().filter(|change| change.path.as_os_str().is_empty()) {
            change.path = PathBuf::from(&only.name);
        }
    }
    changes
}

/// Returns the moment of the oldest view.
fn since(grants: &[Granted<'_>]) -> i128 {
    grants.iter().map(|granted| granted.start.realtime).min().unwrap_or_default()
}

pub(super) fn plan_all<'a>(
    grants: &[Granted<'_>],
    changes: &'a [Vec<Change>],
    owners: &Owners<'_>,
) -> Result<Vec<Vec<Step<'a>>>, Vec<Failure>> {
    let (mut planned, mut refused) = (Vec::new(), Vec::new());
    for (granted, changes) in grants.iter().zip(changes) {
        let full =
            |path: &Path| if path.as_os_str().is_empty() { granted.path.clone() } else { granted.path.join(path) };
        if let Some(only) = &granted.only {
            let others = changes.iter().filter(|change| change.path != Path::new(&only.name));
            refused.extend(others.map(|change| Refusal { path: full(&change.path), reason: Reason::Name }));
        }
        match plan::steps(changes, owners) {
            Ok(steps) => planned.push(steps),
            Err(list) => refused.extend(list.into_iter().map(|one| Refusal { path: full(&one.path), ..one })),
        }
    }
    if refused.is_empty() { Ok(planned) } else { Err(refused.into_iter().map(Failure::Refused).collect()) }
}

fn check_all<'a>(
    grants: &[Granted<'_>],
    steps: Vec<Vec<Step<'a>>>,
    directories: &mut Directories<'_>,
) -> Result<Vec<Checked<'a>>, Vec<Failure>> {
    let (mut checked, mut failures) = (Vec::new(), Vec::new());
    for (number, (granted, steps)) in grants.iter().zip(steps).enumerate() {
        let (found, failed) = prepare::check(number, granted, steps, directories);
        checked.extend(found);
        failures.extend(failed);
    }
    if failures.is_empty() { Ok(checked) } else { Err(failures) }
}

/// Records the directories, builds the temporaries, and decides: writes the journal.
fn prepare_all(
    run: &Run,
    grants: &[Granted<'_>],
    checked: &[Checked<'_>],
    directories: &Directories<'_>,
    settings: Settings<'_>,
) -> Result<Vec<Operation>, Failure> {
    let calls = DiskCalls::new(settings.fault);
    let durable = settings.strength == Strength::Power;
    let mut journal = Journal {
        run: run.name.clone(),
        since: since(grants),
        keep_undo: settings.keep_undo,
        durable,
        origin: settings.origin.clone(),
        hidden: settings.hidden.to_vec(),
        roots: directories.roots.clone(),
        directories: directories.list.clone(),
        operations: Vec::new(),
    };
    run.prepare(calls, &text_of(run, &journal)?, durable)?;
    journal.operations = prepare::build(&run.name, grants, checked, directories, calls, settings.owners)?;
    if durable {
        sync_temporaries(&journal.operations, directories, calls)?;
    }
    run.decide(calls, &text_of(run, &journal)?, durable)?;
    Ok(journal.operations)
}

fn text_of(run: &Run, journal: &Journal) -> Result<String, CommitError> {
    let reason = |cause: serde_json::Error| CommitError::Record { path: run.path.clone(), reason: cause.to_string() };
    journal.write().map_err(reason)
}

fn sync_temporaries(
    operations: &[Operation],
    directories: &Directories<'_>,
    calls: DiskCalls<'_>,
) -> Result<(), Failure> {
    let is_few = operations.len() <= FEW
        && operations.iter().all(|one| one.new_state().is_none_or(|(new, _)| !new.is_directory()));
    if !is_few {
        return sync_roots(directories, calls);
    }
    for operation in operations.iter().filter(|operation| operation.new_state().is_some()) {
        let path = directories.path(operation.directory, &operation.name);
        let failed = |cause| Failure::Call { verb: "write to the disk a copy beside", path: path.clone(), cause };
        let dir = directories.open(operation.directory)?;
        // A link has no content; the directory's entry is written with the directory.
        if let Ok(file) = inode::open_entry(&dir, &operation.temporary) {
            calls.sync_file(file).map_err(failed)?;
        }
        let dir = inode::open_entry(&dir, ".".as_ref()).map_err(failed)?;
        calls.sync_file(dir).map_err(failed)?;
    }
    Ok(())
}

/// Writes the names that were published to the disk.
fn sync_published(
    operations: &[Operation],
    directories: &Directories<'_>,
    calls: DiskCalls<'_>,
) -> Result<(), Failure> {
    if operations.len() > FEW {
        return sync_roots(directories, calls);
    }
    for operation in operations {
        let path = directories.path(operation.directory, &operation.name);
        let failed = |cause| Failure::Call { verb: "write to the disk the directory of", path: path.clone(), cause };
        let dir = inode::open_entry(directories.open(operation.directory)?, ".".as_ref()).map_err(failed)?;
        calls.sync_file(dir).map_err(failed)?;
    }
    Ok(())
}

/// Writes all of the file systems of the roots to the disk.
fn sync_roots(directories: &Directories<'_>, calls: DiskCalls<'_>) -> Result<(), Failure> {
    for (root, record) in directories.open_roots.iter().zip(&directories.roots) {
        let failed = |cause| Failure::Call { verb: "write to the disk", path: record.path.clone(), cause };
        let opened = inode::open_entry(root, ".".as_ref()).map_err(failed)?;
        calls.sync_file_system(opened).map_err(failed)?;
    }
    Ok(())
}

/// Removes the temporaries of a transaction that was not decided. What cannot be removed now is left to recovery.
fn abandon(run: &Run, directories: &Directories<'_>, calls: DiskCalls<'_>) {
    // The record may have its decided name although writing that to the disk failed.
    if run.take_decision_back(calls).is_ok() && sweep_all(&run.name, directories, calls).is_ok() {
        let _ = run.remove(calls);
    }
}

fn publish_all(
    run: &Run,
    operations: &[Operation],
    directories: &Directories<'_>,
    since: i128,
    settings: Settings<'_>,
) -> Result<Committed, Vec<Failure>> {
    let calls = DiskCalls::new(settings.fault);
    let durable = settings.strength == Strength::Power;
    let publisher = Publisher { calls, directories, since };
    let published = publish(publisher, operations).and_then(|()| {
        if durable {
            sync_published(operations, directories, calls)?;
        }
        Ok(run.mark(calls, Mark::Done, durable)?)
    });
    if let Err(failure) = published {
        return take_back(run, operations, publisher, failure, durable);
    }
    // All is published. What cannot be removed now is left to recovery.
    let kept = finish(run, operations, publisher, settings.keep_undo, durable);
    let undo = settings.keep_undo && kept.is_ok();
    Ok(Committed::Done { run: run.name.clone(), undo })
}

fn publish(publisher: Publisher<'_>, operations: &[Operation]) -> Result<(), Failure> {
    publisher.directories.forget_last();
    for operation in operations {
        publisher.apply(operation)?;
    }
    // A process that had opened an old file before can have written it since, and a directory can have been replaced.
    publisher.directories.forget_last();
    operations.iter().try_for_each(|operation| publisher.check_all_taken(operation))
}

/// Takes back the published entries. Later changes by other processes stay, and are reported.
fn take_back(
    run: &Run,
    operations: &[Operation],
    publisher: Publisher<'_>,
    failure: Failure,
    durable: bool,
) -> Result<Committed, Vec<Failure>> {
    let calls = publisher.calls;
    let noted = run.mark(calls, Mark::Back, durable);
    let mut conflicts = Vec::new();
    let mut error = None;
    match failure {
        Failure::Conflict(conflict) => conflicts.push(conflict),
        other => error = Some(other),
    }
    for operation in operations.iter().rev() {
        // A failure can pass; the way back can be tried again at each point.
        let reverted = conflict(publisher.revert(operation)).or_else(|_| conflict(publisher.revert(operation)));
        match reverted {
            Ok(found) => conflicts.extend(found),
            Err(_) => return Ok(Committed::Unfinished(run.path.clone())),
        }
    }
    let undone = run.mark(calls, Mark::Undone, durable);
    // Without a mark, recovery would go forward. Without the decision, it goes back.
    if noted.is_err() && undone.is_err() && run.take_decision_back(calls).is_err() {
        return Ok(Committed::Unfinished(run.path.clone()));
    }
    if undone.is_ok() && remove_temporaries(operations, publisher).is_ok() {
        let _ = run.remove(calls);
    }
    conflicts.dedup_by(|one, other| one.path == other.path);
    match error {
        Some(error) if conflicts.is_empty() => Err(vec![error]),
        _ => Err(conflicts.into_iter().map(Failure::Conflict).collect()),
    }
}
